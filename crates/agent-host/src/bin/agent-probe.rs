//! Tries the agent by hand: `agent-probe PID [threads|stacks|hold]`.
//!
//! `hold` says `attached` and stays until standard input ends. Everything else answers and leaves.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use agent_host::{AgentError, Attached, Options, attach};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pid = arguments.first().and_then(|text| text.parse().ok());
    let Some(pid) = pid else {
        eprintln!("usage: agent-probe PID [threads|stacks|hold]");
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
