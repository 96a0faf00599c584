//! `--clrevents`: groups of the runtime's own events by name, `gc+exception`.

use diagnostics_ipc::{Level, Provider};

use crate::profile::CLR_PROVIDER;
use crate::provider::parse_level;
use crate::syntax::{Piece, SyntaxError};

/// Every name with its keyword.
pub const CLR_EVENTS: &[(&str, u64)] = &[
    ("gc", 0x1),
    ("gchandle", 0x2),
    ("assemblyloader", 0x4),
    ("fusion", 0x4),
    ("loader", 0x8),
    ("jit", 0x10),
    ("ngen", 0x20),
    ("startenumeration", 0x40),
    ("endenumeration", 0x80),
    ("security", 0x400),
    ("appdomainresourcemanagement", 0x800),
    ("jittracing", 0x1000),
    ("interop", 0x2000),
    ("contention", 0x4000),
    ("exception", 0x8000),
    ("threading", 0x1_0000),
    ("jittedmethodiltonativemap", 0x2_0000),
    ("overrideandsuppressngenevents", 0x4_0000),
    ("type", 0x8_0000),
    ("gcheapdump", 0x10_0000),
    ("gcsampledobjectallocationhigh", 0x20_0000),
    ("gcheapsurvivalandmovement", 0x40_0000),
    ("gcheapcollect", 0x80_0000),
    // A slip of older tools that scripts may carry on.
    ("managedheadcollect", 0x80_0000),
    ("gcheapandtypenames", 0x100_0000),
    ("gcsampledobjectallocationlow", 0x200_0000),
    ("perftrack", 0x2000_0000),
    ("stack", 0x4000_0000),
    ("threadtransfer", 0x8000_0000),
    ("debugger", 0x1_0000_0000),
    ("monitoring", 0x2_0000_0000),
    ("codesymbols", 0x4_0000_0000),
    ("eventsource", 0x8_0000_0000),
    ("compilation", 0x10_0000_0000),
    ("compilationdiagnostic", 0x20_0000_0000),
    ("methoddiagnostic", 0x40_0000_0000),
    ("typediagnostic", 0x80_0000_0000),
    ("jitinstrumentationdata", 0x100_0000_0000),
    ("profiler", 0x200_0000_0000),
    ("waithandle", 0x400_0000_0000),
    ("allocationsampling", 0x800_0000_0000),
];

/// The runtime's provider with the groups that are named, separated by `+`.
pub fn parse_clr_events(events: &str, level: Option<&str>) -> Result<Provider, SyntaxError> {
    let mut keywords = 0;
    for name in Piece::whole("--clrevents", events).split(|c| c == '+') {
        let name = name.trim();
        let known = CLR_EVENTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.text()));
        let Some((_, keyword)) = known else {
            let problem = match name.text() {
                "" => "a name is missing".to_owned(),
                text => format!("the runtime has no events called '{text}'"),
            };
            return Err(name.wrong(problem, "names like gc+exception+contention"));
        };
        keywords |= keyword;
    }
    let level = level.filter(|level| !level.is_empty());
    let level =
        level.map_or(Ok(Level::Informational), |text| parse_level(Piece::whole("--clreventlevel", text)))?;
    Ok(Provider::new(CLR_PROVIDER, keywords, level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_keywords() {
        assert_eq!(parse_clr_events("gc+Exception", None).unwrap().keywords, 0x8001);
        let provider = parse_clr_events("waithandle", Some("5")).unwrap();
        assert_eq!((provider.keywords, provider.level), (0x400_0000_0000, Level::Verbose));
        let error = parse_clr_events("gc+excption", None).unwrap_err();
        assert_eq!(
            (error.at, error.problem.as_str()),
            (3..11, "the runtime has no events called 'excption'")
        );
        assert_eq!(parse_clr_events("gc+", None).unwrap_err().at, 3..3);
        assert_eq!(parse_clr_events("gc", Some("loud")).unwrap_err().option, "--clreventlevel");
    }
}
