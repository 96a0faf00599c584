//! Starting child processes that cannot outlive us.
//!
//! The kernel sends the parent-death signal when the *thread* that started the child ends, and test threads end
//! early. So one thread, which lives as long as the process, starts every child.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock};

use crate::sys;

struct Request {
    command: Command,
    answer: Sender<io::Result<Child>>,
}

/// Starts `command` so that it is killed when this process ends, however that happens.
pub(crate) fn spawn(mut command: Command) -> io::Result<Child> {
    sys::die_with_parent(&mut command);
    let (answer, child) = mpsc::channel();
    let gone = |_| io::Error::other("the thread that starts children is gone");
    requests()?
        .lock()
        .map_err(|_| io::Error::other("the queue of children to start is poisoned"))?
        .send(Request { command, answer })
        .map_err(|_| io::Error::other("the thread that starts children is gone"))?;
    child.recv().map_err(gone)?
}

fn requests() -> io::Result<&'static Mutex<Sender<Request>>> {
    static REQUESTS: OnceLock<Mutex<Sender<Request>>> = OnceLock::new();
    if let Some(requests) = REQUESTS.get() {
        return Ok(requests);
    }
    let (sender, receiver) = mpsc::channel::<Request>();
    std::thread::Builder::new().name("testbed-spawner".to_owned()).spawn(move || {
        for mut request in receiver {
            // Nobody waits for the answer any more: then the child is dropped, and it dies with us.
            let _ = request.answer.send(request.command.spawn());
        }
    })?;
    // Two threads may come here at once; the loser's channel is dropped, and its thread ends unused.
    Ok(REQUESTS.get_or_init(|| Mutex::new(sender)))
}
