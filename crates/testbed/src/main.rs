//! The testbed by hand: see what is there, prepare it, start a patient.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use testbed::{Kind, Namespaces, Runtime, Target, Testbed, TestbedError, patients, shared};

const USAGE: &str = "\
usage: testbed list                                   patients, runtimes, cache
       testbed prepare [RUNTIME...]                   fetch and compile; everything without a RUNTIME
       testbed start PATIENT RUNTIME [KEY=VALUE...]   start it, print its process id, run until Ctrl+C
       testbed contain PATIENT RUNTIME [KEY=VALUE...] the same in namespaces of its own, like a container
       testbed start stranger                         the same with a program that is not ours
       testbed crowd PATIENT RUNTIME                  four of them at once, as the tests of one binary do
RUNTIME is 3.1, 8, 9 or 10.
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["list"] => list(),
        ["prepare", runtimes @ ..] => prepare(runtimes),
        ["start", "stranger"] => start_stranger(),
        ["crowd", patient, runtime] => crowd(patient, runtime),
        ["start", patient, runtime, args @ ..] => start_patient(patient, runtime, args, None),
        ["contain", patient, runtime, args @ ..] => {
            start_patient(patient, runtime, args, Some(Namespaces::PidAndMount { private_tmp: true }))
        }
        _ => {
            let _ = io::stderr().write_all(USAGE.as_bytes());
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes to standard output. A reader that has gone away (`| head`) is no error.
fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

fn list() -> Result<(), TestbedError> {
    for patient in patients() {
        let runtimes: Vec<&str> = patient.runtimes.iter().map(|runtime| runtime.label()).collect();
        let kind = if patient.kind == Kind::Illness { "ill" } else { "healthy" };
        print(&format!("{:32} {kind:8} {:8} {}\n", patient.id, runtimes.join(" "), patient.illness));
    }
    print(&format!("\n{}", Testbed::open()?.describe()));
    Ok(())
}

fn prepare(runtimes: &[&str]) -> Result<(), TestbedError> {
    let testbed = Testbed::open()?;
    let runtimes = runtimes.iter().map(|word| word.parse()).collect::<Result<Vec<Runtime>, _>>()?;
    if runtimes.is_empty() {
        testbed.prepare_all()?;
    } else {
        testbed.prepare(&runtimes)?;
    }
    print(&testbed.describe().to_string());
    Ok(())
}

fn start_patient(
    patient: &str,
    runtime: &str,
    args: &[&str],
    namespaces: Option<Namespaces>,
) -> Result<(), TestbedError> {
    let testbed = Testbed::open()?;
    let mut builder = testbed.target(patient, runtime.parse()?);
    for arg in args {
        builder = builder.arg(arg);
    }
    if let Some(namespaces) = namespaces {
        builder = builder.namespaces(namespaces);
    }
    watch(&builder.start()?);
    Ok(())
}

/// Several threads that share one testbed, as the tests of one binary do; the programs end with this one.
fn crowd(patient: &str, runtime: &str) -> Result<(), TestbedError> {
    let runtime: Runtime = runtime.parse()?;
    std::thread::scope(|scope| {
        let starting: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| shared().target(patient, runtime).start().map(|target| target.pid())))
            .collect();
        for started in starting {
            print(&format!(
                "pid {}\n",
                started.join().unwrap_or_else(|_| unreachable!("starting does not panic"))?
            ));
        }
        Ok(())
    })
}

fn start_stranger() -> Result<(), TestbedError> {
    watch(&Testbed::open()?.stranger().start()?);
    Ok(())
}

/// Shows what a target said and stays until it ends. Ctrl+C ends us, and the kernel ends the target.
fn watch(target: &Target) {
    target.lines_before_ready().iter().for_each(|line| print(&format!("{line}\n")));
    print(&format!("pid {}\n", target.pid()));
    while target.wait_exit(Duration::from_secs(3600)).is_err() {}
}
