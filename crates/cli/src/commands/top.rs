//! `drdotnet top`

use std::io::IsTerminal;
use std::time::{Duration, Instant, SystemTime};

use counters::export::Zone;
use discovery::DotnetProcess;
use kernel_collector::{Collecting, Request, Target};
use model::parse_duration;
use perf_sampler::{Collect, Wake};
use ratatui::crossterm::event;

use super::launching::{self, Program};
use crate::args::top::TopArgs;
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::screen::Screen;
use crate::selection::select;
use crate::tui::top::{Interval, Reaction, Side, State, Status, block, draw, react};
use crate::tui::{QuietErrors, Terminal};

/// How quickly keys and signals are noticed.
const GLANCE: Duration = Duration::from_millis(50);
/// Shortest time between two pictures: below, a picture has no samples.
const SHORTEST: Duration = Duration::from_millis(100);
/// Stacks of waits: fewer than a recording takes, for this goes on for hours.
const WAIT_STACKS: u32 = 500;

/// Shows methods and threads by their time, live.
pub fn top(args: &TopArgs, screen: &Screen) -> Result<(), Failure> {
    let interval = parse_duration(&args.interval)?.max(SHORTEST);
    let limit = args.duration.as_deref().map(parse_duration).transpose()?;
    let is_live =
        std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let interrupt = Interrupt::listen(Second::IsIgnored)
        .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let quiet = (is_live && !args.target.command.is_empty()).then(QuietErrors::begin);
    let found = find(args, &interrupt);
    let (program, process) = match found {
        Ok(found) => found,
        Err(failure) => {
            drop(quiet);
            return Err(failure);
        }
    };
    let shown = Top::begin(args, &process, interval, limit).and_then(|mut top| {
        top.state.colour = screen.has_colour();
        match is_live.then(Terminal::take) {
            Some(Ok(terminal)) => top.live(terminal, &interrupt)?,
            // No terminal after all.
            Some(Err(_)) | None => top.plain(&interrupt)?,
        }
        Ok(top.state.status)
    });
    drop(quiet);
    let started_here = program.is_some();
    program.into_iter().for_each(Program::farewell);
    match shown? {
        Status::Ended if !started_here => {
            Err(Failure::new(Code::TargetEnded, format!("process {} has ended", process.pid))
                .why("its last interval was shown")
                .next("drdotnet ps   lists the processes that are there now"))
        }
        _ => Ok(()),
    }
}

fn find(args: &TopArgs, interrupt: &Interrupt) -> Result<(Option<Program>, DotnetProcess), Failure> {
    if args.target.command.is_empty() {
        return Ok((None, select(&args.target.which())?));
    }
    let (program, process) = launching::start(&args.target.command, interrupt)?;
    Ok((Some(program), process))
}

struct Top {
    state: State,
    collecting: Collecting,
    process: DotnetProcess,
    interval: Duration,
    limit: Option<Duration>,
    lost: u64,
    taken: Instant,
}

impl Top {
    fn begin(
        args: &TopArgs,
        process: &DotnetProcess,
        interval: Duration,
        limit: Option<Duration>,
    ) -> Result<Top, Failure> {
        let mut request = Request::new(vec![Target::from(process)], Collect::Both);
        request.sampling.rate_hz = args.rate;
        request.debug_cache = native_symbols::user_cache();
        request.sampling.wait_stacks = perf_sampler::WaitStacks::AtMost { per_second: WAIT_STACKS };
        let collecting = Collecting::start(request)?;
        let runtime = process.runtime_version.as_ref().map(|version| format!(" .NET {version}"));
        let title = format!("{} (pid {}){}", process.name, process.pid, runtime.unwrap_or_default());
        let mut state = State::new(title, Instant::now());
        let granted = collecting.granted();
        state.has_waits = granted.off_cpu.is_some();
        state.notes = granted.missing.iter().map(ToString::to_string).collect();
        if args.off_cpu && state.has_waits {
            state.side = Side::OffCpu;
        }
        let process = process.clone();
        Ok(Top { state, collecting, process, interval, limit, lost: 0, taken: Instant::now() })
    }

    fn is_over(&self, interrupt: &Interrupt) -> bool {
        interrupt.is_asked() || self.limit.is_some_and(|limit| self.state.begin.elapsed() >= limit)
    }

    /// Takes in what came within this time; whether there is a new picture.
    fn look(&mut self, within: Duration) -> Result<bool, Failure> {
        let wake = self.collecting.wait(within)?;
        let ended = wake == Wake::TargetsEnded;
        let is_new = self.state.status == Status::Running;
        if !is_new || (self.taken.elapsed() < self.interval && !ended) {
            return Ok(false);
        }
        let counts = self.collecting.counts();
        self.taken = Instant::now();
        if let Some(profiles) = self.collecting.live(self.process.pid) {
            let samples = profiles.on_cpu.samples.len() + profiles.off_cpu.samples.len();
            let (off_cpu, idle) = profilers::kernel::without_idle(profiles.off_cpu);
            self.state.take(Interval {
                took: Duration::from_nanos(profiles.on_cpu.duration_ns),
                on_cpu: profiles.on_cpu,
                off_cpu,
                idle,
                samples: samples as u64,
                lost: counts.lost.saturating_sub(self.lost),
            });
            self.lost = counts.lost;
        }
        if ended {
            self.state.status = Status::Ended;
        }
        Ok(true)
    }

    fn live(&mut self, mut terminal: Terminal, interrupt: &Interrupt) -> Result<(), Failure> {
        let screen = |error: std::io::Error| Failure::new(Code::Unexpected, format!("the terminal: {error}"));
        let mut changed = true;
        let mut drawn = Instant::now();
        // The user leaves, not the target: what it did last stays on the screen.
        while !self.is_over(interrupt) {
            if changed || drawn.elapsed() >= self.interval {
                drawn = Instant::now();
                terminal.get().draw(|frame| draw(frame, &mut self.state, drawn)).map_err(screen)?;
            }
            changed = false;
            if event::poll(GLANCE).map_err(screen)? {
                match react(&mut self.state, &event::read().map_err(screen)?) {
                    Reaction::Quit => break,
                    Reaction::Draw => changed = true,
                    Reaction::None => {}
                }
            }
            changed |= self.look(Duration::ZERO)?;
        }
        Ok(())
    }

    fn plain(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let zone = Zone::local();
        while !self.is_over(interrupt) && self.state.status == Status::Running {
            if self.look(GLANCE)? {
                let text = block(&self.state, &zone.short(SystemTime::now()));
                output::to_stdout(&format!("{text}\n"))?;
            }
        }
        Ok(())
    }
}
