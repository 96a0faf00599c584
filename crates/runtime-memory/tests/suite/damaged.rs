//! Metadata of real assemblies, whole and damaged.

use proptest::prelude::*;
use runtime_memory::decode::{contract_descriptor, metadata_names};

const DESCRIPTOR: &str = include_str!("../../fixtures/net9-descriptor.json");

fn assembly() -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../symbols/fixtures");
    let files = std::fs::read_dir(folder).expect("the fixtures are there").flatten();
    let mut files: Vec<_> =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|it| it == "dll")).collect();
    files.sort();
    std::fs::read(files.first().expect("an assembly is among them")).expect("it can be read")
}

#[test]
fn names_of_an_assembly_are_read_as_from_memory() {
    let names = metadata_names(&assembly());
    for expected in ["<Module>", ".ctor", "instance void  ()"] {
        assert!(names.iter().any(|name| name == expected), "{expected}: {names:?}");
    }
    assert!(contract_descriptor(DESCRIPTOR.as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_anywhere_does_no_harm(places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40), cut in any::<prop::sample::Index>()) {
        let mut bytes = assembly();
        for (place, byte) in &places {
            let at = place.index(bytes.len());
            bytes[at] = *byte;
        }
        metadata_names(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        metadata_names(&bytes);
        let mut text = DESCRIPTOR.as_bytes().to_vec();
        for (place, byte) in places {
            let at = place.index(text.len());
            text[at] = byte;
        }
        contract_descriptor(&text);
    }
}
