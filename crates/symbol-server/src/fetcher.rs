//! Asking servers.

use std::fs::File;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use native_symbols::{BuildId, ElfImage, LARGEST_FILE};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Timeout};

use crate::cache::{Draft, failed};
use crate::{Cache, FetchError, Problem, Server, Wanted};

/// What is read at once.
const CHUNK: usize = 64 * 1024;
/// What every ELF file begins with.
const MAGIC: &[u8] = b"\x7fELF";
/// After so many failures in a row a server is not asked again.
const STRIKES: u32 = 3;

/// What a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until there is a connection.
    pub connect: Duration,
    /// Without a byte.
    pub silence: Duration,
    /// For a file.
    pub whole: Duration,
    /// For a file.
    pub bytes: u64,
    /// From one address to the next.
    pub redirects: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(20),
            whole: Duration::from_secs(600),
            bytes: LARGEST_FILE,
            redirects: 5,
        }
    }
}

/// Which way requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxies {
    /// By `HTTPS_PROXY`, `ALL_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
    FromEnvironment,
    /// Straight.
    None,
}

/// A file that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it is now.
    pub file: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// How many functions it names.
    pub functions: usize,
    /// Where it came from, without a password.
    pub address: String,
}

/// An address that was asked in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// On which server, without a password.
    pub server: String,
    /// Which, without a password.
    pub address: String,
    /// What went wrong.
    pub problem: Problem,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With the file.
    Fetched(Fetched),
    /// Without it, and why, for each address.
    Missing(Vec<Try>),
}

/// A server and how it behaves.
struct Asked {
    server: Server,
    strikes: u32,
    /// Why it is not asked again.
    given_up: Option<Problem>,
}

/// Asks servers for files, one after the other.
pub struct Fetcher {
    agent: Agent,
    limits: Limits,
    servers: Vec<Asked>,
}

impl Fetcher {
    /// A fetcher for these servers, in this order.
    pub fn new(servers: Vec<Server>, limits: Limits, proxies: Proxies) -> Result<Fetcher, FetchError> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(limits.redirects)
            .timeout_global(Some(limits.whole))
            .timeout_connect(Some(limits.connect))
            .timeout_resolve(Some(limits.connect))
            .timeout_recv_response(Some(limits.silence))
            .timeout_per_read(Some(limits.silence))
            .tls_config(TlsConfig::builder().root_certs(trusted()?).build())
            .user_agent(concat!("drdotnet/", env!("CARGO_PKG_VERSION")));
        let config = match proxies {
            Proxies::FromEnvironment => config,
            Proxies::None => config.proxy(None),
        };
        let servers =
            servers.into_iter().map(|server| Asked { server, strikes: 0, given_up: None }).collect();
        Ok(Fetcher { agent: config.build().new_agent(), limits, servers })
    }

    /// The servers that are asked.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().map(|asked| &asked.server)
    }

    /// Gets the debug file of a library into the cache. `watch` is told how many bytes have come, and may end it.
    pub fn fetch(
        &mut self,
        wanted: &Wanted,
        cache: &Cache,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Outcome, FetchError> {
        let mut tries = Vec::new();
        for asked in &mut self.servers {
            let addresses = asked.server.addresses(wanted);
            let server = asked.server.to_string();
            for (address, shown) in addresses.iter().zip(asked.server.shown_addresses(wanted)) {
                if let Some(problem) = asked.given_up.clone() {
                    tries.push(Try { server, address: shown, problem });
                    break;
                }
                let mut draft = cache.draft()?;
                let request = Request { agent: &self.agent, limits: &self.limits, address };
                let came = request.download(asked.server.is_encrypted(), &mut draft, watch)?;
                let checked = came.and_then(|bytes| Ok((bytes, check(&draft, &wanted.build_id)?)));
                asked.judge(checked.as_ref().err());
                match checked {
                    Ok((bytes, functions)) => {
                        let file = draft.keep(cache, &wanted.build_id)?;
                        return Ok(Outcome::Fetched(Fetched { file, bytes, functions, address: shown }));
                    }
                    Err(problem) => tries.push(Try { server: server.clone(), address: shown, problem }),
                }
                if asked.given_up.is_some() {
                    break;
                }
            }
        }
        Ok(Outcome::Missing(tries))
    }
}

