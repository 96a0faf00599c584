//! `drdotnet trace collect`

mod ending;
mod flight;
mod keyboard;
mod opening;
mod place;
mod plan;
mod port;
mod status;

use std::cell::RefCell;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use diagnostics_ipc::{Client, PortServer, Rundown};
use discovery::DotnetProcess;
use event_session::{Going, SessionEnd, Waiting, names_would_be_withheld};
use signal_hook::consts::{SIGUSR1, SIGXFSZ};
use trace_recording::{Live, Recorded, TraceFile, Watch, naming, record};

use self::ending::Ending;
use self::keyboard::{Key, Keyboard, Keys};
use self::place::Place;
use self::plan::Plan;
pub use self::plan::may_die_with_the_tool;
use self::status::Status;
use crate::args::trace::{CollectArgs, RecordingFormat};
use crate::args::trace_convert::{ConvertArgs, StacksArgs};
use crate::commands::json;
use crate::commands::launching::{self, Program, ProgramIo};
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::{Failure, unreachable};
use crate::output::{self, to_stderr};
use crate::screen::Screen;
use crate::selection::select;

/// How long a started program may take to exit after it has closed its event stream.
const EXIT: Duration = Duration::from_secs(5);

/// Who is recorded, and how they are spoken to.
struct Target {
    process: DotnetProcess,
    client: Client,
    program: Option<Program>,
    /// The port that it called, which must live as long as we speak to it.
    _port: Option<PortServer>,
    /// Whether its runtime stands still until we let it go on.
    is_held: bool,
}

/// A runtime that stands still until it is let go.
enum Held<'a> {
    /// That of a program that we started.
    Program(&'a Program),
    /// One that called our port.
    Caller(&'a Client),
}

impl Held<'_> {
    fn let_go(self) -> Result<(), Failure> {
        match self {
            Held::Program(program) => program.resume(),
            Held::Caller(client) => {
                // One that was told not to wait has nothing to be let go from.
                let _ = client.resume_runtime();
                Ok(())
            }
        }
    }
}

impl Target {
    /// What is to be let go once the session has begun.
    fn held(&self) -> Option<Held<'_>> {
        let held = self.program.as_ref().map_or(Held::Caller(&self.client), Held::Program);
        self.is_held.then_some(held)
    }
}

/// Signals while we record.
struct Signals {
    interrupt: Interrupt,
    /// SIGUSR1 came.
    save: Arc<AtomicBool>,
}

/// Records a process.
pub fn collect(args: &CollectArgs, screen: &Screen) -> Result<(), Failure> {
    let mut plan = Plan::new(args)?;
    let (mut target, signals) = reach(args)?;
    plan.withholds_names = withholds_names(&plan, args, &target)?;
    if !plan.is_quiet {
        to_stderr(&opening::remarks(&plan.selection));
        to_stderr(&format!("{}\n", opening::table(&plan.selection)));
    }
    let mut place = Place::new(plan.output.as_deref(), &target.process);
    let keyboard = |keys| if args.show_child_io { Keyboard::none() } else { Keyboard::open(keys) };
    let outcome = match plan.keep {
        None => {
            let file = place.next()?;
            plain(&plan, &target, file, &signals, keyboard(Keys::Enter), screen)
        }
        Some(keep) => {
            let keyboard = keyboard(Keys::SaveAndStop);
            flight::record_flight(&plan, keep, &target, place, &signals, keyboard, screen)
        }
    };
    let ended = farewell(target.program.take(), outcome.as_ref().is_ok_and(|outcome| outcome.target_exited));
    let outcome = outcome?;
    // Not before the target is free of us.
    let converted = outcome.files.iter().try_for_each(|file| convert(plan.format, file, screen));
    outcome.result?;
    converted?;
    match ended.filter(|status| !status.success()) {
        Some(status) => Err(program_failed(status)),
        None => Ok(()),
    }
}

/// Whether names are not asked for at the end, because that could crash the target. Who insists on names gets them.
fn withholds_names(plan: &Plan, args: &CollectArgs, target: &Target) -> Result<bool, Failure> {
    let is_asked = plan.request(&target.process).rundown != Rundown::None && args.rundown.is_none();
    // A runtime that stands still loads nothing.
    let can_be_heard = target.program.is_none() && !target.is_held;
    if !is_asked || !can_be_heard || !names_would_be_withheld(&target.client)? {
        return Ok(false);
    }
    to_stderr(opening::WITHHELD);
    Ok(true)
}

/// Finds or starts the target, and listens to signals from before it can be harmed by one.
fn reach(args: &CollectArgs) -> Result<(Target, Signals), Failure> {
    let unexpected = |error: std::io::Error| Failure::new(Code::Unexpected, error.to_string());
    let save = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&save)).map_err(unexpected)?;
    // A limit on the size of files must end the recording in order, not the tool at once.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(unexpected)?;
    let is_started = !args.target.command.is_empty();
    if is_started {
        let interrupt = Interrupt::listen(Second::IsIgnored).map_err(unexpected)?;
        let io = if args.show_child_io { ProgramIo::Shared } else { ProgramIo::Hidden };
        let (program, process) = launching::start_held(&args.target.command, io, &interrupt)?;
        let is_held = args.resume_runtime && matches!(program, Program::Ported(_));
        let client = client_of(&process)?;
        return Ok((
            Target { process, client, program: Some(program), _port: None, is_held },
            Signals { interrupt, save },
        ));
    }
    if let Some(text) = &args.target.diagnostic_port {
        let interrupt = Interrupt::listen(Second::IsIgnored).map_err(unexpected)?;
        let target = port::reach(text, args.resume_runtime, &interrupt)?;
        return Ok((target, Signals { interrupt, save }));
    }
    let process = select(&args.target.which())?;
    let client = client_of(&process)?;
    // A runtime that would not survive it is not left in the lurch, however impatient the user is.
    let second = if may_die_with_the_tool(&process) { Second::IsIgnored } else { Second::EndsAtOnce };
    let interrupt = Interrupt::listen(second).map_err(unexpected)?;
    Ok((Target { process, client, program: None, _port: None, is_held: false }, Signals { interrupt, save }))
}

