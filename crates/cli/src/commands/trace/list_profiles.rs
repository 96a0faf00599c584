//! `drdotnet trace list-profiles`

use serde::Serialize;
use trace_recording::{DEFAULT_PROFILES, PROFILES, Profile, ProfileRundown};

use crate::args::trace::ListProfilesArgs;
use crate::commands::json;
use crate::explain::Failure;
use crate::layout::hanging;
use crate::output;
use crate::screen::Screen;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.trace-profiles/1";

/// Lists the profiles.
pub fn list_profiles(args: &ListProfilesArgs, screen: &Screen) -> Result<(), Failure> {
    if args.json {
        let list = List { schema: SCHEMA, profiles: PROFILES.iter().map(Row::new).collect() };
        return output::to_stdout(&json(&list)?);
    }
    let width = screen.list_style().width;
    let mut text = String::new();
    for profile in PROFILES {
        let is_default = if is_default(profile) { "  (default)" } else { "" };
        text +=
            &format!("{}{is_default}\n  {}\n", profile.name, hanging(2, profile.description, Some(width)));
        for provider in profile.providers {
            let more = if provider.arguments.is_empty() { "" } else { ":..." };
            text +=
                &format!("    {}:0x{:X}:{}{more}\n", provider.name, provider.keywords, provider.level as u8);
        }
    }
    let next = "drdotnet trace collect -p PID --profile NAME[,NAME]   records them; --providers takes lines as above";
    output::to_stdout(&format!("{text}\n{}\n", hanging(0, next, Some(width))))
}

fn is_default(profile: &Profile) -> bool {
    DEFAULT_PROFILES.contains(&profile.name)
}

#[derive(Serialize)]
struct List {
    schema: &'static str,
    profiles: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    description: &'static str,
    default: bool,
    rundown: &'static str,
    providers: Vec<ProviderRow>,
}

#[derive(Serialize)]
struct ProviderRow {
    name: &'static str,
    keywords: String,
    level: u8,
    arguments: &'static str,
}

impl Row {
    fn new(profile: &Profile) -> Row {
        Row {
            name: profile.name,
            description: profile.description,
            default: is_default(profile),
            rundown: match profile.rundown {
                ProfileRundown::Default => "default",
                ProfileRundown::OnlyOrNone(_) => "chosen-or-none",
            },
            providers: profile
                .providers
                .iter()
                .map(|provider| ProviderRow {
                    name: provider.name,
                    keywords: format!("0x{:X}", provider.keywords),
                    level: provider.level as u8,
                    arguments: provider.arguments,
                })
                .collect(),
        }
    }
}
