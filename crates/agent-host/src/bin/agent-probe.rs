//! Tries the agent by hand: `agent-probe PID [threads|stacks|hold|measure]`.
//!
//! `hold` says `attached` and stays until standard input ends. `measure` visits 21 times and says how long what took. The
//! others answer and leave.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use agent_host::{AgentError, Attached, Options, attach};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pid = arguments.first().and_then(|text| text.parse().ok());
    let Some(pid) = pid else {
        eprintln!("usage: agent-probe PID [threads|stacks|hold|measure]");
        return ExitCode::from(2);
    };
    let outcome = visit(pid, arguments.get(1).map_or("threads", String::as_str));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn visit(pid: model::ProcessId, what: &str) -> Result<(), Box<dyn std::error::Error>> {
    let target = discovery::find(pid, &discovery::Options::default())?;
    let client = target.client().ok_or("the process has no diagnostics socket")?;
    if what == "measure" {
        return Ok(measure(|| attach(pid, &client, &Options::default()))?);
    }
    let mut attached = attach(pid, &client, &Options::default())?;
    println!("attached {:?}", attached.hello());
    io::stdout().flush()?;
    answer(&mut attached, what)?;
    println!("{:?}", attached.leave()?);
    Ok(())
}

fn answer(attached: &mut Attached, what: &str) -> Result<(), AgentError> {
    match what {
        "stacks" => {
            let answer = attached.stacks()?;
            for stack in &answer.stacks {
                println!("thread {} ({:08X})", stack.thread.os, stack.code);
                for (method, _) in &stack.frames {
                    let known = answer.methods.get(method);
                    println!("  {}", known.map_or("?".into(), |it| format!("{}.{}", it.class, it.name)));
                }
            }
            println!("{:?}", answer.pause);
        }
        "hold" => {
            let _ = io::stdin().lock().lines().count();
        }
        _ => println!("{:?}", attached.threads()?),
    }
    Ok(())
}

/// Medians and maxima of many visits.
fn measure(attach: impl Fn() -> Result<Attached, AgentError>) -> Result<(), AgentError> {
    const ROUNDS: usize = 21;
    let names = ["attach to first data", "suspending", "suspended", "leave"];
    let mut times: [Vec<Duration>; 4] = Default::default();
    let mut threads = 0;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let mut attached = attach()?;
        let answer = attached.stacks()?;
        let seen = [began.elapsed(), answer.pause.suspending, answer.pause.suspended, attached.leave()?.took];
        threads = answer.stacks.len();
        times.iter_mut().zip(seen).for_each(|(times, time)| times.push(time));
    }
    println!("{threads} threads, {ROUNDS} visits");
    for (name, times) in names.iter().zip(&mut times) {
        times.sort_unstable();
        println!("{name}: median {:?}, worst {:?}", times[ROUNDS / 2], times[ROUNDS - 1]);
    }
    Ok(())
}
