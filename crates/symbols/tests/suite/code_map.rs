//! Which method an address belongs to, when memory is used again, methods are compiled again, and maps come in odd orders.

use crate::events::{Method, entry_point, il_map};
use nettrace::CodeAddress;
use symbols::{CodeMap, MethodKind, Position};

fn name(map: &CodeMap, address: u64) -> Option<String> {
    map.method(CodeAddress(address)).map(|method| method.raw_method().to_owned())
}

fn il(map: &CodeMap, address: u64, position: Position) -> Option<u32> {
    map.method_for(CodeAddress(address), position)?.il_offset(CodeAddress(address), position)
}

#[test]
fn an_address_belongs_to_the_code_around_it() {
    let mut map = CodeMap::new();
    Method::jitted(1, 0x1000, 0x10, "One").load(&mut map, 1);
    Method::jitted(2, 0x1010, 0x10, "Two").load(&mut map, 2);
    map.settle();
    for (address, expected) in [
        (0xFFF, None),
        (0x1000, Some("One")),
        (0x100F, Some("One")),
        (0x1010, Some("Two")),
        (0x101F, Some("Two")),
        (0x1020, None),
        (u64::MAX, None),
    ] {
        assert_eq!(name(&map, address).as_deref(), expected, "{address:#x}");
    }
    // What follows a call at the end of One is One's, not Two's.
    assert_eq!(map.caller_frame(CodeAddress(0x1010)).unwrap().name, "Ns.Type.One");
    assert_eq!(map.frame(CodeAddress(0x1010)).unwrap().name, "Ns.Type.Two");
    assert_eq!(map.caller_frame(CodeAddress(0x1020)).unwrap().name, "Ns.Type.Two");
    assert_eq!(map.caller_frame(CodeAddress(0)), None);
}

#[test]
fn memory_that_is_used_again_belongs_to_the_last_or_to_whom_it_belonged_then() {
    let mut map = CodeMap::new();
    let old = Method::jitted(1, 0x1000, 0x100, "Old");
    let new = Method::jitted(2, 0x1040, 0x20, "New");
    old.load(&mut map, 100);
    old.unload(&mut map, 200);
    new.load(&mut map, 300);
    map.settle();
    let at = |address, at_ns| {
        let method = map.method_at(CodeAddress(address), Position::Interrupted, at_ns);
        method.map(|method| method.raw_method().to_owned())
    };
    assert_eq!(at(0x1050, 150).as_deref(), Some("Old"));
    assert_eq!(at(0x1050, 350).as_deref(), Some("New"));
    // Nothing was there then: the best guess is what came last.
    assert_eq!(at(0x1050, 250).as_deref(), Some("New"));
    assert_eq!(at(0x1000, 350).as_deref(), Some("Old"));
    assert_eq!(name(&map, 0x1050).as_deref(), Some("New"));
    assert_eq!(name(&map, 0x1000).as_deref(), Some("Old"));
}

#[test]
fn an_unload_alone_names_what_was_there() {
    let mut map = CodeMap::new();
    Method::jitted(1, 0x1000, 0x100, "Gone").unload(&mut map, 200);
    map.settle();
    assert_eq!(name(&map, 0x1000).as_deref(), Some("Gone"));
}

#[test]
fn a_place_and_id_used_again_has_both_names() {
    let mut map = CodeMap::new();
    let (first, second) =
        (Method::jitted(1, 0x1000, 0x100, "First"), Method::jitted(1, 0x1000, 0x80, "Second"));
    first.load(&mut map, 100);
    first.unload(&mut map, 200);
    second.load(&mut map, 300);
    map.settle();
    let at =
        |at_ns| map.method_at(CodeAddress(0x1010), Position::Interrupted, at_ns).map(|one| one.raw_method());
    assert_eq!((at(150), at(350)), (Some("First"), Some("Second")));
    assert_eq!(map.methods_over(CodeAddress(0x1010), Position::Interrupted).count(), 2);
    assert_eq!(map.methods_over(CodeAddress(0x1090), Position::Interrupted).count(), 1);
}

#[test]
fn the_same_code_told_twice_is_one_method() {
    let mut map = CodeMap::new();
    let method = Method::jitted(1, 0x1000, 0x100, "One");
    method.load(&mut map, 5);
    map.settle();
    let index = map.method(CodeAddress(0x1000)).unwrap().index();
    method.rundown(&mut map);
    Method::jitted(2, 0x500, 0x100, "Other").rundown(&mut map);
    map.settle();
    map.settle();
    assert_eq!(map.method(CodeAddress(0x1000)).unwrap().index(), index);
    assert_eq!(map.naming().methods, 2);
}

