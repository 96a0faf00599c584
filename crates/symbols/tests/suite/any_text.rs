//! Whatever the names: no panic, and nothing that grows out of measure.

use proptest::prelude::*;
use symbols::{Signature, human_name, readable_type};

/// Texts made of what names are made of.
fn name_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<",
        ">",
        "[",
        "]",
        "+",
        "`1",
        "`2",
        "`99999999999999999999",
        ",",
        ".",
        "*",
        "&",
        "|",
        "(",
        ")",
        "!0",
        "!!1",
        "d__5",
        "b__0_1",
        "g__Work|0_1",
        "<>c",
        "<>c__DisplayClass1_0",
        "<Main>$",
        "$",
        "VB$StateMachine_",
        "_",
        "System.__Canon",
        "System.Int32",
        "Ns.Type",
        "MoveNext",
        "class ",
        "value class ",
        "unsigned int8",
        "required_modifier ",
        "  (",
        " ",
        "F0123456789ABCDEF__",
        "é",
        "名",
        "\u{0}",
        "pMT: 0x12",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn names_never_panic(type_name in name_like(), method in name_like(), signature in name_like()) {
        let human = human_name(&type_name, &method, &signature);
        // Letters are added only around what was there.
        prop_assert!(human.len() <= 16 * (type_name.len() + method.len() + 8));
        let _ = readable_type(&type_name);
        let _ = Signature::parse(&signature, &type_name).map(|signature| signature.to_string());
        let _ = Signature::parse(&format!("instance void  ({signature})"), &type_name);
    }

    #[test]
    fn any_text_is_a_name(type_name in ".*", method in ".*", signature in ".*") {
        let _ = human_name(&type_name, &method, &signature);
        let _ = Signature::parse(&signature, &type_name);
    }

    #[test]
    fn plain_names_stay_as_they_are(type_name in "[A-Z][a-z]{1,8}(\\.[A-Z][a-z]{1,8}){0,3}", method in "[A-Za-z_]{1,12}") {
        prop_assert_eq!(human_name(&type_name, &method, "void  ()"), format!("{}.{}", type_name, method));
    }
}

#[test]
fn deep_nesting_ends() {
    let deep = "A`1[".repeat(50_000) + &"]".repeat(50_000);
    assert!(readable_type(&deep).len() >= deep.len() / 2);
    let angles = "<".repeat(50_000) + "x" + &">b__0".repeat(50_000);
    let _ = human_name(&angles, &angles, &angles);
    let signature = format!("void  ({}int32{})", "class A`1<".repeat(20_000), ">".repeat(20_000));
    let _ = Signature::parse(&signature, &deep);
}
