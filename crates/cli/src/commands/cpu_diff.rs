//! `drdotnet cpu diff`

use std::io::Write;
use std::path::Path;

use profile_diff::{By, DiffError, Difference, diff};

use super::gcdump::host;
use super::stored_profile;
use crate::args::cpu_diff::{ByChoice, CpuDiffArgs};
use crate::exit_code::Code;
use crate::explain::{Failure, profile_file};
use crate::output::{self, Keeping};
use crate::screen::Screen;

/// What a file of a difference can be, by the end of its name.
const DRAWN: [&str; 2] = ["html", "svg"];

/// Says what got slower, and draws it.
pub fn cpu_diff(args: &CpuDiffArgs, screen: &Screen) -> Result<(), Failure> {
    let side = stored_profile::side(&args.side)?;
    let kind = args.output.as_deref().map(kind_of).transpose()?;
    let before = stored_profile::find(&args.before)?;
    let after = stored_profile::find(&args.after)?;
    let by = args.by.map(|by| match by {
        ByChoice::Time => By::Time,
        ByChoice::Total => By::Total,
    });
    let difference = diff(&before, &after, side, by).map_err(|error| match error {
        DiffError::NoSamples { is_first, sides } => {
            let name = if is_first { &args.before } else { &args.after };
            profile_file::no_samples(name, side, &sides)
        }
        DiffError::NoTimes => Failure::new(Code::BadParameter, "these two cannot be compared by time")
            .why("folded stacks do not say how long they took")
            .next("leave out --by, or use --by total"),
    })?;
    let mut report = difference.report(args.top, env!("CARGO_PKG_VERSION"));
    report.cost.host = host();
    match (args.output.as_deref(), kind) {
        (Some(path), Some(Kind::Report(format))) => output::to_file(path, &format.render(&report))?,
        (Some(path), Some(Kind::Drawn(kind))) => draw(&difference, kind, path)?,
        _ if args.json => return output::to_stdout(&reports::json::render(&report)),
        _ => return output::to_stdout(&reports::terminal::render(&report, &screen.report_style())),
    }
    if let Some(path) = &args.output {
        output::to_stderr(&format!("wrote {}\n", path.display()));
    }
    if args.json { output::to_stdout(&reports::json::render(&report)) } else { Ok(()) }
}

enum Kind {
    Drawn(&'static str),
    Report(&'static reports::Format),
}

fn kind_of(path: &Path) -> Result<Kind, Failure> {
    let extension = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    if let Some(kind) = DRAWN.into_iter().find(|kind| *kind == extension) {
        return Ok(Kind::Drawn(kind));
    }
    let report = reports::FORMATS.iter().find(|format| format.extension == extension);
    report.map(Kind::Report).ok_or_else(|| {
        let what = format!("the name {} does not say what to write", path.display());
        Failure::new(Code::BadParameter, what)
            .next("end it in .html or .svg for a picture, or in .md, .txt or .json for the report")
    })
}

fn draw(difference: &Difference<'_>, kind: &str, path: &Path) -> Result<(), Failure> {
    output::stream_to_file(path, Keeping::Repeatable, |to: &mut dyn Write| match kind {
        "svg" => difference.write_svg(to),
        _ => difference.write_page(to),
    })
}
