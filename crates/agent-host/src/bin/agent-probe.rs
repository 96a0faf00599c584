//! Tries the agent by hand: `agent-probe PID [threads|stacks|heap|hold|visits|walks|locks|deadlines]`.
//!
//! `heap` says `telling` while the heap is told, and reads no more of it. `hold` says `attached` and stays until standard input ends. The last four are for measurements, as often as a number
//! after them says: `visits` come, ask for stacks and leave; `walks` and `locks` ask again and again during one visit; `deadlines` let
//! the agent's time run out. They print a line of nanoseconds per round.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use agent_host::{
    AgentError, Attached, GraphOrder, GraphSink, GraphWay, ObjectSink, Options, ToldObject, attach,
    find_lock_layout,
};

const USAGE: &str = "usage: agent-probe PID [threads|stacks|heap|hold|visits|walks|locks|deadlines] [ROUNDS]";
/// How long an agent may stay whose time is to run out.
const SHORT: Duration = Duration::from_millis(300);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pid = arguments.first().and_then(|text| text.parse().ok());
    let rounds = arguments.get(2).map_or(Ok(21), |text| text.parse());
    let (Some(pid), Ok(rounds)) = (pid, rounds) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let outcome = visit(pid, arguments.get(1).map_or("threads", String::as_str), rounds);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn visit(pid: model::ProcessId, what: &str, rounds: u32) -> Result<(), Box<dyn std::error::Error>> {
    let target = discovery::find(pid, &discovery::Options::default())?;
    let client = target.client().ok_or("the process has no diagnostics socket")?;
    let come = |options: &Options| attach(pid, &client, options);
    match what {
        "visits" => return Ok(visits(rounds, come)?),
        "walks" => return Ok(walks(rounds, come)?),
        "locks" => return Ok(locks(pid, rounds, come)?),
        "deadlines" => return Ok(deadlines(rounds, come)?),
        "threads" | "stacks" | "heap" | "hold" => {}
        _ => return Err(USAGE.into()),
    }
    let mut attached = come(&Options::default())?;
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
        "heap" => {
            let order = GraphOrder {
                way: GraphWay::Walk,
                longest: Duration::from_secs(60),
                look: Duration::ZERO,
                most_bytes: u64::MAX,
            };
            println!("{:?}", attached.heap_graph(&order, &mut Unread, |_| ())?.end);
        }
        "hold" => {
            let _ = io::stdin().lock().lines().count();
        }
        _ => println!("{:?}", attached.threads()?),
    }
    Ok(())
}

/// Is told of a heap and waits for the end of standard input.
struct Unread;

impl ObjectSink for Unread {
    fn object(&mut self, _: ToldObject) -> bool {
        println!("telling");
        let _ = io::stdin().lock().lines().count();
        true
    }

    fn reference(&mut self, _: u64) -> bool {
        true
    }
}

impl GraphSink for Unread {
    fn goes_on(&mut self, _: u64) -> bool {
        true
    }
}

/// From the wish to the first answer, and from the farewell to the end, each round.
fn visits(rounds: u32, come: impl Fn(&Options) -> Result<Attached, AgentError>) -> Result<(), AgentError> {
    // Made once, by whoever attaches first.
    let _ = agent_host::library_name();
    for _ in 0..rounds {
        let began = Instant::now();
        let mut attached = come(&Options::default())?;
        attached.threads()?;
        let answered = began.elapsed();
        println!("{} {}", answered.as_nanos(), attached.leave()?.took.as_nanos());
    }
    Ok(())
}

/// Until all threads had stopped, and how long they stood, each round.
fn walks(rounds: u32, come: impl Fn(&Options) -> Result<Attached, AgentError>) -> Result<(), AgentError> {
    let mut attached = come(&Options::default())?;
    for _ in 0..rounds {
        let answer = attached.stacks()?;
        let frames: usize = answer.stacks.iter().map(|stack| stack.frames.len()).sum();
        let (suspending, suspended) = (answer.pause.suspending.as_nanos(), answer.pause.suspended.as_nanos());
        println!("{suspending} {suspended} {} {frames}", answer.stacks.len());
    }
    attached.leave().map(drop)
}

/// The same with what threads wait for; in the end, how long it took to find out where that stands.
fn locks(
    pid: model::ProcessId,
    rounds: u32,
    come: impl Fn(&Options) -> Result<Attached, AgentError>,
) -> Result<(), AgentError> {
    let mut attached = come(&Options::default())?;
    let began = Instant::now();
    let found = find_lock_layout(pid, &mut attached)?;
    let took = began.elapsed().as_nanos();
    for _ in 0..rounds {
        // On runtimes before 9 nothing can be found as long as nobody waits.
        let Some(layout) = found.layout else { break };
        let answer = attached.locks(&layout)?;
        let pause = answer.stacks.pause;
        let (suspending, suspended) = (pause.suspending.as_nanos(), pause.suspended.as_nanos());
        println!("{suspending} {suspended} {} {} {took}", answer.stacks.stacks.len(), answer.blocked.len());
    }
    attached.leave().map(drop)
}

/// From the end of its time to its end, each round.
fn deadlines(rounds: u32, come: impl Fn(&Options) -> Result<Attached, AgentError>) -> Result<(), AgentError> {
    for _ in 0..rounds {
        let began = Instant::now();
        let attached = come(&Options { stay: SHORT, ..Options::default() })?;
        attached.wait_gone(Duration::from_secs(60))?;
        println!("{}", began.elapsed().saturating_sub(SHORT).as_nanos());
    }
    Ok(())
}
