//! What a session is asked for: `--providers`, `--profile`, `--clrevents` and `--rundown` put together.

use diagnostics_ipc::{Provider, Rundown};

use crate::clr_events::parse_clr_events;
use crate::error::RecordingError;
use crate::profile::{CLR_PROVIDER, DEFAULT_PROFILES, Profile, ProfileRundown};
use crate::provider::{higher, parse_providers};

/// The runtime's own choice of rundown events.
const DEFAULT_RUNDOWN: u64 = 0x8002_0139;
/// The first runtime that can choose among rundown events.
const RUNDOWN_BY_KEYWORD_SINCE: u32 = 9;

/// The options as they were typed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// `--providers`
    pub providers: Option<&'a str>,
    /// `--profile`
    pub profiles: Option<&'a str>,
    /// `--clrevents`
    pub clr_events: Option<&'a str>,
    /// `--clreventlevel`
    pub clr_level: Option<&'a str>,
    /// `--rundown`
    pub rundown: Option<bool>,
}

/// Which option a provider comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnabledBy {
    /// `--providers`
    Providers,
    /// `--profile`
    Profile,
    /// `--clrevents`
    ClrEvents,
    /// `--when`: it is needed to see whether a condition holds.
    When,
}

impl EnabledBy {
    /// The option.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            EnabledBy::Providers => "--providers",
            EnabledBy::Profile => "--profile",
            EnabledBy::ClrEvents => "--clrevents",
            EnabledBy::When => "--when",
        }
    }
}

/// A provider and why it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The provider.
    pub provider: Provider,
    /// The options that asked for it.
    pub enabled_by: Vec<EnabledBy>,
}

/// Something about the options that the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Nothing was asked for, so these profiles were taken.
    Defaults,
    /// `--clrevents` counts for nothing beside another choice of the same events.
    ClrEventsIgnored,
    /// A provider is named by its id; runtimes only know names.
    LooksLikeGuid(String),
}

/// What a session is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The providers, in the order in which they were asked for.
    pub providers: Vec<Chosen>,
    /// What the user should know.
    pub remarks: Vec<Remark>,
    rundown: u64,
    /// Without rundown where it cannot be chosen.
    or_none: bool,
}

impl Selection {
    /// Puts the options together.
    pub fn new(asked: &Asked<'_>) -> Result<Selection, RecordingError> {
        let mut selection =
            Selection { providers: Vec::new(), remarks: Vec::new(), rundown: 0, or_none: false };
        let empty = |text: Option<&str>| text.is_none_or(|text| text.trim().is_empty());
        for provider in parse_providers(asked.providers.unwrap_or_default())? {
            if is_guid(&provider.name) {
                selection.remarks.push(Remark::LooksLikeGuid(provider.name.clone()));
            }
            selection.add(provider, EnabledBy::Providers)?;
        }
        let names: Vec<&str> = match asked.profiles {
            Some(profiles) => profiles.split(',').map(str::trim).filter(|name| !name.is_empty()).collect(),
            None if empty(asked.providers) && empty(asked.clr_events) => {
                selection.remarks.push(Remark::Defaults);
                DEFAULT_PROFILES.to_vec()
            }
            None => Vec::new(),
        };
        selection.add_profiles(&names)?;
        if let Some(events) = asked.clr_events.filter(|events| !events.trim().is_empty()) {
            let provider = parse_clr_events(events, asked.clr_level)?;
            if selection.find(CLR_PROVIDER).is_some() {
                selection.remarks.push(Remark::ClrEventsIgnored);
            } else {
                selection.add(provider, EnabledBy::ClrEvents)?;
            }
        }
        if selection.providers.is_empty() {
            return Err(RecordingError::NoProviders);
        }
        if selection.rundown == 0 {
            selection.rundown = DEFAULT_RUNDOWN;
        }
        match asked.rundown {
            Some(true) => {
                (selection.rundown, selection.or_none) = (selection.rundown | DEFAULT_RUNDOWN, false)
            }
            Some(false) => selection.rundown = 0,
            None => {}
        }
        Ok(selection)
    }

