//! `--keep`: how much of the past a flight recorder holds.

use std::time::Duration;

use model::parse_duration;

use crate::syntax::{Piece, SyntaxError};

const OPTION: &str = "--keep";
const EXPECTED: &str = "a time (60s, 5m), a size (200MB), or both (60s,200MB)";
/// Less than a few seconds cannot be cut out of a stream that comes in pieces.
const SHORTEST: Duration = Duration::from_secs(1);
/// Pieces of a stream have about 100 kB each.
const SMALLEST: u64 = 1_000_000;

/// How much of the past is kept; with both bounds, the narrower one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// At least this long, if there was so much.
    pub time: Option<Duration>,
    /// About so many bytes.
    pub bytes: Option<u64>,
}

impl Keep {
    /// Reads `60s`, `200MB` or `60s,200MB`.
    pub fn parse(text: &str) -> Result<Keep, SyntaxError> {
        let mut keep = Keep { time: None, bytes: None };
        for piece in Piece::whole(OPTION, text).split(|c| c == ',') {
            let piece = piece.trim();
            let twice = |kind: &str| piece.wrong(format!("a second {kind}"), EXPECTED);
            if let Some(bytes) = parse_bytes(piece.text()) {
                if bytes < SMALLEST {
                    return Err(piece.wrong("less than 1MB cannot be kept", EXPECTED));
                }
                if keep.bytes.replace(bytes).is_some() {
                    return Err(twice("size"));
                }
            } else if let Ok(time) = parse_duration(piece.text()) {
                if time < SHORTEST {
                    return Err(piece.wrong("less than a second cannot be kept", EXPECTED));
                }
                if keep.time.replace(time).is_some() {
                    return Err(twice("time"));
                }
            } else {
                let problem = format!("'{}' is neither a time nor a size", piece.text());
                return Err(piece.wrong(problem, EXPECTED));
            }
        }
        Ok(keep)
    }
}

/// A number of bytes with its unit: `500MB`, `1.5 GiB`. A bare number is none, because nobody knows what it counts.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" => 1e6,
        "gb" | "g" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * scale;
    // Beyond it is no disk, and below it every number is exact enough.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
    (0.0..9e15).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        let keep = |time, bytes| Ok(Keep { time, bytes });
        assert_eq!(Keep::parse("60s"), keep(Some(Duration::from_secs(60)), None));
        assert_eq!(Keep::parse("5m"), keep(Some(Duration::from_secs(300)), None));
        assert_eq!(Keep::parse("200MB"), keep(None, Some(200_000_000)));
        assert_eq!(Keep::parse("1.5 GiB, 90"), keep(Some(Duration::from_secs(90)), Some(1_610_612_736)));
    }

    #[test]
    fn mistakes_are_pointed_at() {
        for (text, at, problem) in [
            ("", 0..0, "'' is neither a time nor a size"),
            ("60x", 0..3, "'60x' is neither a time nor a size"),
            ("60s,lots", 4..8, "'lots' is neither a time nor a size"),
            ("60s,2m", 4..6, "a second time"),
            ("200MB,1GB", 6..9, "a second size"),
            ("10KB", 0..4, "less than 1MB cannot be kept"),
            ("100ms", 0..5, "less than a second cannot be kept"),
        ] {
            let error = Keep::parse(text).unwrap_err();
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
        }
    }
}
