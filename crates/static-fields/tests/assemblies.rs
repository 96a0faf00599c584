//! Real assemblies, and what is left of them.

use proptest::prelude::*;
use static_fields::{StaticField, static_fields, thread_statics, type_definitions};
use testbed::{Runtime, shared};

fn patients() -> Vec<u8> {
    let line = shared().target("leak-static-collection", Runtime::Net9).command().expect("a patient");
    let path =
        line.args.iter().find(|word| word.to_string_lossy().ends_with("Patients.dll")).expect("its assembly");
    std::fs::read(path).expect("it can be read")
}

fn named(file: &[u8], name: &str) -> Vec<StaticField> {
    static_fields(file, |field| field == name).expect("an assembly")
}

#[test]
fn a_static_field_is_found_with_its_owner_and_type() {
    let found = named(&patients(), "s_orders");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].owner, "Shop.OrderHistory");
    assert_eq!(found[0].type_name.as_deref(), Some("System.Collections.Generic.List`1"));
}

#[test]
fn the_class_library_has_many_and_nested_types_have_their_outer_ones() {
    let line = shared().target("leak-static-collection", Runtime::Net9).command().expect("a patient");
    let root = line.program.parent().expect("the folder of dotnet");
    let library = root.join("shared/Microsoft.NETCore.App/9.0.7/System.Private.CoreLib.dll");
    let file = std::fs::read(library).expect("the class library");
    let all = static_fields(&file, |_| true).expect("an assembly");
    assert!(all.len() > 1000, "{}", all.len());
    assert!(all.iter().any(|field| field.owner == "System.String" && field.name == "Empty"), "string.Empty");
    assert!(all.iter().any(|field| field.owner.contains('+')), "a nested type");
    assert!(all.is_sorted_by_key(|field| field.position));
}

#[test]
fn types_have_their_base_and_the_fields_of_their_objects() {
    let found = type_definitions(&patients(), |name| name == "Maps.TileCache").expect("an assembly");
    let [cache] = &found[..] else { panic!("{found:?}") };
    assert_eq!(cache.base.as_deref(), Some("System.Object"));
    let field = cache.fields.first().expect("a field");
    assert_eq!(field.name, "_tiles");
    assert_eq!(field.type_name.as_deref(), Some("System.Collections.Concurrent.ConcurrentDictionary`2"));
}

#[test]
fn fields_of_threads_are_known_by_their_attribute() {
    let found = thread_statics(&patients()).expect("an assembly");
    let samples = found.iter().find(|field| field.name == "t_samples").expect("the field");
    assert_eq!(samples.owner, "Lab.Recorder");
    assert_eq!(samples.type_name.as_deref(), Some("System.Collections.Generic.List`1"));
    assert!(!found.iter().any(|field| field.name == "s_orders"), "{found:?}");
}

#[test]
fn a_file_that_ends_early_gives_an_error_or_what_is_left() {
    let file = patients();
    for length in (0..file.len()).step_by(97) {
        let _ = static_fields(&file[..length], |_| true);
    }
    assert!(static_fields(&file[..2000], |_| true).is_err());
    assert!(static_fields(b"\x7fELF", |_| true).is_err());
    assert!(static_fields(b"", |_| true).is_err());
}

proptest! {
    #[test]
    fn damage_anywhere_does_no_harm(at in 0_usize..100_000, byte: u8, more in 0_usize..100_000, value: u8) {
        thread_local!(static FILE: Vec<u8> = patients());
        let mut file = FILE.with(Clone::clone);
        let length = file.len();
        file[at % length] = byte;
        file[more % length] = value;
        let _ = static_fields(&file, |_| true);
        let _ = thread_statics(&file);
        let _ = type_definitions(&file, |_| true);
    }
}
