//! Sessions with real runtimes, and how they end.

use std::io::Read;
use std::time::{Duration, Instant};

use diagnostics_ipc::{Client, Endpoint, Level, Provider, TraceRequest};
use event_session::{Going, Observer, Seen, SessionEnd, drive, names_would_be_withheld, observe};
use runtime_events::{RuntimeEvent, keyword, provider};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

const PATIENTS: [Runtime; 4] = Runtime::ALL;

struct Subject {
    target: Target,
    client: Client,
    _folder: TempDir,
}

fn start(patient: &str, runtime: Runtime) -> Subject {
    let folder = tempfile::tempdir().expect("a temp folder");
    let target = shared().target(patient, runtime).tmpdir(folder.path()).start().expect("the target starts");
    let names = std::fs::read_dir(folder.path()).expect("the folder can be read").flatten();
    let socket = names.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with("-socket"));
    let endpoint = Endpoint::at(socket.expect("the runtime has made its socket"));
    Subject { target, client: Client::new(endpoint).with_timeout(Duration::from_secs(60)), _folder: folder }
}

fn exceptions() -> TraceRequest {
    TraceRequest::new(16, vec![Provider::new(provider::RUNTIME, keyword::EXCEPTION, Level::Informational)])
}

fn signal(subject: &Subject, signal: Signal) {
    let pid = i32::try_from(subject.target.pid()).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("the signal is sent");
}

/// Counts exceptions and names of methods.
#[derive(Default)]
struct Counting {
    exceptions: u64,
    methods: u64,
}

impl Observer for Counting {
    fn event(&mut self, _: &Seen<'_>, event: &RuntimeEvent<'_>) {
        match event {
            RuntimeEvent::ExceptionThrown(_) => self.exceptions += 1,
            RuntimeEvent::MethodRundown(_) => self.methods += 1,
            _ => {}
        }
    }
}

/// Says stop once this many bytes have come.
fn after(bytes: u64) -> impl FnMut(event_session::Waiting) -> Going {
    move |waiting| {
        std::thread::sleep(waiting.slice.min(Duration::from_millis(5)));
        if waiting.bytes >= bytes { Going::Stop } else { Going::On }
    }
}

#[test]
fn a_session_that_is_stopped_comes_to_its_end_with_all_names() {
    for runtime in PATIENTS {
        let subject = start("exception-storm", runtime);
        let driven = observe(&subject.client, &exceptions(), Counting::default(), after(100_000)).unwrap();
        assert_eq!(driven.end, SessionEnd::Stopped, "{runtime}");
        let observed = driven.value;
        assert!(observed.damage.is_none() && observed.undecodable == 0, "{runtime}: {:?}", observed.damage);
        assert!(observed.observer.exceptions > 10 && observed.observer.methods > 100, "{runtime}");
        assert!(observed.clock.is_some_and(|clock| clock.start_ticks > 0));
        assert!(subject.target.is_alive());
    }
}

#[test]
fn a_target_that_ends_ends_the_session() {
    for runtime in PATIENTS {
        let subject = start("exception-storm", runtime);
        let mut killed = false;
        let driven = observe(&subject.client, &exceptions(), Counting::default(), |waiting| {
            if waiting.bytes > 50_000 && !killed {
                killed = true;
                signal(&subject, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(5));
            Going::On
        });
        let driven = driven.unwrap();
        assert_eq!(driven.end, SessionEnd::TargetExited, "{runtime}");
        assert!(driven.value.observer.exceptions > 0, "{runtime}");
    }
}

#[test]
fn a_target_that_stops_answering_is_given_up_and_lives_on() {
    for runtime in PATIENTS {
        let subject = start("exception-storm", runtime);
        let mut stopped = false;
        let driven = observe(&subject.client, &exceptions(), Counting::default(), |waiting| {
            if waiting.bytes > 50_000 && !stopped {
                stopped = true;
                signal(&subject, Signal::STOP);
            }
            std::thread::sleep(Duration::from_millis(5));
            if stopped { Going::Stop } else { Going::On }
        });
        let driven = driven.unwrap();
        assert_eq!(driven.end, SessionEnd::StoppedAnswering, "{runtime}");
        assert!(driven.value.observer.exceptions > 0, "{runtime}");
        signal(&subject, Signal::CONT);
        // It serves the next ones. While it still ends the session that was given up, it may switch the events of a new
        // one off with it, so that one which stays silent is followed by another.
        let came = (0..30).any(|_| {
            let deadline = Instant::now() + Duration::from_secs(3);
            let mut enough = after(100_000);
            let again = observe(&subject.client, &exceptions(), Counting::default(), |waiting| {
                if Instant::now() > deadline { Going::Stop } else { enough(waiting) }
            });
            let again = again.unwrap();
            assert_eq!(again.end, SessionEnd::Stopped, "{runtime}");
            again.value.observer.exceptions > 10
        });
        assert!(came, "{runtime}: no events after it went on");
        assert!(subject.target.is_alive(), "{runtime}: {}", subject.target.stderr_text());
    }
}

#[test]
fn a_consumer_that_leaves_ends_the_session() {
    for runtime in PATIENTS {
        let subject = start("exception-storm", runtime);
        let first = |mut stream: event_session::SessionStream| {
            let mut bytes = [0; 1000];
            stream.read_exact(&mut bytes).is_ok()
        };
        let driven = drive(&subject.client, &exceptions(), first, |waiting| {
            std::thread::sleep(waiting.slice);
            Going::On
        });
        let driven = driven.unwrap();
        assert_eq!((driven.value, driven.end), (true, SessionEnd::ConsumerLeft), "{runtime}");
        let again = observe(&subject.client, &exceptions(), Counting::default(), after(100_000));
        assert_eq!(again.unwrap().end, SessionEnd::Stopped, "{runtime}");
        assert!(subject.target.is_alive(), "{runtime}");
    }
}

/// A list of all code visits code that is being unloaded, and runtimes before .NET 8 can crash in it.
#[test]
fn names_are_not_asked_for_where_that_could_crash_the_target() {
    for runtime in PATIENTS {
        let subject = start("healthy-plugin-host", runtime);
        let is_old = runtime == Runtime::Net31;
        assert_eq!(names_would_be_withheld(&subject.client).unwrap(), is_old, "{runtime}");
        let driven = observe(&subject.client, &exceptions(), Counting::default(), after(1_000)).unwrap();
        assert_eq!(driven.end, SessionEnd::Stopped, "{runtime}");
        assert_eq!(driven.value.withheld_names, is_old, "{runtime}");
        assert_eq!(driven.value.observer.methods > 100, !is_old, "{runtime}");
        assert!(subject.target.is_alive(), "{runtime}");
    }
}
