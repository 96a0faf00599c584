//! Numbers in sentences.

/// Bytes, such as `1.5 MB`.
pub(crate) fn bytes(bytes: f64) -> String {
    let mut value = bytes.max(0.0);
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1000.0 {
            let digits = usize::from(value < 10.0 && unit != "B");
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// Per cent, such as `0.4 %` or `37 %`.
pub(crate) fn percent(percent: f64) -> String {
    let digits = usize::from(percent < 10.0 && percent > 0.0);
    format!("{percent:.digits$} %")
}

/// A number per second.
pub(crate) fn rate(rate: f64) -> String {
    let digits = usize::from(rate < 10.0 && rate > 0.0);
    format!("{rate:.digits$} a second")
}

/// A count with its noun.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(bytes(1_500_000.0), "1.5 MB");
        assert_eq!(bytes(12.0), "12 B");
        assert_eq!(percent(0.42), "0.4 %");
        assert_eq!(percent(37.4), "37 %");
        assert_eq!(rate(0.0), "0 a second");
        assert_eq!(counted(1, "look", "looks"), "1 look");
    }
}
