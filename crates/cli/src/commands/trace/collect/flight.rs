//! `--keep`: whoever decides when a flight recorder saves.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use discovery::DotnetProcess;
use event_session::SessionEnd;
use trace_recording::{
    Fired, Flight, Gauges, Keep, Live, Pilot, Recorded, RecordingError, TraceFile, Watch, Wish, fly,
};

use super::keyboard::{Key, Keyboard};
use super::opening;
use super::place::Place;
use super::plan::Plan;
use super::status::Status;
use super::{Held, Outcome, Signals, Target, deliver};
use crate::explain::Failure;
use crate::output::to_stderr;
use crate::screen::Screen;

/// With a bound by size only, a condition may save again after this time.
const REST: Duration = Duration::from_secs(10);

struct Hand<'a> {
    plan: &'a Plan,
    process: &'a DotnetProcess,
    held: Option<Held<'a>>,
    signals: &'a Signals,
    keyboard: Keyboard,
    place: Place,
    status: Status,
    gauges: Gauges,
    began: Instant,
    /// Why the next save happens.
    cause: String,
    saves_by_condition: u32,
    saves: u32,
    result: Result<(), Failure>,
    target_exited: bool,
    files: Vec<PathBuf>,
}

/// Records for ever and keeps the last part.
pub fn record_flight(
    plan: &Plan,
    keep: Keep,
    target: &Target,
    place: Place,
    signals: &Signals,
    keyboard: Keyboard,
    screen: &Screen,
) -> Result<Outcome, Failure> {
    let Target { process, client, .. } = target;
    to_stderr(&opening::heading(plan, process, &place.shown()));
    let how =
        if keyboard.is_there() { "s saves, q or Enter saves and stops" } else { "Ctrl+C saves and stops" };
    to_stderr(&format!("Keeping        : {}; kill -USR1 {} saves, too\n", kept(keep), std::process::id()));
    for condition in &plan.conditions {
        to_stderr(&format!("Saving when    : {condition}\n"));
    }
    let request = plan.request(process);
    let folder = place.folder().to_owned();
    let mut hand = Hand {
        plan,
        process,
        held: target.held(),
        signals,
        keyboard,
        place,
        status: Status::new(screen, plan, process.pid, how),
        gauges: Gauges::new(process.pid, &plan.conditions),
        began: Instant::now(),
        cause: String::new(),
        saves_by_condition: 0,
        saves: 0,
        result: Ok(()),
        target_exited: false,
        files: Vec::new(),
    };
    let watch = Watch::new(plan.conditions.clone(), None);
    let flight = Flight { client, request: &request, keep, watch, folder: &folder };
    let flown = fly(&flight, &mut hand);
    hand.status.clear();
    flown?;
    Ok(Outcome { target_exited: hand.target_exited, files: hand.files, result: hand.result })
}

fn kept(keep: Keep) -> String {
    let time = keep.time.map(|time| format!("the last {}", model::format_duration(time)));
    let bytes = keep.bytes.map(|bytes| format!("the last {}", super::ending::size(bytes)));
    let parts: Vec<String> = time.into_iter().chain(bytes).collect();
    parts.join(" or ")
}

impl Hand<'_> {
    fn wish(&mut self, wish: Wish, cause: impl Into<String>) -> Wish {
        self.cause = cause.into();
        let more = if wish == Wish::Save { " and going on" } else { " and stopping" };
        self.status.say(&format!("saving{more}: {}", reports::printable(&self.cause)));
        wish
    }

    /// Whether a condition may save now. Right after a save there is little to be saved, and each costs the target
    /// the naming of its code.
    fn may_save_again(&self, session: Duration) -> bool {
        self.saves == 0 || session >= self.plan.keep.and_then(|keep| keep.time).unwrap_or(REST)
    }

    fn by_condition(&mut self, fired: &Fired) -> Wish {
        self.saves_by_condition += 1;
        let wish = if self.saves_by_condition >= self.plan.saves { Wish::Stop } else { Wish::Save };
        self.wish(wish, format!("{} ({})", fired.condition, fired.seen))
    }
}

impl Pilot for Hand<'_> {
    fn begun(&mut self) -> Wish {
        if let Some(Err(failure)) = self.held.take().map(Held::let_go) {
            self.result = Err(failure);
            return Wish::Stop;
        }
        Wish::On
    }

    fn look(&mut self, session: Duration, live: &Live) -> Wish {
        if self.signals.interrupt.is_asked() {
            return self.wish(Wish::Stop, "the end was asked for");
        }
        if self.plan.duration.is_some_and(|duration| self.began.elapsed() >= duration) {
            return self.wish(Wish::Stop, "the time is over");
        }
        if self.signals.save.swap(false, Ordering::AcqRel) {
            return self.wish(Wish::Save, "SIGUSR1 asked for it");
        }
        match self.keyboard.pressed() {
            Some(Key::Stop) => return self.wish(Wish::Stop, "the end was asked for"),
            Some(Key::Save) => return self.wish(Wish::Save, "the key s asked for it"),
            None => {}
        }
        let (seen, outside) = (live.take_fired(), self.gauges.look());
        if let Some(fired) = seen.or(outside)
            && self.may_save_again(session)
        {
            return self.by_condition(&fired);
        }
        let saves = if self.saves == 0 { String::new() } else { format!(", {} saved", self.saves) };
        self.status.update(self.began.elapsed(), live, &saves);
        Wish::On
    }

    fn file(&mut self) -> Result<TraceFile, RecordingError> {
        self.place.next()
    }

    fn saved(&mut self, path: &Path, recorded: Recorded) {
        self.status.clear();
        if self.saves == 0 {
            to_stderr(&opening::given_up(&recorded.granted, self.process));
        }
        self.saves += 1;
        if recorded.size > 0 {
            self.files.push(path.to_owned());
        }
        self.target_exited = recorded.end == SessionEnd::TargetExited;
        let cause = std::mem::take(&mut self.cause);
        let cause = match cause.as_str() {
            "" => "the recording ended",
            cause => cause,
        };
        let told = deliver(self.plan, path, recorded, self.process, Some(cause));
        if self.result.is_ok() {
            self.result = told;
        }
    }
}
