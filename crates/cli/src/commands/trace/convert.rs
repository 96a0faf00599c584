//! `drdotnet trace convert`

mod stored;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Unit, format_duration};
use profile_formats::{FORMATS, Format, FormatError, Grouping};
use reports::value::{format_bytes, format_whole};
use serde::Serialize;
use stacks::{Profile, Weight};
use trace_views::{Detail, Lines, Reading, View};

use super::trace_file::{self, SummaryJson};
use crate::args::trace_convert::ConvertArgs;
use crate::commands::{json, stored_profile};
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::layout::hanging;
use crate::output::{self, Keeping, Stoppable};
use crate::screen::Screen;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.trace-conversion/1";

/// Writes the stacks of a trace in another format.
pub fn convert(args: &ConvertArgs, screen: &Screen) -> Result<(), Failure> {
    let format = profile_formats::by_id(&args.format).ok_or_else(|| unknown_format(&args.format))?;
    let grouping = match (args.merged, args.per_thread) {
        (true, _) => Grouping::Merged,
        (_, true) => Grouping::PerThread,
        _ => format.usual_grouping(),
    };
    let interrupt = Interrupt::listen(Second::EndsAtOnce)
        .map_err(|error| Failure::new(Code::Unexpected, format!("listening for Ctrl+C: {error}")))?;
    let place = Place::new(&args.file, args.output.as_deref(), format)?;
    if stored_profile::is_stored(&args.file) {
        return stored::convert(args, format, grouping, &place, &interrupt, screen);
    }
    let detail = if format.is_time_line { Detail::TimeLine } else { Detail::Totals };
    let lines = if format.has_lines { Lines::Apart } else { Lines::Merged };
    let (profile, reading) = trace_file::read_stacks(&args.file, &args.stacks, detail, lines)?;
    let written = Written { format, grouping, profile: &profile, reading: &reading };
    let bytes = written.write_to(&place, &interrupt)?;
    if args.json && matches!(place, Place::File(_)) {
        output::to_stdout(&json(&written.json(&place, bytes))?)?;
    }
    output::to_stderr(&written.text(&place, bytes, screen));
    Ok(())
}

fn unknown_format(id: &str) -> Failure {
    let ids: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
    let failure = Failure::new(Code::UnknownProfiler, format!("there is no format '{id}'"));
    let failure = if id.eq_ignore_ascii_case("nettrace") {
        failure.why("a trace is already in this format")
    } else {
        failure
    };
    failure.next(format!("the formats are: {}", ids.join(", ")))
}

/// Where the result goes.
enum Place {
    File(PathBuf),
    Stdout,
}

impl Place {
    fn new(input: &Path, output: Option<&Path>, format: &Format) -> Result<Place, Failure> {
        let path = match output {
            Some(path) if path.as_os_str() == "-" => return Ok(Place::Stdout),
            // A device or a pipe has the name it has.
            Some(path) if path.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir()) => {
                path.to_owned()
            }
            Some(path) if path.is_dir() => {
                with_extension(&path.join(input.file_name().unwrap_or_default()), format)
            }
            Some(path) => with_extension(path, format),
            None => with_extension(input, format),
        };
        let is_input = std::fs::canonicalize(&path)
            .is_ok_and(|path| std::fs::canonicalize(input).is_ok_and(|input| input == path));
        if is_input {
            return Err(Failure::new(
                Code::BadParameter,
                format!("{} would be overwritten by itself", path.display()),
            )
            .next("choose another name with -o FILE"));
        }
        Ok(Place::File(path))
    }

    /// Writes something there; the number of bytes.
    fn write(
        &self,
        interrupt: &Interrupt,
        make: impl FnOnce(&mut dyn Write) -> Result<(), FormatError>,
    ) -> Result<u64, Failure> {
        let mut bytes = 0;
        let mut refused = None;
        let write = |to: &mut dyn Write| {
            let mut to = Stoppable::new(to, interrupt);
            let result = make(&mut to);
            bytes = to.bytes;
            match result {
                Ok(()) => Ok(()),
                Err(FormatError::Write(error)) => Err(error),
                Err(error @ FormatError::NoMergedForm { .. }) => {
                    refused = Some(error.to_string());
                    Err(std::io::Error::other("refused"))
                }
            }
        };
        let result = match self {
            Place::File(path) => output::stream_to_file(path, Keeping::Repeatable, write),
            Place::Stdout => match write(&mut std::io::stdout().lock()) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    Err(Failure::new(Code::Disk, format!("writing to standard output: {error}")))
                }
                _ => Ok(()),
            },
        };
        match refused {
            Some(reason) => Err(Failure::new(Code::BadParameter, reason).next("leave out --merged")),
            None => result.map(|()| bytes),
        }
    }

    /// What it is called.
    fn name(&self) -> String {
        match self {
            Place::File(path) => path.display().to_string(),
            Place::Stdout => "standard output".to_owned(),
        }
    }
}

