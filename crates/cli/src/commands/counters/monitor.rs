//! `drdotnet counters monitor`

use std::io::IsTerminal;
use std::time::{Duration, Instant, SystemTime};

use counters::export::Zone;
use discovery::DotnetProcess;
use ratatui::crossterm::event;

use super::What;
use super::targets::Targets;
use super::watching::{Ending, Farewell, News, Watching};
use crate::args::counters::MonitorArgs;
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::screen::Screen;
use crate::tui::counters::{Reaction, State, Status, block, draw, react};
use crate::tui::{QuietErrors, Terminal};

/// How quickly keys and signals are noticed.
const GLANCE: Duration = Duration::from_millis(50);
/// Values of one interval come one by one; between two pictures passes this at least.
const PICTURE: Duration = Duration::from_millis(200);
/// Without news the picture is renewed this often: time goes on, silence grows.
const CLOCK: Duration = Duration::from_secs(1);

/// Shows counters, live.
pub fn monitor(args: &MonitorArgs, screen: &Screen) -> Result<(), Failure> {
    let what = What::new(&args.what)?;
    let is_live =
        std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    // A second signal must not end the tool before it has given the terminal back, and ended its sessions: a .NET Core
    // 3.1 process would crash.
    let interrupt = Interrupt::listen(Second::IsIgnored)
        .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    // Before the program is started, which writes where we write.
    let quiet = (is_live && !args.target.command.is_empty()).then(QuietErrors::begin);
    let targets = Targets::find(&args.target, &interrupt);
    let (mut targets, quiet) = match targets {
        Ok(targets) => (targets, quiet),
        Err(failure) => {
            drop(quiet);
            return Err(failure);
        }
    };
    let mut monitor = Monitor::begin(&targets, what, args.show_deltas)?;
    monitor.state.colour = screen.has_colour();
    let shown = match is_live.then(Terminal::take) {
        Some(Ok(terminal)) => monitor.live(terminal, &interrupt),
        // No terminal after all.
        Some(Err(_)) | None => monitor.plain(&interrupt),
    };
    drop(quiet);
    let started_here = targets.is_started_here();
    let verdict = shown.and_then(|()| monitor.verdict(started_here));
    drop(monitor);
    targets.farewell();
    verdict
}

struct Monitor {
    state: State,
    watching: Watching,
    what: What,
    refused: Option<Failure>,
    hung: Option<usize>,
}

impl Monitor {
    fn begin(targets: &Targets, what: What, deltas: bool) -> Result<Monitor, Failure> {
        let watching = Watching::begin(&targets.processes, &what)?;
        let processes = targets.processes.iter();
        let described = processes.map(|process: &DotnetProcess| {
            (process.pid.0, process.name.clone(), process.runtime_version.clone())
        });
        let mut state = State::new(described, what.limits.interval, Instant::now());
        state.deltas = deltas;
        Ok(Monitor { state, watching, what, refused: None, hung: None })
    }

    /// Takes in all news that are there; whether there were any.
    fn hear(&mut self, within: Duration) -> bool {
        let mut wait = within;
        let mut any = false;
        while let Some((index, news)) = self.watching.next(wait) {
            any = true;
            wait = Duration::ZERO;
            match news {
                News::Told(told) => self.state.take(index, told, Instant::now()),
                News::Ended(ending) => self.ended(index, ending),
            }
        }
        any
    }

    fn ended(&mut self, index: usize, ending: Ending) {
        let who =
            self.state.subjects.get(index).map(|subject| format!("{} (pid {})", subject.name, subject.pid));
        let status = match ending {
            Ending::Stopped => return,
            Ending::Exited => Status::Ended,
            Ending::Hung => {
                self.hung = Some(index);
                Status::Failed("does not answer".to_owned())
            }
            Ending::Damaged(problem) => {
                Status::Failed(format!("sent something that cannot be read: {problem}"))
            }
            Ending::Refused(error) => {
                let text = error.to_string();
                self.refused = Some(Failure::no_counter_session(&who.unwrap_or_default(), &error));
                Status::Failed(text)
            }
        };
        self.state.end(index, status);
    }

    fn is_over(&self, interrupt: &Interrupt) -> bool {
        let limit = self.what.duration;
        interrupt.is_asked() || limit.is_some_and(|limit| self.state.begin.elapsed() >= limit)
    }

    fn live(&mut self, mut terminal: Terminal, interrupt: &Interrupt) -> Result<(), Failure> {
        let screen = |error: std::io::Error| Failure::new(Code::Unexpected, format!("the terminal: {error}"));
        let mut drawn: Option<Instant> = None;
        let mut changed = true;
        // The user leaves, not the target: its last values stay on the screen.
        while !self.is_over(interrupt) {
            let since = drawn.map_or(Duration::MAX, |moment| moment.elapsed());
            if (changed && since >= PICTURE) || since >= CLOCK {
                let now = Instant::now();
                terminal.get().draw(|frame| draw(frame, &mut self.state, now)).map_err(screen)?;
                (drawn, changed) = (Some(now), false);
            }
            if event::poll(GLANCE).map_err(screen)? {
                match react(&mut self.state, &event::read().map_err(screen)?) {
                    Reaction::Quit => break,
                    // At once: a key that does nothing for a while is pressed again.
                    Reaction::Draw => (drawn, changed) = (None, true),
                    Reaction::None => {}
                }
            }
            changed |= self.hear(Duration::ZERO);
        }
        drop(terminal);
        self.leave();
        Ok(())
    }

    fn plain(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let zone = Zone::local();
        let interval = self.what.limits.interval;
        // Half an interval later, so that a block has the values of one interval.
        let mut next = Instant::now() + interval + interval / 2;
        while !self.is_over(interrupt) && self.watching.is_running() {
            self.hear(GLANCE);
            if Instant::now() >= next {
                next += interval;
                self.print(&zone)?;
            }
        }
        self.leave();
        self.print(&zone)
    }

    fn print(&self, zone: &Zone) -> Result<(), Failure> {
        let text = block(&self.state, &zone.short(SystemTime::now()), Instant::now());
        output::to_stdout(&format!("{text}\n"))
    }

    /// Ends the sessions.
    fn leave(&mut self) {
        self.watching.stop();
        let mut farewell = Farewell::default();
        while self.watching.is_running() {
            self.hear(GLANCE);
            farewell.wait();
        }
    }

    fn verdict(&mut self, started_here: bool) -> Result<(), Failure> {
        if let Some(failure) = self.refused.take() {
            return Err(failure);
        }
        let who = |subject: &crate::tui::counters::Subject| format!("{} (pid {})", subject.name, subject.pid);
        if let Some(subject) = self.hung.and_then(|index| self.state.subjects.get(index)) {
            return Err(Failure::counters_unanswered(&who(subject), "its session could not be ended"));
        }
        let empty = |subject: &&crate::tui::counters::Subject| subject.board.series().len() == 0;
        let ended = self.state.subjects.iter().find(|subject| subject.status == Status::Ended);
        if let Some(subject) = ended.filter(|_| !started_here) {
            return Err(Failure::counters_ended(&who(subject), "its last values were shown"));
        }
        match self.state.subjects.iter().find(empty) {
            // Who looks only for a moment wants no error.
            Some(subject) if self.what.too_brief(self.state.begin.elapsed()).is_none() => {
                Err(Failure::no_counters(&who(subject), &self.what.providers(), subject.board.notes(), None))
            }
            _ => Ok(()),
        }
    }
}
