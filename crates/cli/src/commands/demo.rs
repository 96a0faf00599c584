//! `drdotnet demo`: a real .NET program with a fault, and what this tool says of it.

use std::time::Duration;

use testbed::{Runtime, Testbed, TestbedError};

use super::{info, ps, run};
use crate::args::{InfoArgs, OneTarget, PsArgs, RunArgs, RunTarget};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::screen::Screen;

/// The program of the demo, and how long it is looked at.
const PATIENT: &str = "hot-method";
const LOOK: Duration = Duration::from_secs(3);
/// What is asked: which thread is busy, then with what.
const PROFILERS: [&str; 2] = ["threads", "cpu-unprivileged"];

/// Starts a sick program and goes through the commands a user would type.
pub fn demo(screen: &Screen) -> Result<(), Failure> {
    let testbed = Testbed::open().map_err(failed)?;
    say(&format!(
        "This starts a real .NET 9 program with a fault in it ({PATIENT}),\n\
         finds it and looks at it.\n\
         What is missing is fetched once and kept in {}.\n",
        testbed.cache_dir().display()
    ))?;
    testbed.prepare(&[Runtime::Net9]).map_err(failed)?;
    let target = testbed.target(PATIENT, Runtime::Net9).start().map_err(failed)?;
    let pid = model::ProcessId(target.pid());

    say("\n$ drdotnet ps\n")?;
    ps::ps(&PsArgs { json: false }, screen)?;

    say(&format!("\n$ drdotnet info -p {pid}\n"))?;
    let one = OneTarget { process: None, process_id: Some(pid), name: None };
    info::info(&InfoArgs { target: one, json: false, show_secrets: false }, screen)?;

    for profiler in PROFILERS {
        say(&format!("\n$ drdotnet run {profiler} -p {pid} --duration {}s\n", LOOK.as_secs()))?;
        run::run(&question(profiler, pid), screen)?;
    }
    drop(target);
    say("\nThe demo's program has been stopped. Now yours: drdotnet ps\n")
}

fn question(profiler: &str, pid: model::ProcessId) -> RunArgs {
    RunArgs {
        profiler: profiler.to_owned(),
        target: RunTarget { process: None, process_id: Some(pid), name: None, command: Vec::new() },
        duration: Some(LOOK.as_secs().to_string()),
        settings: Vec::new(),
        allow_pause: false,
        output: None,
        json: false,
    }
}

fn say(text: &str) -> Result<(), Failure> {
    output::to_stdout(text)
}

fn failed(error: TestbedError) -> Failure {
    Failure::new(Code::DemoFailed, error.to_string())
}
