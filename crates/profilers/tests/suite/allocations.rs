//! `allocations` on real programs.

use crate::support::{finds_the_illness, look, rows};
use model::Cell;
use testbed::{Runtime, Target};

#[test]
fn pressure_is_found_with_the_method_that_allocates() {
    finds_the_illness("allocations", "allocation-pressure", 4.0, &[]);
}

#[test]
fn much_that_dies_young_is_described_but_no_illness() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("healthy-allocation", runtime).start().unwrap();
        let report = look("allocations", &target, 3.0, &[]);
        assert!(report.findings.is_empty(), "{runtime}: {:?}", report.findings);
        let method = &rows(&report, "methods")[0];
        let Cell::Text(place) = &method[0] else { panic!("{method:?}") };
        assert!(place.starts_with("Logs.LogShipper.ShipBatch"), "{place}");
        let types = rows(&report, "types");
        assert!(types.iter().any(|row| row[0] == Cell::from("System.String")), "{types:?}");
        let share = |row: &Vec<Cell>| if let Cell::Fraction(share) = row[3] { share } else { 0.0 };
        let string = types.iter().find(|row| row[0] == Cell::from("System.String")).unwrap();
        // 80 of the 160 bytes that a line takes.
        assert!((35.0..65.0).contains(&share(string)), "{types:?}");
    }
}

/// On a target that other questions share.
pub fn a_strangers_program_is_told_apart_from_our_own_session(target: &Target) {
    let report = look("allocations", target, 2.0, &[]);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(!report.summary.contains("System.Reflection"), "{}", report.summary);
    assert!(target.is_alive());
}
