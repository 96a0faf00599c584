//! Real assemblies, and spoilt ones.

use proptest::prelude::*;
use ready_to_run::{Error, MethodNames, Precompiled, file_length};
use testbed::{Runtime, shared};

fn core_library() -> Vec<u8> {
    shared().prepare(&[Runtime::Net9]).expect("the runtime is there");
    let command = shared().target("hot-method", Runtime::Net9).command().expect("a command");
    let program = std::path::PathBuf::from(&command.words()[0]);
    let folder = program.parent().expect("a folder").join("shared/Microsoft.NETCore.App");
    let mut versions = std::fs::read_dir(folder).expect("the framework").flatten();
    let version = versions.next().expect("a version").path();
    std::fs::read(version.join("System.Private.CoreLib.dll")).expect("the core library")
}

#[test]
fn the_core_library_has_code_for_its_methods() {
    let file = core_library();
    let code = Precompiled::read(&file).unwrap();
    assert!(code.methods() > 10_000, "{}", code.methods());
    // Behind the sections there may be a signature.
    let (length, whole) = (file_length(&file[..4096]).unwrap(), file.len() as u64);
    assert!(length <= whole && whole - length < 64 << 10, "{length} of {whole}");
    // Every place of the file either is code of one method with a name, or of none.
    let all = MethodNames::read(&file).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for offset in (0..file.len() as u64).step_by(4096) {
        if let Some(row) = code.method_at(offset) {
            let name = all.get(row.0 as usize).unwrap().expect("a row of the metadata");
            names.insert(format!("{}.{}", name.owner, name.name));
        }
    }
    assert!(names.len() > 500, "{}", names.len());
    assert!(names.iter().any(|name| name.starts_with("System.")), "{names:?}");
}

#[test]
fn other_files_have_none() {
    assert_eq!(Precompiled::read(b"\x7fELF").err(), Some(Error::NotAnAssembly));
    assert_eq!(Precompiled::read(&[]).err(), Some(Error::NotAnAssembly));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_spoilt_file_makes_it_panic(cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40), end in any::<prop::sample::Index>()) {
        static FILE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        // Headers and the first tables; what they point to is cut off or wrong.
        let mut file = FILE.get_or_init(core_library)[..1 << 16].to_vec();
        for (at, value) in cuts {
            let at = at.index(1024);
            file[at] = value;
        }
        file.truncate(end.index(file.len()).max(512));
        if let Ok(code) = Precompiled::read(&file) {
            for offset in [0, 1000, u64::MAX] {
                if let Some(row) = code.method_at(offset) {
                    let _ = MethodNames::read(&file).and_then(|names| names.get(row.0 as usize));
                }
            }
        }
        let _ = file_length(&file);
    }
}