#[test]
fn an_entry_point_names_what_no_method_does() {
    let mut map = CodeMap::new();
    entry_point(&mut map, 7, 0x2000, "Ready");
    Method::jitted(1, 0x3000, 0x10, "One").load(&mut map, 1);
    map.settle();
    let method = map.method(CodeAddress(0x2100)).unwrap();
    assert_eq!((method.raw_method(), method.kind()), ("Ready", MethodKind::EntryPoint));
    // Other code lies between, or it is too far away.
    assert_eq!(name(&map, 0x3010), None);
    assert_eq!(name(&map, 0x1FFF), None);
    // Once the method itself is told of, its length counts.
    Method { flags: 0, ..Method::jitted(7, 0x2000, 0x80, "Ready") }.rundown(&mut map);
    map.settle();
    assert_eq!(map.method(CodeAddress(0x2000)).unwrap().kind(), MethodKind::ReadyToRun);
    assert_eq!(name(&map, 0x2100), None);
}

#[test]
fn each_version_of_a_method_has_its_own_map() {
    for rundown in [false, true] {
        let mut map = CodeMap::new();
        let first = Method::jitted(1, 0x1000, 0x100, "One");
        let second = Method { version: 1, ..Method::jitted(1, 0x2000, 0x100, "One") };
        let maps = [(&first, [(-2, 0), (5, 0x10)]), (&second, [(-2, 0), (7, 0x20)])];
        for (method, entries) in maps {
            // While a session runs a map follows its method; in a rundown it comes first.
            if rundown {
                il_map(&mut map, true, 1, 1, method.version, &entries);
                method.rundown(&mut map);
            } else {
                method.load(&mut map, 1);
                il_map(&mut map, false, 1, 1, method.version, &entries);
            }
        }
        map.settle();
        assert_eq!(il(&map, 0x1010, Position::Interrupted), Some(5));
        assert_eq!(il(&map, 0x1010, Position::Caller), Some(0));
        assert_eq!(il(&map, 0x2020, Position::Interrupted), Some(7));
        assert_eq!(il(&map, 0x201F, Position::Interrupted), Some(0));
    }
}

#[test]
fn maps_without_versions_go_to_the_method_beside_them() {
    let mut map = CodeMap::new();
    let first = Method::jitted(1, 0x1000, 0x100, "One");
    let second = Method { version: 1, ..Method::jitted(1, 0x2000, 0x100, "One") };
    // The second was compiled while the session ran, the first is only in the rundown.
    second.load(&mut map, 1);
    il_map(&mut map, false, 0, 1, 0, &[(7, 0x20)]);
    il_map(&mut map, true, 0, 1, 0, &[(5, 0x10)]);
    first.rundown(&mut map);
    il_map(&mut map, true, 0, 1, 0, &[(7, 0x20)]);
    second.rundown(&mut map);
    map.settle();
    assert_eq!(il(&map, 0x1010, Position::Interrupted), Some(5));
    assert_eq!(il(&map, 0x2020, Position::Interrupted), Some(7));
}

#[test]
fn code_without_il_goes_on_with_what_was_before() {
    let mut map = CodeMap::new();
    Method::jitted(1, 0x1000, 0x100, "One").load(&mut map, 1);
    il_map(&mut map, false, 1, 1, 0, &[(-2, 0), (4, 0x10), (9, 0x10), (-1, 0x20), (-3, 0x30)]);
    map.settle();
    for (distance, expected) in [(0, 0), (0xF, 0), (0x10, 9), (0x20, 9), (0x30, 9), (0xFF, 9)] {
        assert_eq!(il(&map, 0x1000 + distance, Position::Interrupted), Some(expected), "{distance:#x}");
    }
}

#[test]
fn a_huge_method_does_not_make_look_ups_wrong_or_slow() {
    let mut map = CodeMap::new();
    Method::jitted(1, 0x1000, u32::MAX, "Huge").load(&mut map, 1);
    for id in 0..10_000u64 {
        Method::jitted(100 + id, 0x10_0000 + 0x20 * id, 0x10, "Small").load(&mut map, 2);
    }
    map.settle();
    for id in 0..10_000u64 {
        assert_eq!(name(&map, 0x10_0000 + 0x20 * id).as_deref(), Some("Small"));
    }
    assert_eq!(name(&map, 0x1000).as_deref(), Some("Huge"));
}
