//! A stored profile for a viewer.

use profile_formats::{Format, Grouping};
use reports::value::format_bytes;
use serde::Serialize;
use stacks::Profile;
use stored_profiles::{Recording, Side};

use super::{Place, opens, row, unit, weight};
use crate::args::trace_convert::ConvertArgs;
use crate::commands::{json, stored_profile};
use crate::control::Interrupt;
use crate::exit_code::Code;
use crate::explain::{Failure, profile_file};
use crate::output;
use crate::screen::Screen;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.profile-conversion/1";

/// Writes one side of a stored profile, or all of it where the format can show that.
pub fn convert(
    args: &ConvertArgs,
    format: &'static Format,
    grouping: Grouping,
    place: &Place,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<(), Failure> {
    if args.stacks.event.is_some() {
        return Err(Failure::new(Code::BadParameter, "a stored profile has samples, and no events")
            .next("leave out --event"));
    }
    let wanted = args.stacks.view.as_deref().map(stored_profile::side).transpose()?;
    let mut recording = stored_profile::read_stored(&args.file)?;
    if let Some(thread) = args.stacks.thread {
        keep_thread(&mut recording, thread);
    }
    let name = args.file.display().to_string();
    let sides = recording.sides();
    let side = wanted.or_else(|| sides.first().copied()).unwrap_or(Side::OnCpu);
    let profile = heaviest(&recording, side).ok_or_else(|| profile_file::no_samples(&name, side, &sides))?;
    let is_whole = format.id == "html" && wanted.is_none() && !args.merged && !args.per_thread;
    let bytes = place.write(interrupt, |to| {
        if is_whole {
            Ok(profile_formats::html::write_recording(&recording, to)?)
        } else {
            format.write(profile, grouping, to)
        }
    })?;
    if args.json && matches!(place, Place::File(_)) {
        output::to_stdout(&json(&StoredJson {
            schema: SCHEMA,
            file: match place {
                Place::File(path) => Some(path.display().to_string()),
                Place::Stdout => None,
            },
            bytes,
            format: format.id,
            merged: grouping == Grouping::Merged,
            sides: if is_whole { sides.iter().map(|side| side.id()).collect() } else { vec![side.id()] },
            process: profile.process.filter(|_| !is_whole),
            unit: unit(profile.weight),
            total: profile.total(),
        })?)?;
    }
    let mut text =
        row("Written", &format!("{} ({}, {})", place.name(), format.title, format_bytes(bytes)), screen);
    if is_whole {
        let titles: Vec<&str> = sides.iter().map(|side| side.title()).collect();
        text += &row("Shows", &format!("{}: {}", recording.name, titles.join(", ")), screen);
    } else {
        let shown = weight(profile.weight, profile.total());
        let threads = match profile.threads.len() {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        text += &row("Shows", &format!("{}: {shown} on {threads}", side.title()), screen);
        let others: Vec<&str> = sides.iter().filter(|other| **other != side).map(|side| side.id()).collect();
        if !others.is_empty() {
            text += &row("Also has", &format!("{}; --view NAME shows them", others.join(", ")), screen);
        }
        if recording.of_side(side).count() > 1 {
            let which = profile.process.map_or_else(String::new, |pid| format!(" {pid}"));
            let words = format!("process{which} is shown, which has most; --format html shows all of them");
            text += &row("Note", &words, screen);
        }
    }
    if let Place::File(path) = place {
        text += &row("Open", &opens(format, path), screen);
    }
    output::to_stderr(&text);
    Ok(())
}

/// The profile of a side that weighs most; there is one for each process.
fn heaviest(recording: &Recording, side: Side) -> Option<&Profile> {
    recording
        .of_side(side)
        .filter(|profile| !profile.samples.is_empty())
        .max_by_key(|profile| profile.total())
}

fn keep_thread(recording: &mut Recording, id: u64) {
    for (_, profile) in &mut recording.profiles {
        let threads = &profile.threads;
        profile
            .samples
            .retain(|sample| threads.get(sample.thread.0 as usize).is_some_and(|thread| thread.id == id));
        profile.tidy();
    }
}

#[derive(Serialize)]
struct StoredJson<'a> {
    schema: &'static str,
    file: Option<String>,
    bytes: u64,
    format: &'a str,
    merged: bool,
    sides: Vec<&'static str>,
    process: Option<u64>,
    unit: &'static str,
    total: u64,
}
