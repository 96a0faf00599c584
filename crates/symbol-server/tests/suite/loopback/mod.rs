//! A web server of the test's own, which behaves as badly as it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does with a request.
pub enum Reply {
    /// Status, further headers, body.
    Answer(u16, Vec<String>, Vec<u8>),
    /// A body of zeros, which begins as an ELF file does and has no end.
    Endless,
    /// The same, a byte at a time.
    Drip,
    /// Says that so many bytes come, and sends these only.
    Cut(usize, Vec<u8>),
    /// Nothing at all.
    Silence,
}

impl Reply {
    /// The file.
    pub fn file(body: Vec<u8>) -> Reply {
        Reply::Answer(200, Vec::new(), body)
    }

    /// An error.
    pub fn status(status: u16) -> Reply {
        Reply::Answer(status, Vec::new(), b"no".to_vec())
    }
}

/// A web server on loopback.
pub struct Loopback {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Loopback {
    /// Begins to listen. Each request is answered on a thread of its own, which ends with its connection.
    pub fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Loopback {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, log) = (Arc::new(answer), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                std::thread::spawn(move || serve(stream, &*answer, &log));
            }
        });
        Loopback { address, asked }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The paths that it was asked for.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test has panicked").clone()
    }
}

fn serve(stream: TcpStream, answer: &dyn Fn(&str) -> Reply, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut line = String::new();
    while reader.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1)?.to_owned();
    log.lock().ok()?.push(path.clone());
    let reply = answer(&path);
    send(stream, reply).ok()
}

fn send(mut stream: TcpStream, reply: Reply) -> std::io::Result<()> {
    match reply {
        Reply::Answer(status, headers, body) => {
            write!(stream, "HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {}\r\n", body.len())?;
            for header in headers {
                write!(stream, "{header}\r\n")?;
            }
            stream.write_all(b"\r\n")?;
            stream.write_all(&body)
        }
        Reply::Endless => {
            stream.write_all(b"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n\x7fELF")?;
            loop {
                stream.write_all(&[0; 4096])?;
            }
        }
        Reply::Drip => {
            stream.write_all(b"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n\x7fELF")?;
            loop {
                stream.write_all(&[0])?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Reply::Cut(announced, body) => {
            write!(stream, "HTTP/1.1 200 x\r\nConnection: close\r\nContent-Length: {announced}\r\n\r\n")?;
            stream.write_all(&body)
        }
        Reply::Silence => stream.read(&mut [0]).map(|_| ()),
    }
}
