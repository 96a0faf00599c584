//! Ten million objects with twenty million references, on one core: from a file, and from a stream.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cargo::{cargo, output, root};

const ROUNDS: usize = 3;
const SECONDS: f64 = 10.0;
const MEGABYTES: f64 = 700.0;

/// Runs the example of the heap-graph crate, which prints a line for each step.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "heap-graph", "--example", "ten_million"])?;
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let program = folder.join("release/examples/ten_million");
    let dump = tempfile::NamedTempFile::new()?;
    let one_core = |words: &[&str]| -> Result<String> {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(&program).args(words);
        output(&mut command).context("taskset is part of util-linux")
    };
    let path = dump.path().to_str().context("a path")?;
    one_core(&["write", path])?;
    for (name, words) in [("from a stream", &[][..]), ("from a file", &["read", path])] {
        let (mut worst, mut most) = (0.0_f64, 0.0_f64);
        for round in 1..=ROUNDS {
            let text = one_core(words)?;
            let steps: Vec<(&str, f64, f64)> = text.lines().filter_map(step).collect();
            let (_, seconds, megabytes) =
                *steps.iter().find(|(step, _, _)| *step == "all").context("the example ends with `all`")?;
            let shown: Vec<String> =
                steps.iter().map(|(step, seconds, _)| format!("{step} {seconds:.2} s")).collect();
            let cpu = text.lines().find_map(|line| line.strip_suffix(" s of CPU")).unwrap_or_default();
            let cpu = cpu.rsplit(' ').next().unwrap_or_default();
            println!("  {name}, run {round}: {}; CPU {cpu} s, peak {megabytes:.0} MB", shown.join(", "));
            (worst, most) = (worst.max(seconds), most.max(megabytes));
        }
        ensure!(worst > 0.0, "nothing was measured");
        let holds = if worst < SECONDS && most < MEGABYTES { "holds" } else { "DOES NOT HOLD" };
        println!("  {name}: claim {holds}: worst {worst:.2} s, {most:.0} MB");
    }
    Ok(())
}

/// `dominators   5.04 s  peak  511 MB  ...`
fn step(line: &str) -> Option<(&str, f64, f64)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words[..] {
        [name, seconds, "s", "peak", megabytes, "MB", ..] => {
            Some((name, seconds.parse().ok()?, megabytes.parse().ok()?))
        }
        _ => None,
    }
}