    /// Several profiles add up. What `--providers` says of a provider stands against all of them.
    fn add_profiles(&mut self, names: &[&str]) -> Result<(), RecordingError> {
        let explicit: Vec<String> =
            self.providers.iter().map(|chosen| chosen.provider.name.clone()).collect();
        let is_explicit = |name: &str| explicit.iter().any(|explicit| explicit.eq_ignore_ascii_case(name));
        for name in names {
            let profile = Profile::by_name(name)
                .ok_or_else(|| RecordingError::UnknownProfile { name: (*name).to_owned() })?;
            match profile.rundown {
                ProfileRundown::Default => self.rundown |= DEFAULT_RUNDOWN,
                ProfileRundown::OnlyOrNone(keywords) => {
                    self.rundown |= keywords;
                    self.or_none = true;
                }
            }
            for provider in profile.providers.iter().filter(|provider| !is_explicit(provider.name)) {
                self.add(provider.provider(), EnabledBy::Profile)?;
            }
        }
        // Names of methods are wanted by another profile: better all of them than none.
        self.or_none &= self.rundown & DEFAULT_RUNDOWN != DEFAULT_RUNDOWN;
        Ok(())
    }

    fn find(&mut self, name: &str) -> Option<&mut Chosen> {
        self.providers.iter_mut().find(|chosen| chosen.provider.name.eq_ignore_ascii_case(name))
    }

    /// Adds a provider; one that is there already gets all keywords of both and the higher level.
    pub fn add(&mut self, provider: Provider, by: EnabledBy) -> Result<(), RecordingError> {
        let Some(chosen) = self.find(&provider.name) else {
            self.providers.push(Chosen { provider, enabled_by: vec![by] });
            return Ok(());
        };
        let there = &mut chosen.provider;
        there.keywords |= provider.keywords;
        there.level = higher(there.level, provider.level);
        if there.arguments.is_empty() {
            there.arguments = provider.arguments;
        } else if !provider.arguments.is_empty() && provider.arguments != there.arguments {
            return Err(RecordingError::TwiceWithArguments { provider: there.name.clone() });
        }
        if !chosen.enabled_by.contains(&by) {
            chosen.enabled_by.push(by);
        }
        Ok(())
    }

    /// Adds what a condition needs to be seen. Its arguments stand behind those that are there already.
    pub fn add_for_condition(&mut self, mut provider: Provider) -> Result<(), RecordingError> {
        if let Some(chosen) = self.find(&provider.name)
            && !chosen.provider.arguments.is_empty()
        {
            let needed = std::mem::take(&mut provider.arguments);
            let key = needed.split('=').next().unwrap_or_default();
            let there = &mut chosen.provider.arguments;
            if !needed.is_empty() && !there.split(';').any(|pair| pair.split('=').next() == Some(key)) {
                *there = format!("{there};{needed}");
            }
        }
        self.add(provider, EnabledBy::When)
    }

    /// The rundown to ask a runtime of this version for; older ones than 9 cannot choose.
    #[must_use]
    pub fn rundown(&self, runtime_major: Option<u32>) -> Rundown {
        let can_choose = runtime_major.is_some_and(|major| major >= RUNDOWN_BY_KEYWORD_SINCE);
        match self.rundown {
            0 => Rundown::None,
            DEFAULT_RUNDOWN => Rundown::Default,
            keywords if can_choose => Rundown::Keywords(keywords),
            _ if self.or_none => Rundown::None,
            _ => Rundown::Default,
        }
    }

    /// What a runtime of this version names at the end instead of what was asked for; none if it can do as asked.
    #[must_use]
    pub fn steps_down(&self, runtime_major: Option<u32>) -> Option<Rundown> {
        let asked = self.rundown(Some(RUNDOWN_BY_KEYWORD_SINCE));
        Some(self.rundown(runtime_major)).filter(|given| *given != asked)
    }

    /// The providers alone.
    #[must_use]
    pub fn requested(&self) -> Vec<Provider> {
        self.providers.iter().map(|chosen| chosen.provider.clone()).collect()
    }
}

