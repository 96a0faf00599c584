//! Programs whose work can be counted from outside.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Runtime, Target, Testbed, Visitors};

use super::super::recording::cpu_of;

/// Connections that ask one request after the other.
const CLIENTS: usize = 4;

/// A program at work.
pub struct Work {
    name: String,
    /// The program.
    pub target: Target,
    counter: Counter,
}

/// How much work a program did.
#[derive(Clone, Copy)]
pub struct Rates {
    /// By the clock.
    pub per_second: f64,
    /// For the processor time that it got, which other programs on the machine hardly change.
    pub per_cpu_second: f64,
    /// The part of a processor that those had who ask, if they are ours. Each request costs them the same, so this is what they asked
    /// in a unit which does not become smaller when the machine becomes slower.
    pub asking: Option<f64>,
}

enum Counter {
    /// It tells how many rounds it has computed.
    Rounds(TcpStream),
    /// We ask, and count the answers.
    Requests(Visitors),
    /// It has clients of its own, and shows how many answers they got.
    Shown(clinic::Counter),
}

impl Work {
    /// Computes on so many threads, next to so many methods that nobody calls.
    pub fn computing(testbed: &Testbed, threads: usize, methods: usize) -> Result<Work> {
        let builder = testbed.target("healthy-computation", Runtime::Net9).arg(format!("threads={threads}"));
        let builder = if methods > 0 { builder.arg(format!("methods={methods}")) } else { builder };
        let target = builder.start()?;
        let asking = TcpStream::connect(("127.0.0.1", port(&target)?))?;
        asking.set_nodelay(true)?;
        let name = format!("computing on {threads} threads beside {methods} methods");
        Ok(Work { name, target, counter: Counter::Rounds(asking) })
    }

    /// Serves requests, with tens of thousands of context switches a second.
    pub fn serving(testbed: &Testbed) -> Result<Work> {
        let target = testbed.target("healthy-busy-web", Runtime::Net9).start()?;
        let port = port(&target)?;
        let counter = Counter::Requests(Visitors::come(CLIENTS, port, "/headlines"));
        Ok(Work { name: "serving requests".to_owned(), target, counter })
    }

    /// Serves the clients that it has itself, who pause between requests: processors are left.
    pub fn serving_with_pauses(testbed: &Testbed) -> Result<Work> {
        let counter = clinic::Counter::new()?;
        let builder = testbed.target("healthy-busy-aspnet", Runtime::Net9);
        let target = builder.env("PATIENT_WORK", counter.path()).start()?;
        let name = "serving requests with pauses in between".to_owned();
        Ok(Work { name, target, counter: Counter::Shown(counter) })
    }

    /// What it is.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Work done per second of a window.
    pub fn rate(&mut self, window: Duration) -> Result<f64> {
        let rates = self.rates_while(|_| {
            std::thread::sleep(window);
            Ok(())
        })?;
        Ok(rates.per_second)
    }

    /// Work done while something else is done to it.
    pub fn rates_while(&mut self, mut other: impl FnMut(&Target) -> Result<()>) -> Result<Rates> {
        let pid = self.target.pid();
        let ours = std::process::id();
        let (before, begin, used, asked) = (self.done()?, Instant::now(), cpu_of(pid)?, cpu_of(ours)?);
        other(&self.target)?;
        let (after, took, used) = (self.done()?, begin.elapsed(), cpu_of(pid)?.saturating_sub(used));
        let asked = cpu_of(ours)?.saturating_sub(asked);
        #[expect(clippy::cast_precision_loss, reason = "some ten thousand")]
        let done = (after - before) as f64;
        ensure!(done > 0.0, "the program does not work");
        Ok(Rates {
            per_second: done / took.as_secs_f64(),
            per_cpu_second: done / used.as_secs_f64().max(1e-9),
            asking: matches!(self.counter, Counter::Requests(_))
                .then(|| asked.as_secs_f64() / took.as_secs_f64()),
        })
    }

    fn done(&mut self) -> Result<u64> {
        match &mut self.counter {
            Counter::Rounds(asking) => {
                asking.write_all(b"?")?;
                let mut rounds = [0; 8];
                asking.read_exact(&mut rounds)?;
                Ok(u64::from_le_bytes(rounds))
            }
            Counter::Requests(visitors) => Ok(visitors.answered()),
            Counter::Shown(counter) => counter.done().context("the program does not count its work"),
        }
    }
}

fn port(target: &Target) -> Result<u16> {
    Ok(target.value_of("port").context("a port")?.parse()?)
}
