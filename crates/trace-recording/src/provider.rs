//! `--providers`: `Name[:Keywords[:Level[:key=value;key=value]]]`, separated by commas.

use diagnostics_ipc::{Level, Provider};

use crate::syntax::{Piece, SyntaxError};

const OPTION: &str = "--providers";
const LEVELS: &str = "0 to 5, or LogAlways, Critical, Error, Warning, Informational, Verbose";

/// Reads a list of providers as dotnet-trace does, with one addition: a comma inside double quotes does not end a
/// provider. Where nothing is said, keywords are 0 and the level is Informational.
pub fn parse_providers(text: &str) -> Result<Vec<Provider>, SyntaxError> {
    let mut quoted = false;
    let entries = Piece::whole(OPTION, text).split(|c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    if quoted {
        let open = text.rfind('"').unwrap_or(0);
        return Err(Piece::whole(OPTION, text)
            .part(open..open + 1)
            .wrong("this quote is not closed", "another \""));
    }
    entries.into_iter().map(Piece::trim).filter(|entry| !entry.is_empty()).map(provider).collect()
}

fn provider(entry: Piece<'_>) -> Result<Provider, SyntaxError> {
    let (name, rest) = entry.cut(':');
    if name.is_empty() {
        return Err(name.wrong("a provider has no name", "Name[:Keywords[:Level[:key=value;...]]]"));
    }
    let (keywords, rest) = rest.map_or((None, None), |rest| split(rest.cut(':')));
    let (level, arguments) = rest.map_or((None, None), |rest| split(rest.cut(':')));
    let keywords = keywords.filter(|piece| !piece.is_empty()).map_or(Ok(0), parse_keywords)?;
    let level = level.filter(|piece| !piece.is_empty()).map_or(Ok(Level::Informational), parse_level)?;
    let arguments = arguments.filter(|piece| !piece.is_empty()).map_or(Ok(String::new()), arguments_of)?;
    Ok(Provider { arguments, ..Provider::new(name.trim().text(), keywords, level) })
}

fn split<'a>((first, rest): (Piece<'a>, Option<Piece<'a>>)) -> (Option<Piece<'a>>, Option<Piece<'a>>) {
    (Some(first), rest)
}

/// Always hexadecimal; `0x` may stand before it.
fn parse_keywords(piece: Piece<'_>) -> Result<u64, SyntaxError> {
    let piece = piece.trim();
    let text = piece.text();
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let before = text.len() - digits.len();
    if let Some(at) = digits.find(|c: char| !c.is_ascii_hexdigit()) {
        let wrong = digits.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        return Err(piece
            .part(before + at..before + at + wrong)
            .wrong(format!("'{text}' are no keywords"), "a hexadecimal number: 0x8003 or 8003"));
    }
    u64::from_str_radix(digits, 16).map_err(|_| match digits {
        "" => piece.wrong("the keywords have no digits", "a hexadecimal number: 0x8003 or 8003"),
        _ => piece.wrong("the keywords have more than 64 bits", "at most 16 hexadecimal digits"),
    })
}

pub(crate) fn parse_level(piece: Piece<'_>) -> Result<Level, SyntaxError> {
    let piece = piece.trim();
    if let Ok(number) = piece.text().parse::<u32>() {
        return Ok(match number {
            0 => Level::LogAlways,
            1 => Level::Critical,
            2 => Level::Error,
            3 => Level::Warning,
            4 => Level::Informational,
            // As dotnet-trace has it: more than everything is everything.
            _ => Level::Verbose,
        });
    }
    Ok(match piece.text().to_ascii_lowercase().as_str() {
        "logalways" => Level::LogAlways,
        "critical" => Level::Critical,
        "error" => Level::Error,
        "warning" => Level::Warning,
        "informational" => Level::Informational,
        "verbose" => Level::Verbose,
        _ => return Err(piece.wrong(format!("'{}' is no level", piece.text()), LEVELS)),
    })
}

/// What a level is called.
#[must_use]
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::LogAlways => "LogAlways",
        Level::Critical => "Critical",
        Level::Error => "Error",
        Level::Warning => "Warning",
        Level::Informational => "Informational",
        Level::Verbose => "Verbose",
    }
}

