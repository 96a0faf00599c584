//! Programs whose work can be counted from outside.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Runtime, Target, Testbed};

use super::super::recording::cpu_of;

const REQUEST: &[u8] = b"GET /headlines HTTP/1.1\r\nHost: localhost\r\n\r\n";
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
}

enum Counter {
    /// It tells how many rounds it has computed.
    Rounds(TcpStream),
    /// We ask, and count the answers.
    Requests(Clients),
    /// It has clients of its own, and shows how many answers they got.
    Shown(clinic::Counter),
}

struct Clients {
    answered: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
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
        let (answered, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let client = |_| {
            let (answered, over) = (Arc::clone(&answered), Arc::clone(&over));
            std::thread::spawn(move || client(port, &answered, &over))
        };
        let threads = (0..CLIENTS).map(client).collect();
        let counter = Counter::Requests(Clients { answered, over, threads });
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
        let (before, begin, used) = (self.done()?, Instant::now(), cpu_of(pid)?);
        other(&self.target)?;
        let (after, took, used) = (self.done()?, begin.elapsed(), cpu_of(pid)?.saturating_sub(used));
        #[expect(clippy::cast_precision_loss, reason = "some ten thousand")]
        let done = (after - before) as f64;
        ensure!(done > 0.0, "the program does not work");
        Ok(Rates {
            per_second: done / took.as_secs_f64(),
            per_cpu_second: done / used.as_secs_f64().max(1e-9),
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
            Counter::Requests(clients) => Ok(clients.answered.load(Ordering::Relaxed)),
            Counter::Shown(counter) => counter.done().context("the program does not count its work"),
        }
    }
}

fn port(target: &Target) -> Result<u16> {
    Ok(target.value_of("port").context("a port")?.parse()?)
}

fn client(port: u16, answered: &AtomicU64, over: &AtomicBool) -> Result<()> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_nodelay(true)?;
    let mut answer = [0; 8 << 10];
    while !over.load(Ordering::Acquire) {
        connection.write_all(REQUEST)?;
        let mut have = 0;
        while !super::super::recording::is_whole(answer.get(..have).unwrap_or_default()) {
            let received = connection.read(answer.get_mut(have..).unwrap_or_default())?;
            ensure!(received > 0, "the server hung up");
            have += received;
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