/// `e13c0d23-ccbc-4e12-931b-d9cc2eee27e4`, with or without braces.
fn is_guid(name: &str) -> bool {
    let bare = name.trim_start_matches(['{', '(']).trim_end_matches(['}', ')']);
    let groups: Vec<&str> = bare.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use diagnostics_ipc::Level;

    use super::*;
    use crate::profile::SAMPLE_PROVIDER;

    fn select(asked: Asked<'_>) -> Selection {
        Selection::new(&asked).unwrap()
    }

    fn row(selection: &Selection, name: &str) -> (u64, Level, Vec<EnabledBy>) {
        let chosen = selection.providers.iter().find(|chosen| chosen.provider.name == name).unwrap();
        (chosen.provider.keywords, chosen.provider.level, chosen.enabled_by.clone())
    }

    #[test]
    fn nothing_asked_means_the_default_profiles() {
        let selection = select(Asked::default());
        assert_eq!(selection.remarks, [Remark::Defaults]);
        assert_eq!(
            row(&selection, CLR_PROVIDER),
            (0x10_0003_801D, Level::Informational, vec![EnabledBy::Profile])
        );
        assert_eq!(row(&selection, SAMPLE_PROVIDER).0, 0xF000_0000_0000);
        assert_eq!(selection.rundown(Some(3)), Rundown::Default);
        assert_eq!(select(Asked { profiles: Some("gc-collect"), ..Asked::default() }).remarks, []);
    }

    #[test]
    fn what_is_asked_twice_adds_up() {
        let selection = select(Asked { providers: Some("A:1:2,a:6:4:x=1,A:8:0"), ..Asked::default() });
        assert_eq!(row(&selection, "A"), (0xF, Level::LogAlways, vec![EnabledBy::Providers]));
        assert_eq!(selection.providers[0].provider.arguments, "x=1");
        let error = Selection::new(&Asked { providers: Some("A:1:2:x=1,A:::y=2"), ..Asked::default() });
        assert!(matches!(error, Err(RecordingError::TwiceWithArguments { provider }) if provider == "A"));
        let profiles = select(Asked { profiles: Some("dotnet-common, GC-verbose"), ..Asked::default() });
        assert_eq!(row(&profiles, CLR_PROVIDER).0, 0x10_0003_801F);
        assert_eq!(row(&profiles, CLR_PROVIDER).1, Level::Verbose);
    }

    #[test]
    fn providers_stand_against_profiles_and_both_against_clr_events() {
        let asked = Asked {
            providers: Some("Microsoft-Windows-DotNETRuntime:1:1"),
            profiles: Some("cpu-sampling"),
            clr_events: Some("exception"),
            ..Asked::default()
        };
        let selection = select(asked);
        assert_eq!(row(&selection, CLR_PROVIDER), (1, Level::Critical, vec![EnabledBy::Providers]));
        assert_eq!(row(&selection, SAMPLE_PROVIDER).2, [EnabledBy::Profile]);
        assert_eq!(selection.remarks, [Remark::ClrEventsIgnored]);
        let alone = select(Asked { clr_events: Some("gc"), clr_level: Some("Verbose"), ..Asked::default() });
        assert_eq!(row(&alone, CLR_PROVIDER), (1, Level::Verbose, vec![EnabledBy::ClrEvents]));
    }

    #[test]
    fn rundown_follows_profile_option_and_runtime() {
        let rundown = |profiles, rundown, major| {
            select(Asked { profiles: Some(profiles), rundown, ..Asked::default() }).rundown(major)
        };
        assert_eq!(rundown("gc-collect", None, Some(9)), Rundown::Keywords(1));
        assert_eq!(rundown("gc-collect", None, Some(8)), Rundown::None);
        assert_eq!(rundown("gc-collect", None, None), Rundown::None);
        let gc = select(Asked { profiles: Some("gc-collect"), ..Asked::default() });
        assert_eq!(gc.steps_down(Some(8)), Some(Rundown::None));
        assert_eq!(gc.steps_down(Some(9)), None);
        assert_eq!(select(Asked::default()).steps_down(None), None);
        assert_eq!(rundown("gc-collect", Some(true), Some(8)), Rundown::Default);
        assert_eq!(rundown("gc-collect,dotnet-common", None, Some(8)), Rundown::Default);
        assert_eq!(rundown("dotnet-common", Some(false), Some(10)), Rundown::None);
        assert_eq!(rundown("dotnet-common", None, Some(10)), Rundown::Default);
    }

    #[test]
    fn mistakes() {
        let unknown = Selection::new(&Asked { profiles: Some("gc-verbos"), ..Asked::default() });
        assert!(matches!(unknown, Err(RecordingError::UnknownProfile { name }) if name == "gc-verbos"));
        let none = Selection::new(&Asked { profiles: Some(","), ..Asked::default() });
        assert!(matches!(none, Err(RecordingError::NoProviders)));
        let guid =
            select(Asked { providers: Some("{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4}:1"), ..Asked::default() });
        assert_eq!(guid.remarks.len(), 1);
    }
}
