//! TCP connections of a process, by what their ends have done.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};

use model::ProcessId;

/// Descriptors that are looked at.
const MOST_DESCRIPTORS: usize = 20_000;
/// Lines of the kernel's tables that are read: a machine may have more connections than anybody wants to wait for.
const MOST_LINES: usize = 200_000;
/// `TCP_TIME_WAIT` and `TCP_CLOSE_WAIT`, as the tables have them.
const TIME_WAIT: &str = "06";
const CLOSE_WAIT: &str = "08";

/// TCP connections at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Sockets of the process whose other side has closed, while it has not.
    pub half_closed: BTreeSet<u64>,
    /// Connections that wait out their end, of all processes that share its network.
    pub lingering: u64,
}

impl Connections {
    /// Those of a process; nothing if it may not be looked at.
    #[must_use]
    pub fn of(pid: ProcessId) -> Connections {
        let sockets = sockets(pid);
        let mut found = Connections::default();
        if sockets.is_empty() {
            return found;
        }
        for table in ["tcp", "tcp6"] {
            let Ok(file) = fs::File::open(format!("/proc/{pid}/net/{table}")) else { continue };
            let lines = BufReader::new(file).lines().map_while(Result::ok).take(MOST_LINES);
            lines.for_each(|line| found.add(&line, &sockets));
        }
        found
    }

    fn add(&mut self, line: &str, sockets: &BTreeSet<u64>) {
        let mut words = line.split_ascii_whitespace();
        let state = words.nth(3);
        let inode = words.nth(5).and_then(|inode| inode.parse().ok());
        match (state, inode) {
            (Some(TIME_WAIT), _) => self.lingering += 1,
            (Some(CLOSE_WAIT), Some(inode)) if sockets.contains(&inode) => {
                self.half_closed.insert(inode);
            }
            _ => {}
        }
    }

    /// Sockets that were half closed before and still are.
    #[must_use]
    pub fn still_half_closed(&self, before: &Connections) -> u64 {
        self.half_closed.intersection(&before.half_closed).count() as u64
    }
}

/// Numbers of the sockets that a process has open.
fn sockets(pid: ProcessId) -> BTreeSet<u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries
        .take(MOST_DESCRIPTORS)
        .filter_map(|entry| {
            let link = fs::read_link(entry.path()).ok()?;
            link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_that_only_the_other_side_closed_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept().unwrap());
        // The end of the stream has come, so the kernel knows.
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        let pid = ProcessId(std::process::id());
        let first = Connections::of(pid);
        let last = Connections::of(pid);
        assert!(last.still_half_closed(&first) >= 1, "{last:?}");
    }
}
