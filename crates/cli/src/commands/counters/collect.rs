//! `drdotnet counters collect`

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use counters::export::exposition::Exposition;
use counters::{Board, Note, Told};
use discovery::DotnetProcess;
use model::format_duration;
use reports::{LONGEST_PROSE, printable, printable_within};

use super::exposition_file::{ExpositionFile, Shown, shown};
use super::row_file::{RowFile, RowFormat};
use super::targets::Targets;
use super::watching::{Ending, Farewell, News, Watching};
use super::{What, WriteError};
use crate::args::counters::{CollectArgs, CounterFormat};
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output::to_stderr;

/// How quickly a signal is noticed.
const GLANCE: Duration = Duration::from_millis(50);
/// Without a value for this long, or five intervals, the user is told.
const SILENCE: Duration = Duration::from_secs(10);
/// What scripts of dotnet-counters expect.
const DEFAULT_NAME: &str = "counter";

/// Where values go.
enum Sink {
    /// A file of rows for each process.
    Rows(Vec<RowFile>),
    /// One file with the newest values of all.
    Newest(ExpositionFile, Vec<Shown>),
}

/// What is known of a process while its values are written.
struct Subject {
    who: String,
    /// Keeps no values, only what was worth a word.
    notes: Board,
    values: u64,
    heard: Instant,
    told_silent: bool,
    ending: Option<Ending>,
}

/// Writes counters to files.
pub fn collect(args: &CollectArgs) -> Result<(), Failure> {
    let what = What::new(&args.what)?;
    // A tool that ends without ending its session crashes a .NET Core 3.1 process; ending it takes 10 s at most.
    let interrupt = Interrupt::listen(Second::IsIgnored)
        .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let mut targets = Targets::find(&args.target, &interrupt)?;
    let begin = Instant::now();
    let collected = write(args, &what, &targets, &interrupt);
    let started_here = targets.is_started_here();
    targets.farewell();
    let subjects = collected?;
    judge(&subjects, &what, begin.elapsed(), started_here)
}

fn write(
    args: &CollectArgs,
    what: &What,
    targets: &Targets,
    interrupt: &Interrupt,
) -> Result<Vec<Subject>, Failure> {
    let paths = paths(args, &targets.processes)?;
    let sink = match begin(args.format, &paths, what, &targets.processes) {
        Err(WriteError::ReaderGone) => return Ok(Vec::new()),
        Err(WriteError::Failed(failure)) => return Err(failure),
        Ok(sink) => sink,
    };
    announce(what, &targets.processes, &paths);
    let watching = Watching::begin(&targets.processes, what)?;
    let mut collecting = Collecting { sink, subjects: subjects(&targets.processes), watching, what };
    match collecting.run(interrupt) {
        Err(WriteError::Failed(failure)) => return Err(failure),
        Err(WriteError::ReaderGone) => return Ok(Vec::new()),
        Ok(()) => {}
    }
    for line in collecting.summary(&paths) {
        to_stderr(&line);
    }
    Ok(collecting.subjects)
}

struct Collecting<'a> {
    sink: Sink,
    subjects: Vec<Subject>,
    watching: Watching,
    what: &'a What,
}

