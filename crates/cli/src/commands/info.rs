//! `drdotnet info`

use discovery::secrets::{is_secret_name, is_secret_value};
use discovery::{Ability, Access, DotnetProcess, access};
use model::{Redaction, format_duration};
use process_view::Process;
use reports::{printable, printable_within, value};
use serde::Serialize;

use super::json;
use super::ps::ProcessRow;
use crate::args::InfoArgs;
use crate::explain::{Failure, unreachable};
use crate::layout::hanging;
use crate::output;
use crate::redaction;
use crate::screen::Screen;
use crate::selection::select;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.info/1";
/// Beginnings of the variables that change how .NET behaves.
const DOTNET_PREFIXES: [&str; 5] = ["DOTNET_", "COMPLUS_", "CORECLR_", "ASPNETCORE_", "TMPDIR"];
/// Column where the facts begin.
const LABEL: usize = 14;
/// Widest name of a variable that the values of the others are aligned to.
const WIDEST_NAME: usize = 30;
/// Longest command line or value that is shown, in characters.
const LONGEST_VALUE: usize = 4000;
/// Shown in place of a secret.
const HIDDEN: &str = "(hidden; --show-secrets shows it)";

/// Describes one process. What the runtime could not be asked is an error at the end, after all that is known.
pub fn info(args: &InfoArgs, screen: &Screen) -> Result<(), Failure> {
    let mut process = select(&args.target.which())?;
    if !args.show_secrets {
        process.conceal_secrets();
    }
    let environment = environment(&process, args.show_secrets);
    let access = access(&process);
    let answer = if args.json {
        json(&Description::new(&process, &environment, &access))?
    } else {
        text(&process, &environment, &access, screen)
    };
    output::to_stdout(&answer)?;
    unreachable(&process).map_or(Ok(()), Err)
}

/// The runtime's view when it answers, the kernel's otherwise; sorted, those of .NET first, secrets hidden.
fn environment(process: &DotnetProcess, show_secrets: bool) -> Option<Vec<(String, String)>> {
    let asked = match (&process.reach, process.client()) {
        (discovery::Reach::Ready, Some(client)) => client.environment().ok(),
        _ => None,
    };
    let from_kernel = || process.visible.then(|| Process::new(process.pid).environment().ok()).flatten();
    let mut variables = asked.or_else(from_kernel)?;
    variables.sort_by(|(a, _), (b, _)| (!is_about_dotnet(a), a).cmp(&(!is_about_dotnet(b), b)));
    let redaction = redaction::chosen();
    for (_, value) in &mut variables {
        *value = redaction.text(value);
    }
    if !show_secrets && redaction == Redaction::Off {
        for (name, value) in &mut variables {
            if (is_secret_name(name) || is_secret_value(value)) && !value.is_empty() {
                HIDDEN.clone_into(value);
            }
        }
    }
    Some(variables)
}

fn is_about_dotnet(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    DOTNET_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[derive(Serialize)]
struct Description<'a> {
    schema: &'static str,
    process: ProcessRow,
    operating_system: Option<&'a str>,
    access: Vec<AccessRow<'a>>,
    environment: Option<std::collections::BTreeMap<&'a str, &'a str>>,
}

#[derive(Serialize)]
struct AccessRow<'a> {
    id: &'a str,
    what: &'a str,
    ability: &'static str,
    needs: Option<&'a str>,
}

impl<'a> Description<'a> {
    fn new(
        process: &'a DotnetProcess,
        environment: &'a Option<Vec<(String, String)>>,
        access: &'a [Access],
    ) -> Description<'a> {
        let pairs = |list: &'a Vec<(String, String)>| {
            list.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
        };
        Description {
            schema: SCHEMA,
            process: ProcessRow::from(process),
            operating_system: process.info.as_ref().map(|info| info.operating_system.as_str()),
            access: access.iter().map(access_row).collect(),
            environment: environment.as_ref().map(pairs),
        }
    }
}

fn access_row(access: &Access) -> AccessRow<'_> {
    let (ability, needs) = words(&access.ability);
    AccessRow { id: access.id, what: access.what, ability, needs }
}

fn words(ability: &Ability) -> (&'static str, Option<&str>) {
    match ability {
        Ability::Yes => ("yes", None),
        Ability::Partly(needs) => ("partly", Some(needs)),
        Ability::No(needs) => ("no", Some(needs)),
    }
}

fn text(
    process: &DotnetProcess,
    environment: &Option<Vec<(String, String)>>,
    access: &[Access],
    screen: &Screen,
) -> String {
    let fit = |indent, text: &str| hanging(indent, &printable_within(text, LONGEST_VALUE), screen.width());
    let mut text = String::new();
    for (label, value) in facts(process) {
        text += &format!("{label:<LABEL$}{}\n", fit(LABEL, &value));
    }
    text += "\nWhat you can collect from it\n";
    for item in access {
        let (ability, needs) = words(&item.ability);
        text += &format!("  {ability:<8}{}\n", item.what);
        if let Some(needs) = needs {
            text += &format!("          {}\n", fit(10, needs));
        }
    }
    match environment {
        Some(variables) => {
            text += &format!("\nEnvironment ({} variables)\n", variables.len());
            let names = variables.iter().map(|(name, _)| printable(name).chars().count());
            let column = names.filter(|width| *width <= WIDEST_NAME).max().unwrap_or(0) + 4;
            for (name, value) in variables {
                let name = format!("  {}  ", printable(name));
                let line = format!("{name:<column$}{}", fit(column.max(name.chars().count()), value));
                text += &format!("{}\n", line.trim_end());
            }
        }
        None => text += "\nEnvironment: not readable by this user\n",
    }
    text
}

fn facts(process: &DotnetProcess) -> Vec<(&'static str, String)> {
    let unknown = || "unknown".to_owned();
    let mut facts = vec![
        ("Process", format!("{} {}", process.pid, process.name)),
        ("Command", process.command_line.clone()),
        (
            "Runtime",
            process.runtime_version.clone().map_or_else(unknown, |version| format!(".NET {version}")),
        ),
        ("Architecture", process.architecture.clone().unwrap_or_else(unknown)),
    ];
    let mut add = |label, value: Option<String>| facts.extend(value.map(|value| (label, value)));
    add("RID", process.runtime_identifier.clone());
    add("User", process.user.as_ref().map(|user| format!("{} ({})", user.shown(), user.id)));
    add(
        "Started",
        process
            .started_at
            .zip(process.uptime)
            .map(|(start, age)| format!("{}, {} ago", value::format_time(start), format_duration(age))),
    );
    add(
        "CPU",
        process.cpu.zip(process.cpu_percent()).map(|(time, percent)| {
            format!("{} in all, {percent:.1} % of one CPU since its start", format_duration(time))
        }),
    );
    add("Memory", process.memory.map(|bytes| format!("{} resident", value::format_bytes(bytes))));
    add("Threads", process.threads.map(|count| count.to_string()));
    add(
        "Container",
        process
            .container
            .clone()
            .map(|container| format!("{container} (its own pid there: {})", process.pid_inside)),
    );
    add("Socket", process.endpoint.as_ref().map(|endpoint| endpoint.path().display().to_string()));
    facts
}
