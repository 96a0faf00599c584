//! `drdotnet demo`: a web shop in trouble, and what a checkup says of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use checkup::Leave;
use discovery::{Options, find};
use model::format_duration;
use testbed::{Runtime, Testbed, TestbedError};

use crate::control::{Interrupt, Second, UserControl};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::progress::Progress;
use crate::redaction;
use crate::screen::Screen;

/// The program of the demo: a web service with several faults.
const PATIENT: &str = "sick-web-shop";
/// What its visitors ask for.
const PAGES: [&str; 3] = ["/search", "/basket", "/pay"];
/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a process is asked who it is.
const ASKING: Duration = Duration::from_secs(10);

/// Starts a sick web service, uses it, and examines it.
pub fn demo(screen: &Screen) -> Result<(), Failure> {
    let testbed = Testbed::open().map_err(failed)?;
    say(&format!(
        "This starts a real .NET 9 web shop with faults in it, visits it, and lets\n\
         drdotnet find out what is wrong, without a hint.\n\
         What is missing is fetched once and kept in {}.\n",
        testbed.cache_dir().display()
    ))?;
    let target = testbed.target(PATIENT, Runtime::Net9).start().map_err(failed)?;
    let port = target.value_of("port").and_then(|port| port.parse().ok()).unwrap_or(0);
    say(&format!("\nThe shop is open at http://127.0.0.1:{port}, and looks fine to its visitors:\n"))?;
    for page in PAGES {
        let line = visit(port, page).unwrap_or_else(|error| format!("no answer: {error}"));
        say(&format!("  GET {page:8} {line}\n"))?;
    }

    let pid = model::ProcessId(target.pid());
    say(&format!("\n$ drdotnet checkup -p {pid}\n"))?;
    let process = redaction::shown(find(pid, &Options { timeout: ASKING })?);
    let interrupt = Interrupt::listen(Second::IsIgnored)
        .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let progress = Progress::begin(screen, &format!("checkup: examining {} (pid {pid})", process.name));
    let control = UserControl { interrupt: &interrupt, progress: &progress };
    let leave = Leave { redaction: redaction::chosen(), ..Leave::default() };
    let checkup::Examined { report, stragglers, .. } = checkup::examine(&process, leave, &control);
    progress.end();
    say(&reports::terminal::render(&report, &screen.report_style()))?;

    let page = std::env::temp_dir().join(format!("drdotnet-demo-{pid}.html"));
    match std::fs::write(&page, reports::html::render(&report)) {
        Ok(()) => say(&format!("\nThe same as a page for a browser: {}\n", page.display()))?,
        Err(error) => say(&format!("\nNo page for a browser: {}: {error}\n", page.display()))?,
    }
    // The shop is ours: whoever has not ended ends with it.
    drop((target, stragglers));
    say("The shop has been closed. Now yours: drdotnet checkup -p PID, or --all\n")
}

/// Asks for a page, and says what came.
fn visit(port: u16, page: &str) -> std::io::Result<String> {
    let begin = Instant::now();
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(PATIENCE))?;
    write!(connection, "GET {page} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n")?;
    let mut answer = [0; 1024];
    let length = connection.read(&mut answer)?;
    let text = String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned();
    let status = text.lines().next().unwrap_or_default();
    let body = text.split("\r\n\r\n").nth(1).unwrap_or_default();
    Ok(format!("{status} in {}: {body}", format_duration(begin.elapsed())))
}

fn say(text: &str) -> Result<(), Failure> {
    output::to_stdout(text)
}

fn failed(error: TestbedError) -> Failure {
    Failure::new(Code::DemoFailed, error.to_string())
}
