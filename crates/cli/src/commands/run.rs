//! `drdotnet run`

use std::path::PathBuf;

use discovery::DotnetProcess;
use model::{Report, WindowEnd, format_duration, parse_duration};
use profilers::{PROFILERS, Profiler, Run, Settings, by_id};
use reports::{TerminalStyle, printable};
use sessions::RunningSession;

use super::keeping;
use super::kept_heap::{self, SessionArchive};
use super::launching::{self, Program};
use crate::args::RunArgs;
use crate::control::{Interrupt, Second, UserControl};
use crate::exit_code::Code;
use crate::explain::{Failure, unreachable};
use crate::output;
use crate::progress::Progress;
use crate::redaction;
use crate::screen::Screen;
use crate::selection::select;

/// What `drdotnet run --help` ends with: the registry.
pub fn run_help() -> String {
    let mut text = "Profilers:\n".to_owned();
    for profiler in PROFILERS {
        text += &format!("  {:<16} {}\n", profiler.spec().id, profiler.spec().question);
    }
    text += "\nExamples:\n  drdotnet run threads -p 4242 --duration 10s --set top=10\n";
    text += "  drdotnet run threads -n Shop.Api --json > report.json\n";
    text += "  drdotnet run threads -- dotnet App.dll --urls http://localhost:5000";
    text
}

/// What was typed, checked; nothing has been touched yet.
struct Plan {
    profiler: &'static dyn Profiler,
    settings: Settings,
    duration: std::time::Duration,
    output: Option<PathBuf>,
    json: bool,
    render: fn(&Report, &TerminalStyle) -> String,
}

impl Plan {
    fn new(args: &RunArgs) -> Result<Plan, Failure> {
        let profiler = by_id(&args.profiler)?;
        let spec = profiler.spec();
        keeping::check_folder(args.output.as_deref())?;
        let allow = args.allow_pause.then_some("allow-pause=yes");
        let typed = args.settings.iter().map(String::as_str).chain(allow);
        let settings = Settings::new(spec, typed)?.with_redaction(redaction::chosen());
        // Before the process is stopped for a heap: one that is to be compared with must be there.
        if let Some(since) = Some(settings.choice("since")).filter(|since| !since.is_empty()) {
            kept_heap::find(since)?;
        }
        Ok(Plan {
            profiler,
            settings,
            duration: args.duration.as_deref().map_or(Ok(spec.duration), parse_duration)?,
            output: args.output.clone(),
            json: args.json,
            render: reports::terminal::render,
        })
    }
}

/// Asks one question.
pub fn run(args: &RunArgs, screen: &Screen) -> Result<(), Failure> {
    carry_out(&Plan::new(args)?, args, screen)
}

/// The same, with trees drawn as a whole.
pub fn run_with_trees(args: &RunArgs, screen: &Screen) -> Result<(), Failure> {
    let plan = Plan { render: reports::terminal::render_with_trees, ..Plan::new(args)? };
    carry_out(&plan, args, screen)
}

fn carry_out(plan: &Plan, args: &RunArgs, screen: &Screen) -> Result<(), Failure> {
    let second = if args.target.command.is_empty() { Second::EndsAtOnce } else { Second::IsIgnored };
    let interrupt =
        Interrupt::listen(second).map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    if args.target.command.is_empty() {
        let process = select(&args.target.which())?;
        if plan.profiler.spec().engine.needs_socket()
            && let Some(failure) = unreachable(&process)
        {
            return Err(failure);
        }
        return ask(plan, &process, None, &interrupt, screen);
    }
    let (program, process) = launching::start(&args.target.command, &interrupt)?;
    ask(plan, &process, Some(program), &interrupt, screen)
}

fn ask(
    plan: &Plan,
    process: &DotnetProcess,
    program: Option<Program>,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<(), Failure> {
    // Before the target is looked at: a disk that cannot be written must not cost a measurement.
    let spec = plan.profiler.spec();
    let manifest = keeping::manifest(spec, &plan.settings, process, plan.duration);
    let session = keeping::begin(plan.output.as_deref(), &manifest)?;
    let what = format!(
        "{}: looking at {} (pid {}) for {}",
        spec.id,
        printable(&process.name),
        process.pid,
        format_duration(plan.duration)
    );
    let progress = Progress::begin(screen, &what);
    let control = UserControl { interrupt, progress: &progress };
    let archive = SessionArchive { session: &session, process };
    let run = Run::new(process, &plan.settings, plan.duration, &control).archive(&archive);
    let outcome = profilers::run(plan.profiler, &run);
    progress.end();
    let started_here = program.is_some();
    if let Some(program) = program {
        program.farewell();
    }
    match outcome {
        Ok(report) => deliver(plan, &report, session, started_here, screen),
        Err(error) => {
            session.fail(&error.to_string())?;
            Err(error.into())
        }
    }
}

/// Shows the report, then keeps it: if it cannot be kept, it has at least been seen.
fn deliver(
    plan: &Plan,
    report: &Report,
    session: RunningSession,
    started_here: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    let text =
        if plan.json { reports::json::render(report) } else { (plan.render)(report, &screen.report_style()) };
    let shown = output::to_stdout(&text);
    let kept = keeping::kept_words(session.folder(), plan.output.is_some());
    session
        .finish(report)
        .map_err(|error| Failure::from(error).also("the report above is complete, but it is not kept"))?;
    shown.map_err(|failure| failure.also(&kept))?;
    output::to_stderr(&format!("\n{kept}\n"));
    // A program that we started may end when it likes; somebody's service may not.
    if report.window.end == WindowEnd::TargetExited && !started_here {
        return Err(keeping::ended_in_the_middle(report));
    }
    Ok(())
}
