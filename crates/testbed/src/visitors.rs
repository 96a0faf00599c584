//! Those who ask a web server, one request after the other.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Longer answers are not expected.
const LONGEST: usize = 8 << 10;

/// Connections to a server of this machine, each of which asks for a page as soon as the last has come. They leave on drop.
#[derive(Debug)]
pub struct Visitors {
    answered: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Visitors {
    /// So many of them come.
    #[must_use]
    pub fn come(count: usize, port: u16, page: &str) -> Visitors {
        let (answered, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let request = format!("GET {page} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let visitor = |_| {
            let (answered, over, request) = (Arc::clone(&answered), Arc::clone(&over), request.clone());
            std::thread::spawn(move || visit(port, request.as_bytes(), &answered, &over))
        };
        let threads = (0..count).map(visitor).collect();
        Visitors { answered, over, threads }
    }

    /// How many answers have come.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// They leave; how many answers they got, unless one of them had to stop.
    pub fn leave(mut self) -> io::Result<u64> {
        self.over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.join().map_err(|_| io::Error::other("a visitor panicked"))??;
        }
        Ok(self.answered())
    }
}

impl Drop for Visitors {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn visit(port: u16, request: &[u8], answered: &AtomicU64, over: &AtomicBool) -> io::Result<()> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_nodelay(true)?;
    let mut answer = [0; LONGEST];
    while !over.load(Ordering::Acquire) {
        connection.write_all(request)?;
        let mut have = 0;
        while !is_whole(answer.get(..have).unwrap_or_default()) {
            let received = connection.read(answer.get_mut(have..).unwrap_or_default())?;
            if received == 0 {
                return Err(io::Error::other("the server hung up, or its answer is too long"));
            }
            have += received;
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Whether an answer has its head and the body that it promises.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is_there() {
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"));
        assert!(is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"));
    }
}
