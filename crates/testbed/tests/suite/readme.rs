//! The table in patients/README.md says what the headers of the C# files say.

use testbed::patients;

#[test]
fn the_readme_of_the_patients_lists_each_as_its_header_does() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../patients/README.md")).unwrap();
    for patient in patients() {
        let start = format!("| `{}` |", patient.id);
        let Some(row) = readme.lines().find(|line| line.starts_with(&start)) else {
            panic!("patients/README.md has no row for {}", patient.id);
        };
        let facts = patient.findings.iter().chain(&patient.culprits);
        let missing: Vec<_> = facts.filter(|fact| !row.contains(&format!("`{fact}`"))).collect();
        assert!(missing.is_empty(), "patients/README.md, {}: {missing:?} is missing", patient.id);
        let runtimes: Vec<&str> = patient.runtimes.iter().map(|runtime| runtime.label()).collect();
        assert!(row.ends_with(&format!("| {} |", runtimes.join(", "))), "{}: {row}", patient.id);
    }
    let rows = readme.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, patients().len(), "patients/README.md lists patients that do not exist");
}
