//! `drdotnet top`

use clap::Args;

use super::RunTarget;

/// How `drdotnet top` is called.
pub const USAGE: &str = "drdotnet top [OPTIONS] <PID|NAME>
       drdotnet top [OPTIONS] -p <PID>
       drdotnet top [OPTIONS] -n <NAME>
       drdotnet top [OPTIONS] -- <COMMAND>...";

/// What `drdotnet top --help` ends with.
pub const HELP: &str = "\
100 % is one processor; of waiting time, one thread.

Keys:
  q quit   p or space pause   o on/off CPU   s sort by self, total, name
  t choose a thread (Enter: only it, Esc: all again)   f fold framework code
  / filter   arrows, PgUp, PgDn, Home, End scroll

Without a terminal it prints a block of lines every interval.

Examples:
  drdotnet top -p 4242
  drdotnet top -n Shop.Api --rate 499
  drdotnet top -p 4242 --duration 5s | cat
  drdotnet top -- dotnet App.dll";

/// `drdotnet top`
#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    pub target: RunTarget,
    /// Samples per second of each running thread
    #[arg(long, value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rate: u32,
    /// How often the screen is renewed
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// End by itself after this time, such as 30s or 5m
    #[arg(short, long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Begin with where threads wait
    #[arg(long)]
    pub off_cpu: bool,
}