/// Arguments as the runtime wants them: values with `;` or `=` in quotes, others without.
fn arguments_of(piece: Piece<'_>) -> Result<String, SyntaxError> {
    // A quote that the shell was told to leave alone (`\"`) is a quote.
    let mut quoted = false;
    let pairs = piece.split(|c| {
        quoted ^= c == '"';
        c == ';' && !quoted
    });
    let mut keys: Vec<String> = Vec::new();
    let mut arguments = Vec::new();
    for pair in pairs.into_iter().filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.cut('=');
        let Some(value) = value else {
            return Err(pair.wrong(format!("'{}' has no value", pair.text()), "key=value;key=value"));
        };
        if key.is_empty() {
            return Err(key.wrong("a value has no name", "key=value;key=value"));
        }
        let (name, value) = (unescape(key.text()), unescape(value.text()));
        if keys.contains(&name) {
            return Err(key.wrong(format!("'{name}' is given twice"), "every key once"));
        }
        arguments.push(format!("{}={}", quote(&name), quote(unquote(&value))));
        keys.push(name);
    }
    Ok(arguments.join(";"))
}

/// Shells leave `\"` where a quote was meant; line ends can only be typed this way.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            (c, false) => c,
        });
    }
    plain
}

fn unquote(text: &str) -> &str {
    text.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(text)
}

fn quote(text: &str) -> String {
    if text.contains([';', '=']) { format!("\"{text}\"") } else { text.to_owned() }
}

/// The level that gives more: LogAlways lets everything pass.
pub(crate) fn higher(a: Level, b: Level) -> Level {
    if a == Level::LogAlways || b == Level::LogAlways { Level::LogAlways } else { a.max(b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Provider {
        let providers = parse_providers(text).unwrap();
        assert_eq!(providers.len(), 1, "{providers:?}");
        providers.into_iter().next().unwrap()
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        for (text, keywords, level) in [
            ("P", 0, Level::Informational),
            ("P:", 0, Level::Informational),
            ("P:::", 0, Level::Informational),
            ("P:1F", 0x1F, Level::Informational),
            ("P:0xF00000000000:5", 0xF000_0000_0000, Level::Verbose),
            ("P::Critical", 0, Level::Critical),
            ("P:0X10:warning", 0x10, Level::Warning),
            ("P:ffffffffffffffff:0", u64::MAX, Level::LogAlways),
            (" P : 3 : 99 ", 3, Level::Verbose),
            ("P,,", 0, Level::Informational),
        ] {
            assert_eq!(one(text), Provider::new("P", keywords, level), "{text}");
        }
        assert_eq!(parse_providers("A:1,B:2:5").unwrap().len(), 2);
        assert_eq!(parse_providers(" , ").unwrap(), []);
    }

    #[test]
    fn arguments_are_as_the_runtime_wants_them() {
        for (text, arguments) in [
            ("P:::EventCounterIntervalSec=1", "EventCounterIntervalSec=1"),
            ("P:0:4:a=1;b=2;", "a=1;b=2"),
            ("P:::a=\"x;y=z\";b=2", "a=\"x;y=z\";b=2"),
            (r#"P:::a=\"x;y\""#, "a=\"x;y\""),
            ("P:::a=\"1,2\"", "a=1,2"),
            (r"P:::Filter=one\r\ntwo", "Filter=one\r\ntwo"),
            ("P:::Specs=\"A/B:-C=D.E;\"", "Specs=\"A/B:-C=D.E;\""),
            ("P:::a=b:c", "a=b:c"),
        ] {
            assert_eq!(one(text).arguments, arguments, "{text}");
        }
    }

    #[test]
    fn a_mistake_is_pointed_at() {
        for (text, wrong, problem) in [
            ("P:0x1G:4", "G", "'0x1G' are no keywords"),
            ("Good:1:4,P:gc:4", "g", "'gc' are no keywords"),
            ("P:0x:4", "0x", "the keywords have no digits"),
            ("P:12345678901234567", "12345678901234567", "the keywords have more than 64 bits"),
            ("P:1:loud", "loud", "'loud' is no level"),
            ("P:1:-1", "-1", "'-1' is no level"),
            ("A,:1:4", "", "a provider has no name"),
            ("P:1:4:interval", "interval", "'interval' has no value"),
            ("P:1:4:=1", "", "a value has no name"),
            ("P:1:4:a=1;a=2", "a", "'a' is given twice"),
            ("P:1:4:a=\"x", "\"", "this quote is not closed"),
        ] {
            let error = parse_providers(text).unwrap_err();
            assert_eq!((&text[error.at.clone()], error.problem.as_str()), (wrong, problem), "{text}");
        }
        assert_eq!(parse_providers("A,:1:4").unwrap_err().at, 2..2);
        assert_eq!(parse_providers("P:1:4:a=1;a=2").unwrap_err().at, 10..11);
    }
}
