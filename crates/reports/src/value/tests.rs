use super::*;

#[test]
fn cells_read_like_their_unit() {
    for (cell, unit, text) in [
        (Cell::Number(0), Unit::Count, "0"),
        (Cell::Number(999), Unit::Count, "999"),
        (Cell::Number(1_234_567), Unit::Count, "1,234,567"),
        (Cell::Fraction(2.5), Unit::Count, "2.5"),
        (Cell::Fraction(12_345.6), Unit::Count, "12,346"),
        (Cell::Fraction(-1_234.0), Unit::Count, "-1,234"),
        (Cell::Number(1_234_567), Unit::Id, "1234567"),
        (Cell::Number(999), Unit::Bytes, "999 B"),
        (Cell::Number(1_234_567), Unit::Bytes, "1.23 MB"),
        (Cell::Number(1_200_000), Unit::Bytes, "1.2 MB"),
        (Cell::Number(999_999), Unit::Bytes, "1 MB"),
        (Cell::Number(u64::MAX), Unit::Bytes, "18.4 EB"),
        (Cell::Number(12_345_678), Unit::Nanoseconds, "12.3 ms"),
        (Cell::Fraction(12_345_678.9), Unit::Nanoseconds, "12.3 ms"),
        (Cell::Fraction(12.5), Unit::Percent, "12.5 %"),
        (Cell::Fraction(0.0), Unit::Percent, "0.0 %"),
        (Cell::Fraction(0.01), Unit::Percent, "<0.1 %"),
        (Cell::Number(100), Unit::Percent, "100.0 %"),
        (Cell::from("2026-11-15T04:39:35.25Z"), Unit::Time, "2026-11-15 04:39:35Z"),
        (Cell::from("2026-11-15T05:39:35+01:00"), Unit::Time, "2026-11-15 04:39:35Z"),
        (Cell::from("yesterday"), Unit::Time, "yesterday"),
        (Cell::from("a name"), Unit::Text, "a name"),
        (Cell::Number(1234), Unit::Text, "1234"),
        (Cell::Missing, Unit::Bytes, "-"),
        (Cell::Fraction(f64::NAN), Unit::Bytes, "-"),
        (Cell::Fraction(f64::INFINITY), Unit::Nanoseconds, "-"),
    ] {
        assert_eq!(format_cell(&cell, unit), text, "{cell:?} in {unit:?}");
    }
}

#[test]
fn no_number_is_too_odd() {
    for value in [f64::MAX, f64::MIN, f64::MIN_POSITIVE, -0.0, 999.4, 999.6] {
        for unit in
            [Unit::Text, Unit::Count, Unit::Id, Unit::Bytes, Unit::Nanoseconds, Unit::Percent, Unit::Time]
        {
            assert!(!format_number(value, unit).is_empty(), "{value} in {unit:?}");
        }
    }
}