impl Collecting<'_> {
    fn run(&mut self, interrupt: &Interrupt) -> Result<(), WriteError> {
        let begin = Instant::now();
        let interval = self.what.limits.interval;
        let mut next_write = begin + interval;
        let mut farewell = Farewell::default();
        while self.watching.is_running() {
            let over = self.what.duration.is_some_and(|duration| begin.elapsed() >= duration);
            if over || interrupt.is_asked() {
                self.watching.stop();
                farewell.wait();
            }
            if let Some((index, news)) = self.watching.next(GLANCE) {
                self.hear(index, news)?;
            }
            if Instant::now() >= next_write {
                next_write = Instant::now() + interval;
                self.flush()?;
                self.notice_silence();
            }
        }
        match &mut self.sink {
            Sink::Rows(files) => files.iter_mut().try_for_each(RowFile::finish),
            Sink::Newest(file, processes) => file.write(processes),
        }
    }

    fn hear(&mut self, index: usize, news: News) -> Result<(), WriteError> {
        let Some(subject) = self.subjects.get_mut(index) else { return Ok(()) };
        subject.heard = Instant::now();
        subject.told_silent = false;
        match news {
            News::Ended(ending) => {
                if let (Sink::Newest(_, processes), Ending::Exited | Ending::Refused(_)) =
                    (&mut self.sink, &ending)
                    && let Some(process) = processes.get_mut(index)
                {
                    process.up = false;
                }
                if matches!(ending, Ending::Exited) && self.watching.is_running() {
                    to_stderr(&format!("{} has ended; the others go on\n", subject.who));
                }
                subject.ending = Some(ending);
            }
            News::Told(told) => {
                subject.values += u64::from(matches!(told, Told::Update(_)));
                let note = match (&mut self.sink, told) {
                    (Sink::Rows(files), Told::Update(update)) => {
                        files.get_mut(index).map_or(Ok(()), |file| file.take(&update))?;
                        None
                    }
                    (Sink::Rows(_), told @ Told::Note(_)) => subject.notes.take(told),
                    (Sink::Rows(_), _) => None,
                    (Sink::Newest(_, processes), told) => {
                        let note = processes.get_mut(index).and_then(|process| process.board.take(told));
                        note.and_then(|note| subject.notes.take(Told::Note(note)))
                    }
                };
                if let Some(note) = note {
                    say(&subject.who, &note);
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        match &mut self.sink {
            Sink::Rows(files) => files.iter_mut().try_for_each(RowFile::flush),
            Sink::Newest(file, processes) => file.write(processes),
        }
    }

    fn notice_silence(&mut self) {
        let limit = SILENCE.max(self.what.limits.interval * 5);
        for subject in self.subjects.iter_mut().filter(|subject| subject.ending.is_none()) {
            let silent = subject.heard.elapsed();
            if silent > limit && !subject.told_silent {
                subject.told_silent = true;
                let since = format_duration(Duration::from_secs(silent.as_secs()));
                let who = &subject.who;
                to_stderr(&format!(
                    "no value of {who} for {since}: it is stopped, hangs, or has no such counters\n"
                ));
            }
        }
    }

    fn summary(&self, paths: &[Option<PathBuf>]) -> Vec<String> {
        let values = |subject: &Subject| format!("{} values of {}", subject.values, subject.who);
        match &self.sink {
            Sink::Rows(files) => {
                let each = files.iter().zip(&self.subjects).zip(paths);
                each.filter_map(|((file, subject), path)| {
                    let path = path.as_deref()?.display();
                    Some(format!("{} in {} rows: {path}\n", values(subject), file.rows))
                })
                .collect()
            }
            Sink::Newest(..) => {
                let each: Vec<String> = self.subjects.iter().map(values).collect();
                let path = paths.first().and_then(|path| path.as_deref());
                path.map(|path| format!("{}; the newest are in {}\n", each.join(", "), path.display()))
                    .into_iter()
                    .collect()
            }
        }
    }
}

fn say(who: &str, note: &Note) {
    to_stderr(&format!("{who}: {}\n", printable_within(&note.to_string(), LONGEST_PROSE)));
}

fn subjects(processes: &[DotnetProcess]) -> Vec<Subject> {
    let subject = |process: &DotnetProcess| Subject {
        who: format!("{} (pid {})", printable(&process.name), process.pid),
        notes: Board::default(),
        values: 0,
        heard: Instant::now(),
        told_silent: false,
        ending: None,
    };
    processes.iter().map(subject).collect()
}

fn announce(what: &What, processes: &[DotnetProcess], paths: &[Option<PathBuf>]) {
    let names: Vec<String> = processes
        .iter()
        .map(|process| format!("{} (pid {})", printable(&process.name), process.pid))
        .collect();
    let time = match what.duration {
        Some(duration) => format!("for {}", format_duration(duration)),
        None => "until Ctrl+C".to_owned(),
    };
    let files: Vec<String> = paths.iter().flatten().map(|path| path.display().to_string()).collect();
    let to = if files.is_empty() { String::new() } else { format!(" to {}", files.join(", ")) };
    let providers = printable(&what.providers());
    to_stderr(&format!("collecting {providers} of {}{to} {time}\n", names.join(", ")));
}

/// Where the values of each process go; none is standard output.
fn paths(args: &CollectArgs, processes: &[DotnetProcess]) -> Result<Vec<Option<PathBuf>>, Failure> {
    let is_rows = matches!(args.format, CounterFormat::Csv | CounterFormat::Json);
    let output = args.output.as_deref().unwrap_or(Path::new(DEFAULT_NAME));
    if output.as_os_str().is_empty() {
        return Err(
            Failure::new(Code::BadParameter, "-o needs the name of a file").next("-o - is standard output")
        );
    }
    if output == Path::new("-") {
        if is_rows && processes.len() > 1 {
            return Err(Failure::new(Code::BadParameter, "standard output cannot hold several files")
                .why("CSV and JSON have one file for each process")
                .next("-o FILE, or --format prometheus, which has all in one"));
        }
        return Ok(vec![None]);
    }
    // A device or a pipe is taken as it is.
    if output.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir())
        && (processes.len() == 1 || !is_rows)
    {
        return Ok(vec![Some(output.to_owned())]);
    }
    let extension = match args.format {
        CounterFormat::Csv => "csv",
        CounterFormat::Json => "json",
        CounterFormat::Prometheus => "prom",
        CounterFormat::OpenMetrics => "openmetrics",
    };
    let has_it = output.extension().is_some_and(|found| found == extension);
    // As dotnet-counters does: out.txt becomes out.txt.csv.
    let add = |stem: &Path, more: &str| PathBuf::from(format!("{}.{more}", stem.display()));
    if !is_rows {
        let named = args.output.is_some() && output.extension().is_some();
        return Ok(vec![Some(if named { output.to_owned() } else { add(output, extension) })]);
    }
    if let [_] = processes {
        return Ok(vec![Some(if has_it { output.to_owned() } else { add(output, extension) })]);
    }
    let stem = if has_it { output.with_extension("") } else { output.to_owned() };
    Ok(processes.iter().map(|process| Some(add(&stem, &format!("{}.{extension}", process.pid)))).collect())
}

fn begin(
    format: CounterFormat,
    paths: &[Option<PathBuf>],
    what: &What,
    processes: &[DotnetProcess],
) -> Result<Sink, WriteError> {
    for path in paths.iter().flatten().filter(|path| path.is_file()) {
        to_stderr(&format!("{} is there already and is replaced\n", path.display()));
    }
    let rows = |format| {
        let each = processes.iter().zip(paths);
        let begun = each
            .map(|(process, path)| RowFile::begin(path.clone(), format, &process.name, what.limits.interval));
        begun.collect::<Result<Vec<_>, _>>().map(Sink::Rows)
    };
    let newest = |format| {
        let processes: Vec<Shown> =
            processes.iter().map(|process| shown(process.pid.0, &process.name)).collect();
        let file = ExpositionFile::begin(paths.first().cloned().flatten(), format, &processes)?;
        Ok(Sink::Newest(file, processes))
    };
    match format {
        CounterFormat::Csv => rows(RowFormat::Csv),
        CounterFormat::Json => rows(RowFormat::Json),
        CounterFormat::Prometheus => newest(Exposition::Prometheus),
        CounterFormat::OpenMetrics => newest(Exposition::OpenMetrics),
    }
}

/// Whether it went well. The files are complete in any case.
fn judge(subjects: &[Subject], what: &What, looked: Duration, started_here: bool) -> Result<(), Failure> {
    let kept = |subject: &Subject| format!("{} values came until then; the file is complete", subject.values);
    for subject in subjects {
        match &subject.ending {
            Some(Ending::Refused(error)) => return Err(Failure::no_counter_session(&subject.who, error)),
            Some(Ending::Hung) => return Err(Failure::counters_unanswered(&subject.who, &kept(subject))),
            Some(Ending::Damaged(problem)) => {
                return Err(Failure::new(
                    Code::Unexpected,
                    format!("the events of {}: {problem}", subject.who),
                )
                .why(kept(subject)));
            }
            _ => {}
        }
    }
    // A program that we started may end when it likes; somebody's service may not.
    let ended = subjects.iter().find(|subject| matches!(subject.ending, Some(Ending::Exited)));
    if let Some(subject) = ended.filter(|_| !started_here) {
        return Err(Failure::counters_ended(&subject.who, &kept(subject)));
    }
    match subjects.iter().find(|subject| subject.values == 0) {
        Some(subject) => {
            let notes = subject.notes.notes();
            Err(Failure::no_counters(&subject.who, &what.providers(), notes, what.too_brief(looked)))
        }
        None => Ok(()),
    }
}