/// The name with the extension of the format: instead of the one it has, as dotnet-trace does it.
fn with_extension(path: &Path, format: &Format) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.to_ascii_lowercase().ends_with(&format!(".{}", format.extension)) {
        return path.to_owned();
    }
    path.with_extension(format.extension)
}

/// What is written.
struct Written<'a> {
    format: &'static Format,
    grouping: Grouping,
    profile: &'a Profile,
    reading: &'a Reading,
}

impl Written<'_> {
    /// Writes it; the number of bytes.
    fn write_to(&self, place: &Place, interrupt: &Interrupt) -> Result<u64, Failure> {
        place.write(interrupt, |to| self.format.write(self.profile, self.grouping, to))
    }

    fn title(&self) -> String {
        self.reading.view.map_or_else(|| self.profile.title.clone(), |view| view.title().to_owned())
    }

    fn text(&self, place: &Place, bytes: u64, screen: &Screen) -> String {
        let summary = &self.reading.summary;
        let mut text = String::new();
        let mut row = |title: &str, words: &str| text += &row(title, words, screen);
        row("Written", &format!("{} ({}, {})", place.name(), self.format.title, format_bytes(bytes)));
        row("Shows", &self.shows());
        let others: Vec<String> = summary
            .views
            .iter()
            .filter(|count| Some(count.view) != self.reading.view)
            .map(|count| {
                format!(
                    "{} ({} {})",
                    count.view.id(),
                    format_whole(count.events, Unit::Count),
                    count.view.events()
                )
            })
            .collect();
        if !others.is_empty() {
            row("Also has", &format!("{}; --view NAME shows them", others.join(", ")));
        }
        for (place, loss) in trace_file::losses(summary).iter().enumerate() {
            row(if place == 0 { "Lost" } else { "" }, loss);
        }
        if let Some(advice) = trace_file::advice(summary) {
            row("", advice);
        }
        if let Some(caveat) = trace_file::caveat(self.reading.view, summary) {
            row("Note", caveat);
        }
        if let Place::File(path) = place {
            row("Open", &opens(self.format, path));
        }
        text
    }

    fn shows(&self) -> String {
        let summary = &self.reading.summary;
        let total = weight(self.profile.weight, self.profile.total());
        let threads = match self.profile.threads.len() {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        let (events, noun) = match self.reading.view {
            Some(view) => (summary.count(view), view.events()),
            None => (self.profile.total(), "events"),
        };
        let events = format_whole(events, Unit::Count);
        let length = format_duration(Duration::from_nanos(summary.duration_ns));
        format!("{}: {total} from {events} {noun} on {threads}, recorded for {length}", self.title())
    }

    fn json<'a>(&'a self, place: &Place, bytes: u64) -> ConversionJson<'a> {
        ConversionJson {
            schema: SCHEMA,
            file: match place {
                Place::File(path) => Some(path.display().to_string()),
                Place::Stdout => None,
            },
            bytes,
            format: self.format.id,
            merged: self.grouping == Grouping::Merged,
            view: self.reading.view.map(View::id),
            unit: unit(self.profile.weight),
            total: self.profile.total(),
            trace: SummaryJson::new(&self.reading.summary),
        }
    }
}

/// A line of what is told.
fn row(title: &str, words: &str, screen: &Screen) -> String {
    let words = hanging(10, &reports::printable_within(words, 1000), screen.error_width());
    format!("{title:<9} {words}\n")
}

/// A weight, as people read it.
pub fn weight(kind: Weight, total: u64) -> String {
    match kind {
        Weight::Nanoseconds => format_duration(Duration::from_nanos(total)),
        Weight::Bytes => format_bytes(total),
        Weight::Count => format_whole(total, Unit::Count),
    }
}

/// What weights are, in JSON.
fn unit(weight: Weight) -> &'static str {
    match weight {
        Weight::Nanoseconds => "nanoseconds",
        Weight::Bytes => "bytes",
        Weight::Count => "count",
    }
}

/// How to look at a file.
fn opens(format: &Format, path: &Path) -> String {
    let how = format.opens.replace("FILE", &path.display().to_string());
    if how.contains("https://") { format!("{how} (read in your browser, not uploaded)") } else { how }
}

#[derive(Serialize)]
struct ConversionJson<'a> {
    schema: &'static str,
    file: Option<String>,
    bytes: u64,
    format: &'a str,
    merged: bool,
    view: Option<&'static str>,
    unit: &'static str,
    total: u64,
    trace: SummaryJson,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_is_replaced() {
        let speedscope = profile_formats::by_id("speedscope").unwrap();
        let name = |text: &str| with_extension(Path::new(text), speedscope).display().to_string();
        assert_eq!(name("dir/app_20261115.nettrace"), "dir/app_20261115.speedscope.json");
        assert_eq!(name("out"), "out.speedscope.json");
        assert_eq!(name("out.json"), "out.speedscope.json");
        assert_eq!(name("out.speedscope.json"), "out.speedscope.json");
        let svg = profile_formats::by_id("flamegraph").unwrap();
        assert_eq!(with_extension(Path::new("my.svg"), svg), Path::new("my.svg"));
    }
}
