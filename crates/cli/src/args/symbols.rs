//! `drdotnet symbols`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use symbol_server::Server;

use super::target::OneTarget;

const LIST_USAGE: &str = "drdotnet symbols list [OPTIONS] <PID|NAME>
       drdotnet symbols list [OPTIONS] -p <PID>
       drdotnet symbols list [OPTIONS] -n <NAME>";

const FETCH_USAGE: &str = "drdotnet symbols fetch [OPTIONS] <PID|NAME>
       drdotnet symbols fetch [OPTIONS] -p <PID>
       drdotnet symbols fetch [OPTIONS] -n <NAME>";

const FETCH_HELP: &str = "\
Servers: those of --server; or those in DRDOTNET_SYMBOL_SERVERS (addresses with
spaces between), by default Microsoft's public one; and those in DEBUGINFOD_URLS.
Proxies by HTTPS_PROXY and NO_PROXY; certificates of your own by SSL_CERT_FILE.
Only build ids and names of libraries are sent. Without a network it prints what
to download elsewhere and where to put it. See docs/symbols.md.";

/// `drdotnet symbols`
#[derive(Debug, Args)]
pub struct SymbolsArgs {
    #[command(subcommand)]
    pub command: SymbolsCommand,
}

/// What to do about symbols.
#[derive(Debug, Subcommand)]
pub enum SymbolsCommand {
    /// Get the missing symbols of a process's native libraries by build id
    #[command(override_usage = FETCH_USAGE, after_help = FETCH_HELP)]
    Fetch(SymbolsFetchArgs),
    /// List a process's native libraries, and where their symbols are
    #[command(override_usage = LIST_USAGE)]
    List(SymbolsListArgs),
    /// Print the folder of fetched symbols
    Path(SymbolsPathArgs),
}

/// `drdotnet symbols fetch`
#[derive(Debug, Args)]
pub struct SymbolsFetchArgs {
    #[command(flatten)]
    pub target: OneTarget,
    /// Ask this server, and no other; may be repeated
    #[arg(long = "server", value_name = "URL", value_parser = server)]
    pub servers: Vec<Server>,
    #[command(flatten)]
    pub cache: CacheArg,
    /// Give a file up after this time
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub timeout: String,
    /// Ask nobody; say what would be asked for
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet symbols list`
#[derive(Debug, Args)]
pub struct SymbolsListArgs {
    #[command(flatten)]
    pub target: OneTarget,
    #[command(flatten)]
    pub cache: CacheArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet symbols path`
#[derive(Debug, Args)]
pub struct SymbolsPathArgs {
    #[command(flatten)]
    pub cache: CacheArg,
}

/// Where fetched files are.
#[derive(Debug, Args)]
pub struct CacheArg {
    /// The folder of fetched files [default: drdotnet/symbols in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

fn server(text: &str) -> Result<Server, String> {
    // Clap has said which option and what was typed.
    Server::parse(text).map_err(|error| match error {
        symbol_server::FetchError::Address { problem, .. } => problem.to_owned(),
        other => other.to_string(),
    })
}
