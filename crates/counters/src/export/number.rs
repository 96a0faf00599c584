//! Numbers as .NET writes them.

/// Above this, and below its counterpart, .NET writes powers of ten.
const LARGE: f64 = 1e15;
const SMALL: f64 = 1e-4;

/// A number as `Double.ToString` writes it without a culture: the shortest digits that read back the same.
pub(crate) fn dotnet(value: f64) -> String {
    let size = value.abs();
    match () {
        () if value.is_nan() => "NaN".to_owned(),
        () if value.is_infinite() => if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        () if size != 0.0 && !(SMALL..LARGE).contains(&size) => {
            let text = format!("{value:e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, power) = match exponent.strip_prefix('-') {
                Some(power) => ('-', power),
                None => ('+', exponent),
            };
            format!("{digits}E{sign}{power:0>2}")
        }
        () => value.to_string(),
    }
}

/// A number as Prometheus reads it.
pub(crate) fn prometheus(value: f64) -> String {
    match () {
        () if value.is_nan() => "NaN".to_owned(),
        () if value.is_infinite() => if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        () if value != 0.0 && !(SMALL..LARGE).contains(&value.abs()) => format!("{value:e}"),
        () => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_dotnet_writes_them() {
        let numbers = [0.0, 1.0, -12.5, 0.1, 123_456_789.0, 1e15, 1.5e20, 0.000_01, 0.000_001_25, f64::MAX];
        let texts = numbers.map(dotnet);
        assert_eq!(
            texts,
            [
                "0",
                "1",
                "-12.5",
                "0.1",
                "123456789",
                "1E+15",
                "1.5E+20",
                "1E-05",
                "1.25E-06",
                "1.7976931348623157E+308"
            ]
        );
        assert_eq!([0.000_1, 0.000_02].map(dotnet), ["0.0001", "2E-05"]);
    }

    #[test]
    fn as_prometheus_reads_them() {
        let texts = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.5, 1e300].map(prometheus);
        assert_eq!(texts, ["NaN", "+Inf", "-Inf", "2.5", "1e300"]);
    }
}
