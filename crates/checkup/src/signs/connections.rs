//! TCP connections of a process, by what their ends have done.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};

use judgement::signs::Connections;
use model::ProcessId;

/// Descriptors that are looked at.
const MAX_DESCRIPTORS: usize = 20_000;
/// Lines of the kernel's tables that are read: a machine may have more connections than anybody wants to wait for.
const MAX_LINES: usize = 200_000;
/// `TCP_CLOSE_WAIT`, as the tables have it.
const CLOSE_WAIT: &str = "08";

/// TCP connections at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Sockets of the process whose other side has closed, while it has not.
    half_closed: BTreeSet<u64>,
    /// Connections that wait out their end, of all processes that share its network.
    lingering: u64,
}

impl Sockets {
    /// How many there are.
    pub fn counted(&self) -> Connections {
        Connections { half_closed: self.half_closed.len() as u64, lingering: self.lingering }
    }

    /// Those of a process; nothing if it may not be looked at. The kernel takes milliseconds to list connections, so a
    /// process that has fewer sockets than matter is not asked about.
    #[must_use]
    pub fn of(pid: ProcessId, fewest: u64) -> Sockets {
        let sockets = sockets(pid);
        let lingering = fs::read_to_string(format!("/proc/{pid}/net/sockstat"));
        let lingering = lingering.ok().and_then(|text| lingering_in(&text)).unwrap_or_default();
        let mut found = Sockets { lingering, ..Sockets::default() };
        if (sockets.len() as u64) < fewest {
            return found;
        }
        for table in ["tcp", "tcp6"] {
            let Ok(file) = fs::File::open(format!("/proc/{pid}/net/{table}")) else { continue };
            let lines = BufReader::new(file).lines().map_while(Result::ok).take(MAX_LINES);
            let half_closed =
                lines.filter_map(|line| half_closed(&line).filter(|inode| sockets.contains(inode)));
            found.half_closed.extend(half_closed);
        }
        found
    }

    /// Sockets that were half closed before and still are.
    #[must_use]
    pub fn still_half_closed(&self, before: &Sockets) -> u64 {
        self.half_closed.intersection(&before.half_closed).count() as u64
    }
}

/// The socket of a line of the tables, if only the other side has closed it.
fn half_closed(line: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    words.nth(3).filter(|state| *state == CLOSE_WAIT)?;
    words.nth(5)?.parse().ok()
}

/// Connections that wait out their end, from the kernel's count of sockets.
fn lingering_in(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace().skip_while(|word| *word != "tw");
    words.nth(1)?.parse().ok()
}

/// Numbers of the sockets that a process has open.
fn sockets(pid: ProcessId) -> BTreeSet<u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries
        .take(MAX_DESCRIPTORS)
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
        let first = Sockets::of(pid, 1);
        let last = Sockets::of(pid, 1);
        assert!(last.still_half_closed(&first) >= 1, "{last:?}");
        assert_eq!(Sockets::of(pid, u64::MAX).half_closed.len(), 0);
    }

    #[test]
    fn lingering_connections_are_counted_by_the_kernel() {
        let text = "sockets: used 30\nTCP: inuse 22 orphan 0 tw 6 alloc 22 mem 0\nUDP: inuse 0 mem 0\n";
        assert_eq!(lingering_in(text), Some(6));
        assert_eq!(lingering_in("TCP: inuse 22 tw\n"), None);
        assert!(lingering_in(&fs::read_to_string("/proc/net/sockstat").unwrap()).is_some());
    }
}