fn client_of(process: &DotnetProcess) -> Result<Client, Failure> {
    if let Some(failure) = unreachable(process) {
        return Err(failure);
    }
    process.client().ok_or_else(|| {
        Failure::new(Code::DiagnosticsOff, format!("process {} has no diagnostics socket", process.pid))
    })
}

struct Outcome {
    target_exited: bool,
    /// What was written.
    files: Vec<PathBuf>,
    result: Result<(), Failure>,
}

/// One recording from now to the end.
fn plain(
    plan: &Plan,
    target: &Target,
    file: TraceFile,
    signals: &Signals,
    mut keyboard: Keyboard,
    screen: &Screen,
) -> Result<Outcome, Failure> {
    let path = file.path().to_owned();
    let replaces = if file.replaces() { " (replaces the one that was there)" } else { "" };
    if !plan.is_quiet {
        to_stderr(&opening::heading(plan, &target.process, &format!("{}{replaces}", path.display())));
    }
    let hint = if keyboard.is_there() { "Enter or Ctrl+C stops" } else { "Ctrl+C stops" };
    let status = RefCell::new(Status::new(screen, plan, target.process.pid, hint));
    let live = Live::default();
    let mut resumed: Result<(), Failure> = Ok(());
    let mut held = target.held();
    let watch = Watch::new(Vec::new(), plan.stopping.clone());
    let recorded =
        record(&target.client, &plan.request(&target.process), file, watch, &live, |waiting: Waiting| {
            if let Some(held) = held.take() {
                resumed = held.let_go();
            }
            status.borrow_mut().update(waiting.elapsed, &live, "");
            std::thread::sleep(waiting.slice);
            let is_over = plan.duration.is_some_and(|duration| waiting.elapsed >= duration);
            let stops = is_over
                || resumed.is_err()
                || signals.interrupt.is_asked()
                || keyboard.pressed() == Some(Key::Stop);
            if stops {
                status.borrow().say("stopping: the runtime names its code, which may take a while");
                return Going::Stop;
            }
            Going::On
        });
    drop(keyboard);
    status.borrow().clear();
    let recorded = recorded?;
    resumed?;
    to_stderr(&opening::given_up(&recorded.granted, &target.process));
    let target_exited = recorded.end == SessionEnd::TargetExited;
    let written = if recorded.size > 0 { vec![path.clone()] } else { Vec::new() };
    let result = deliver(plan, &path, recorded, &target.process, None);
    Ok(Outcome { target_exited, files: written, result })
}

/// Tells what was recorded.
fn deliver(
    plan: &Plan,
    path: &Path,
    mut recorded: Recorded,
    process: &DotnetProcess,
    cause: Option<&str>,
) -> Result<(), Failure> {
    let naming = if recorded.size > 0 { naming(path) } else { None };
    let buffer_mb = plan.buffer_mb;
    let ending = Ending {
        path,
        recorded: &recorded,
        naming,
        buffer_mb,
        rundown: plan.request(process).rundown,
        cause,
    };
    let text =
        if plan.json { json(&ending.json())? } else { format!("{}\n{}", ending.text(), ending.next()) };
    if recorded.size > 0 {
        // A recording that went to standard output must not be followed by words, nor what a program has written.
        let is_file = path.metadata().is_ok_and(|file| file.is_file());
        if is_file && !plan.is_quiet { output::to_stdout(&text)? } else { to_stderr(&text) }
    }
    match ending::failure(&mut recorded, path, process.pid) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Makes a file of another format of a recording, as `drdotnet trace convert` would.
fn convert(format: RecordingFormat, path: &Path, screen: &Screen) -> Result<(), Failure> {
    let name = match format {
        RecordingFormat::Nettrace => return Ok(()),
        RecordingFormat::Speedscope => "speedscope",
        RecordingFormat::Chromium => "chromium",
    };
    let args = ConvertArgs {
        file: path.to_owned(),
        format: name.to_owned(),
        output: None,
        stacks: StacksArgs { view: None, event: None, thread: None },
        merged: false,
        per_thread: false,
        json: false,
    };
    super::convert::convert(&args, screen)
}

/// Ends a program that we started; tells how it ended if it did so by itself.
fn farewell(program: Option<Program>, has_exited: bool) -> Option<ExitStatus> {
    let mut program = program?;
    if has_exited && let Some(status) = program.wait_for_end(EXIT) {
        return Some(status);
    }
    let ended = program.stop();
    if ended.is_none() {
        to_stderr("stopped the program that was started for this\n");
    }
    ended
}

/// A started program that failed: our exit code is its.
fn program_failed(status: ExitStatus) -> Failure {
    // As shells tell of a signal.
    let code = status.code().or_else(|| status.signal().map(|signal| signal + 128)).unwrap_or(1);
    let code = u8::try_from(code).unwrap_or(1);
    Failure::new(Code::Unexpected, format!("the program that was started ended with {status}"))
        .why("the recording is complete; the exit code is that of the program")
        .with_program_code(code)
}
