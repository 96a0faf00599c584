//! `drdotnet run`

use std::path::{Path, PathBuf};

use discovery::DotnetProcess;
use model::{Report, Timestamp, WindowEnd, format_duration, parse_duration};
use profilers::{Engine, PROFILERS, Profiler, Run, Settings, by_id};
use reports::printable;
use sessions::{MANIFEST_SCHEMA, Manifest, RunningSession, Store};

use super::launching::{self, Program};
use crate::args::RunArgs;
use crate::control::{Interrupt, Second, UserControl};
use crate::exit_code::Code;
use crate::explain::{Failure, unreachable};
use crate::output;
use crate::progress::Progress;
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
}

impl Plan {
    fn new(args: &RunArgs) -> Result<Plan, Failure> {
        let profiler = by_id(&args.profiler)?;
        let spec = profiler.spec();
        if let Some(folder) = args.output.as_deref().filter(|path| looks_like_a_file(path)) {
            return Err(Failure::new(Code::BadParameter, format!("-o {} is no folder's name", folder.display()))
                .why("a session is a folder")
                .next("--json > FILE   writes the report to a file; or later: drdotnet sessions export last -o FILE"));
        }
        Ok(Plan {
            profiler,
            settings: Settings::new(spec, args.settings.iter().map(String::as_str))?,
            duration: args.duration.as_deref().map_or(Ok(spec.duration), parse_duration)?,
            output: args.output.clone(),
            json: args.json,
        })
    }
}

/// Other tools take a file for `-o`; a folder called `report.json` would surprise everybody.
fn looks_like_a_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    !path.is_dir() && extension.is_some_and(|extension| matches!(extension, "json" | "html" | "md" | "txt"))
}

/// Asks one question.
pub fn run(args: &RunArgs, screen: &Screen) -> Result<(), Failure> {
    let plan = Plan::new(args)?;
    let second = if args.target.command.is_empty() { Second::EndsAtOnce } else { Second::IsIgnored };
    let interrupt =
        Interrupt::listen(second).map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    if args.target.command.is_empty() {
        let process = select(&args.target.which())?;
        if plan.profiler.spec().engine == Engine::EventPipe
            && let Some(failure) = unreachable(&process)
        {
            return Err(failure);
        }
        return ask(&plan, &process, None, &interrupt, screen);
    }
    let (program, process) = launching::start(&args.target.command, &interrupt)?;
    ask(&plan, &process, Some(program), &interrupt, screen)
}

fn ask(
    plan: &Plan,
    process: &DotnetProcess,
    program: Option<Program>,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<(), Failure> {
    // Before the target is looked at: a disk that cannot be written must not cost a measurement.
    let session = begin_session(plan, process)?;
    let spec = plan.profiler.spec();
    let what = format!(
        "{}: looking at {} (pid {}) for {}",
        spec.id,
        printable(&process.name),
        process.pid,
        format_duration(plan.duration)
    );
    let progress = Progress::begin(screen, &what);
    let control = UserControl { interrupt, progress: &progress };
    let run = Run { process, settings: &plan.settings, duration: plan.duration, control: &control };
    let outcome = profilers::run(plan.profiler, &run);
    progress.end();
    let started_here = program.is_some();
    if let Some(program) = program {
        farewell(program);
    }
    match outcome {
        Ok(report) => deliver(plan, &report, session, started_here, screen),
        Err(error) => {
            session.fail(&error.to_string())?;
            Err(error.into())
        }
    }
}

fn begin_session(plan: &Plan, process: &DotnetProcess) -> Result<RunningSession, Failure> {
    let spec = plan.profiler.spec();
    let manifest = Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        profiler: spec.id.to_owned(),
        parameters: plan.settings.all(),
        target: process.target(),
        started_at: Timestamp::now(),
        requested_ns: u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX),
    };
    Ok(match &plan.output {
        Some(folder) => RunningSession::begin_in(folder, &manifest)?,
        None => {
            let store = Store::of_user();
            if store.is_makeshift() {
                let session = store.begin(&manifest)?;
                let folder = store.root().display();
                output::to_stderr(&format!("no home folder can be written; the session goes to {folder}\n"));
                return Ok(session);
            }
            store.begin(&manifest)?
        }
    })
}

/// Stops the program that was started for this, and says how it ended.
pub(super) fn farewell(program: Program) {
    match program.stop() {
        Some(status) => output::to_stderr(&format!("the program ended by itself ({status})\n")),
        None => output::to_stderr("stopped the program that was started for this\n"),
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
    let text = if plan.json {
        reports::json::render(report)
    } else {
        reports::terminal::render(report, &screen.report_style())
    };
    let shown = output::to_stdout(&text);
    let folder = session.folder().to_owned();
    let kept = match &plan.output {
        Some(_) => {
            let folder = folder.display();
            format!("kept in {folder} (drdotnet sessions open {folder}   shows it in a browser)")
        }
        None => {
            let id = folder.file_name().unwrap_or_default().to_string_lossy();
            format!("kept as session {id} (drdotnet sessions open last)")
        }
    };
    session
        .finish(report)
        .map_err(|error| Failure::from(error).also("the report above is complete, but it is not kept"))?;
    shown.map_err(|failure| failure.also(&kept))?;
    output::to_stderr(&format!("\n{kept}\n"));
    // A program that we started may end when it likes; somebody's service may not.
    if report.window.end == WindowEnd::TargetExited && !started_here {
        let measured = format_duration(std::time::Duration::from_nanos(report.window.measured_ns));
        return Err(Failure::new(
            Code::TargetEnded,
            format!("process {} ended in the middle, after {measured}", report.target.pid),
        )
        .why("the report above covers the time until then")
        .next("drdotnet ps   lists the processes that are there now"));
    }
    Ok(())
}