impl Asked {
    /// Whoever cannot be reached once is not waited for again and again.
    fn judge(&mut self, problem: Option<&Problem>) {
        match problem {
            None | Some(Problem::NotThere) => self.strikes = 0,
            Some(problem) => {
                self.strikes += 1;
                let hopeless = matches!(problem, Problem::Unreachable(_) | Problem::TooSlow);
                if hopeless || self.strikes >= STRIKES {
                    self.given_up = Some(problem.clone());
                }
            }
        }
    }
}

/// One question to one server.
struct Request<'a> {
    agent: &'a Agent,
    limits: &'a Limits,
    address: &'a str,
}

impl Request<'_> {
    /// Writes what comes into the draft.
    fn download(
        &self,
        encrypted: bool,
        draft: &mut Draft,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Result<u64, Problem>, FetchError> {
        // Encrypted once, encrypted to the end: a redirect must not lead elsewhere.
        let response = self.agent.get(self.address).config().https_only(encrypted).build().call();
        let response = match response {
            Ok(response) => response,
            Err(error) => return Ok(Err(problem_of(error))),
        };
        match response.status().as_u16() {
            200 => {}
            404 | 410 => return Ok(Err(Problem::NotThere)),
            status => return Ok(Err(Problem::Status(status))),
        }
        let too_large = Problem::TooLarge(self.limits.bytes);
        if response.body().content_length().is_some_and(|length| length > self.limits.bytes) {
            return Ok(Err(too_large));
        }
        let mut body = response.into_body().into_reader();
        let mut chunk = vec![0; CHUNK];
        let mut bytes = 0;
        loop {
            if watch(bytes).is_break() {
                return Err(FetchError::Interrupted);
            }
            let length = match body.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) => return Ok(Err(problem_of(error.into()))),
            };
            if bytes == 0 && length >= MAGIC.len() && !chunk.starts_with(MAGIC) {
                return Ok(Err(not_elf(&chunk[..length])));
            }
            bytes += length as u64;
            if bytes > self.limits.bytes {
                return Ok(Err(too_large));
            }
            let path = draft.path().to_owned();
            draft.file().write_all(&chunk[..length]).map_err(failed(&path))?;
        }
        Ok(Ok(bytes))
    }
}

/// Looks at what came: names of another build are worse than none.
fn check(draft: &Draft, wanted: &BuildId) -> Result<usize, Problem> {
    let unreadable = |error: &dyn std::fmt::Display| Problem::NotElf(format!(" ({error})"));
    let file = File::open(draft.path()).map_err(|error| unreadable(&error))?;
    let image = ElfImage::read(file).map_err(|error| unreadable(&error))?;
    if image.build_id.as_ref() != Some(wanted) {
        return Err(Problem::OtherBuild(image.build_id));
    }
    if !image.has_symbol_table || image.functions() == 0 {
        return Err(Problem::NoSymbols);
    }
    Ok(image.functions())
}

fn not_elf(begin: &[u8]) -> Problem {
    let text = begin.trim_ascii_start();
    Problem::NotElf(if text.starts_with(b"<") { " but a web page".to_owned() } else { String::new() })
}

fn problem_of(error: ureq::Error) -> Problem {
    match error {
        ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            Problem::Unreachable("no connection in time".to_owned())
        }
        ureq::Error::Timeout(_) => Problem::TooSlow,
        ureq::Error::TooManyRedirects | ureq::Error::RedirectFailed | ureq::Error::RequireHttpsOnly(_) => {
            Problem::Redirects
        }
        ureq::Error::StatusCode(status) => Problem::Status(status),
        ureq::Error::Protocol(error) => Problem::Cut(error.to_string()),
        ureq::Error::Decompress(_, error) => Problem::Cut(error.to_string()),
        ureq::Error::LargeResponseHeader(..) => Problem::Cut("its answer has too many headers".to_owned()),
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::ConnectionReset
            | std::io::ErrorKind::ConnectionAborted
            | std::io::ErrorKind::BrokenPipe => Problem::Cut(error.to_string()),
            _ => Problem::Unreachable(error.to_string()),
        },
        other => Problem::Unreachable(other.to_string()),
    }
}

/// Whom to believe: `SSL_CERT_FILE`, as other tools do, or the authorities that browsers believe.
fn trusted() -> Result<RootCerts, FetchError> {
    let Some(path) = std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(PathBuf::from)
    else {
        return Ok(RootCerts::WebPki);
    };
    let wrong = |problem: String| FetchError::Certificates { path: path.clone(), problem };
    let text = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    let certificates: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(wrong("it has no certificate in it".to_owned()));
    }
    Ok(RootCerts::new_with_certs(&certificates))
}
