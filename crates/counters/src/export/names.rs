//! Names of metrics for Prometheus.

/// Longest name. Nobody reads longer ones, and a hostile one may be of any length.
const LONGEST: usize = 200;

/// Units that Prometheus has words for; others are left out of the name.
const UNITS: [(&str, &str); 12] = [
    ("By", "bytes"),
    ("B", "bytes"),
    ("KB", "kilobytes"),
    ("MB", "megabytes"),
    ("GB", "gigabytes"),
    ("s", "seconds"),
    ("sec", "seconds"),
    ("ms", "milliseconds"),
    ("msec", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
    ("%", "percent"),
];

/// The word for a unit.
pub(crate) fn unit(unit: Option<&str>) -> Option<&'static str> {
    UNITS.iter().find(|(short, _)| Some(*short) == unit).map(|(_, word)| *word)
}

/// The name of a counter: provider, name and unit, in small letters and with underscores.
pub(crate) fn family(provider: &str, name: &str, unit: Option<&str>) -> String {
    let mut family = identifier(&format!("{provider}_{name}"));
    if let Some(unit) = unit.filter(|unit| !family.ends_with(&format!("_{unit}"))) {
        family = format!("{family}_{unit}");
    }
    family
}

/// Letters, digits and single underscores, not beginning with a digit.
pub(crate) fn identifier(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= LONGEST {
            break;
        }
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('_') && !out.is_empty() {
            out.push('_');
        }
    }
    let out = out.trim_end_matches('_');
    match out.chars().next() {
        None => "unnamed".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{out}"),
        Some(_) => out.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_prometheus_takes() {
        assert_eq!(
            family("System.Runtime", "cpu-usage", unit(Some("%"))),
            "system_runtime_cpu_usage_percent"
        );
        assert_eq!(family("P", "size.bytes", unit(Some("By"))), "p_size_bytes");
        assert_eq!(family("P", "x", unit(Some("{ticket}"))), "p_x");
        assert_eq!(identifier("9 lives\n{}\""), "_9_lives");
        assert_eq!(identifier("çøü"), "unnamed");
        assert_eq!(identifier(&"a".repeat(9999)).len(), LONGEST);
    }
}
