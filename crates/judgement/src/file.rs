//! Cases in files: what a checkup saw can be judged again, by other rules, without the process.

use std::io::Read;

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Case;

/// Name and version of the form. The number goes up when a reader of the old form would be misled.
const SCHEMA: &str = "drdotnet.case/1";
/// A longer text is no case: the largest that was seen has less than a megabyte.
const MAX_BYTES: u64 = 64 << 20;

/// A case with what else stands in its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptCase {
    schema: String,
    /// Version of the tool that took it.
    pub tool_version: String,
    /// Version of the program's runtime, when known.
    #[serde(default)]
    pub runtime_version: Option<String>,
    /// What was seen.
    pub case: Case,
}

/// Why a file is no case that this version can read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaseError {
    /// Not compressed, or damaged.
    #[error("not the file of a case: {0}")]
    Packing(#[from] std::io::Error),
    /// Not the JSON of a case.
    #[error("not a case: {0}")]
    Json(#[from] serde_json::Error),
    /// Longer than any case.
    #[error("not a case: it unpacks to more than {MAX_BYTES} bytes")]
    TooLong,
    /// A case of another version.
    #[error("the case has schema '{0}', this version reads '{SCHEMA}'")]
    Version(String),
}

impl KeptCase {
    /// A case to be kept.
    #[must_use]
    pub fn new(tool_version: &str, runtime_version: Option<&str>, case: Case) -> KeptCase {
        KeptCase {
            schema: SCHEMA.to_owned(),
            tool_version: tool_version.to_owned(),
            runtime_version: runtime_version.map(str::to_owned),
            case,
        }
    }

    /// The content of its file: JSON, compressed with gzip.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CaseError> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        serde_json::to_writer(&mut packed, self)?;
        Ok(packed.finish()?)
    }

    /// Reads the content of its file, which may be hostile.
    pub fn from_bytes(bytes: &[u8]) -> Result<KeptCase, CaseError> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let mut text = Vec::new();
        GzDecoder::new(bytes).take(MAX_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(CaseError::TooLong);
        }
        let head: Head = serde_json::from_slice(&text)?;
        if head.schema != SCHEMA {
            return Err(CaseError::Version(head.schema));
        }
        Ok(serde_json::from_slice(&text)?)
    }
}

#[cfg(test)]
mod tests {
    use facts::{Confidence, Fact, LookFacts, Observation, PauseCause, Severity};

    use super::*;
    use crate::signs::{Course, Frozen, RuntimeSigns, Signs, System, Values};
    use crate::{Look, Untaken, WhyUntaken};

    fn case() -> Case {
        let cause = PauseCause::Collection { generation: Some(1), blocking: true };
        let found = Observation::new("long-gc-pauses", Severity::Warning, Confidence::High)
            .fact(Fact::LongestPause { cause, ns: 120_000_000 })
            .fact(Fact::threads([4711]));
        let mut runtime = RuntimeSigns { given_out: Some(1.5e6), ..RuntimeSigns::default() };
        runtime.counters.insert("alloc-rate".to_owned(), Values(vec![1.0, 2.5]));
        let system = System { resident: Course(vec![1, 2, 3]), ..System::default() };
        let signs = Signs {
            runtime: Some(runtime),
            system: Some(system),
            frozen: Some(Frozen::Traced),
            ..Signs::default()
        };
        let look = Look {
            id: "gc-pauses".to_owned(),
            found: vec![found],
            facts: LookFacts::default(),
            cut_short: false,
        };
        let untaken = Untaken { look: "memory-leaks".to_owned(), why: WhyUntaken::NeedsLeave };
        Case { signs, looks: vec![look], untaken: vec![untaken], ..Case::default() }
    }

    #[test]
    fn a_case_is_read_as_it_was_written() {
        let kept = KeptCase::new("1.2.3", Some("9.0.7"), case());
        let read = KeptCase::from_bytes(&kept.to_bytes().unwrap()).unwrap();
        assert_eq!(read, kept);
        assert_eq!(crate::judge(&read.case), crate::judge(&case()));
    }

    #[test]
    fn what_is_no_case_is_refused() {
        let packed = |text: &[u8]| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            std::io::Write::write_all(&mut packed, text).unwrap();
            packed.finish().unwrap()
        };
        assert!(matches!(KeptCase::from_bytes(b"no gzip"), Err(CaseError::Packing(_))));
        let mut whole = KeptCase::new("1", None, case()).to_bytes().unwrap();
        whole.truncate(whole.len() / 2);
        assert!(matches!(KeptCase::from_bytes(&whole), Err(CaseError::Packing(_))));
        assert!(matches!(KeptCase::from_bytes(&packed(b"{}")), Err(CaseError::Json(_))));
        let other = packed(br#"{"schema": "drdotnet.case/9"}"#);
        assert!(
            matches!(KeptCase::from_bytes(&other), Err(CaseError::Version(found)) if found.ends_with("/9"))
        );
        // A few kilobytes that unpack to more than any case has.
        let bomb = packed(&vec![b' '; usize::try_from(MAX_BYTES).unwrap() + 2]);
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        assert!(matches!(KeptCase::from_bytes(&bomb), Err(CaseError::TooLong)));
    }
}
