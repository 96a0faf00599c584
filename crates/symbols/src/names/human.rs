//! Names that a compiler made up, back to those of the source.

use super::MAX_DEPTH;
use super::type_name::{Segment, split, write_arguments, write_segments};

/// What a compiler's name for a type or a method stands for.
pub(super) enum Encoded<'a> {
    /// Nothing special.
    Plain,
    /// A type that holds the state of this method, which is async or an iterator.
    StateMachine(&'a str),
    /// A type that holds lambdas, with or without captured variables.
    Closure,
    /// A type that only its file sees.
    FileLocal(&'a str),
    /// A lambda of a method, with its number.
    Lambda(&'a str, &'a str),
    /// A local function of a method.
    LocalFunction(&'a str, &'a str),
    /// The entry point of a program without a `Main`, or the one around an async `Main`.
    EntryPoint,
}

/// Takes apart a name of the form `<inner>rest`, which the C# compiler makes and no programmer can.
pub(super) fn decode(name: &str) -> Encoded<'_> {
    let Some((inner, rest)) = angled(name) else {
        return of_visual_basic(name).map_or(Encoded::Plain, Encoded::StateMachine);
    };
    let kind = rest.split_once("__");
    match (inner, rest, kind) {
        ("", "c", _) | ("", _, Some(("c", _))) => Encoded::Closure,
        ("Main", "$" | "", _) => Encoded::EntryPoint,
        ("", _, _) => Encoded::Plain,
        (_, "d", _) | (_, _, Some(("d", _))) => Encoded::StateMachine(inner),
        (_, _, Some(("b", number))) => Encoded::Lambda(inner, ordinal(number)),
        (_, _, Some(("g", local))) => {
            Encoded::LocalFunction(inner, local.split_once('|').map_or(local, |(name, _)| name))
        }
        (_, _, Some((hash, local))) if is_file_mark(hash) && !local.is_empty() => Encoded::FileLocal(local),
        _ => Encoded::Plain,
    }
}

/// The method in `VB$StateMachine_5_DoAsync`.
fn of_visual_basic(name: &str) -> Option<&str> {
    let (number, method) = name.strip_prefix("VB$StateMachine_")?.split_once('_')?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && !method.is_empty()).then_some(method)
}

/// Of `3_1` the method's number is left out: a lambda's own number is unique in its method.
fn ordinal(number: &str) -> &str {
    number.rsplit_once('_').map_or(number, |(_, own)| own)
}

/// `F` and the hash of the file's path.
fn is_file_mark(text: &str) -> bool {
    text.strip_prefix('F')
        .is_some_and(|hash| hash.len() >= 8 && hash.bytes().all(|letter| letter.is_ascii_hexdigit()))
}

/// What stands between the first angle bracket and the one that closes it, and what follows.
fn angled(name: &str) -> Option<(&str, &str)> {
    let inside = name.strip_prefix('<')?;
    let mut open = 0usize;
    for (at, letter) in inside.char_indices() {
        match letter {
            '<' => open += 1,
            '>' if open == 0 => return Some((&inside[..at], &inside[at + 1..])),
            '>' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Writes the name of a method, lambda or local function as the source has it.
pub(super) fn method_text(out: &mut String, name: &str, depth: usize) {
    if depth > MAX_DEPTH {
        out.push_str(name);
        return;
    }
    match decode(name) {
        Encoded::Lambda(outer, number) => {
            method_text(out, outer, depth + 1);
            out.push_str(".(lambda ");
            out.push_str(number);
            out.push(')');
        }
        Encoded::LocalFunction(outer, local) => {
            method_text(out, outer, depth + 1);
            out.push('.');
            out.push_str(local);
            out.push_str(" (local)");
        }
        Encoded::EntryPoint => out.push_str("Main"),
        _ => out.push_str(name),
    }
}

/// The name of a method as a person would say it: type, method, and a mark if the compiler rewrote it.
///
/// | source | runtime | here |
/// |---|---|---|
/// | async method | `Ns.Type+<DoAsync>d__5.MoveNext` | `Ns.Type.DoAsync [async]` |
/// | iterator | `Ns.Type+<Items>d__5.MoveNext` | `Ns.Type.Items [iterator]` |
/// | lambda | `Ns.Type+<>c.<Main>b__0_1` | `Ns.Type.Main.(lambda 1)` |
/// | local function | `Ns.Type.<Main>g__Work\|0_1` | `Ns.Type.Main.Work (local)` |
/// | top-level statements | `Program.<Main>$` | `Program.Main` |
///
/// `type_name`, `method` and `signature` are as the runtime sends them. The signature tells an iterator, whose
/// `MoveNext` returns a boolean, from an async method.
#[must_use]
pub fn human_name(type_name: &str, method: &str, signature: &str) -> String {
    let mut out = String::with_capacity(type_name.len() + method.len() + 1);
    match split(type_name) {
        Some(mut parts) => {
            let mark = of_state_machine(&mut out, &mut parts.segments, method, signature);
            if mark.is_none() {
                let decoded = decode(method);
                if matches!(decoded, Encoded::Lambda(..) | Encoded::LocalFunction(..)) {
                    drop_closures(&mut parts.segments);
                }
                write_segments(&mut out, &parts.segments, 0);
                write_arguments(&mut out, &parts.stray, 0);
                out.push_str(parts.suffix);
                point(&mut out);
                method_text(&mut out, method, 0);
            }
            out.push_str(mark.unwrap_or_default());
        }
        None => {
            out.push_str(type_name);
            point(&mut out);
            method_text(&mut out, method, 0);
        }
    }
    out
}

/// Writes the method that a state machine was made from; its mark, or none if the type is no state machine.
fn of_state_machine(
    out: &mut String,
    segments: &mut Vec<Segment<'_>>,
    method: &str,
    signature: &str,
) -> Option<&'static str> {
    let Encoded::StateMachine(source) = decode(segments.last()?.name) else {
        return None;
    };
    let machine = segments.pop()?;
    drop_closures(segments);
    write_segments(out, segments, 0);
    point(out);
    method_text(out, source, 0);
    write_arguments(out, &machine.arguments, 0);
    if method != "MoveNext" {
        point(out);
        out.push_str(method);
        return Some(" [state machine]");
    }
    let returns = signature.split_once('(').map_or(signature, |(head, _)| head);
    Some(if returns.split_whitespace().any(|word| word == "bool") { " [iterator]" } else { " [async]" })
}

/// Leaves out the types at the inner end that only hold lambdas.
fn drop_closures(segments: &mut Vec<Segment<'_>>) {
    while segments.last().is_some_and(|segment| matches!(decode(segment.name), Encoded::Closure)) {
        segments.pop();
    }
}

/// A point between type and method, if there is a type.
fn point(out: &mut String) {
    if !out.is_empty() {
        out.push('.');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_read_as_in_the_source() {
        let void = "instance void  ()";
        let bool = "instance bool  ()";
        for (type_name, method, signature, human) in [
            ("Ns.Type", "Run", void, "Ns.Type.Run"),
            ("Ns.Type", ".ctor", void, "Ns.Type..ctor"),
            ("Ns.Type", "get_Name", void, "Ns.Type.get_Name"),
            ("", "Global", void, "Global"),
            ("Ns.Outer+Inner", "Run", void, "Ns.Outer.Inner.Run"),
            ("Ns.List`1[System.Int32]", "Add", void, "Ns.List<System.Int32>.Add"),
            // async and iterators
            ("Ns.Type+<DoAsync>d__5", "MoveNext", void, "Ns.Type.DoAsync [async]"),
            ("Ns.Type+<Items>d__5", "MoveNext", bool, "Ns.Type.Items [iterator]"),
            (
                "Ns.Type+<DoAsync>d__5",
                "SetStateMachine",
                void,
                "Ns.Type.DoAsync.SetStateMachine [state machine]",
            ),
            (
                "Ns.Type+<DoAsync>d__5`1[System.Int32]",
                "MoveNext",
                void,
                "Ns.Type.DoAsync<System.Int32> [async]",
            ),
            (
                "Ns.Type`1+<DoAsync>d__5[System.Int32]",
                "MoveNext",
                void,
                "Ns.Type<System.Int32>.DoAsync [async]",
            ),
            (
                "Ns.Type`1+<DoAsync>d__5`1[System.Int32,System.__Canon]",
                "MoveNext",
                void,
                "Ns.Type<System.Int32>.DoAsync<__Canon> [async]",
            ),
            (
                "Ns.Type+<System-Collections-Generic-IEnumerable<System-Int32>-GetEnumerator>d__1",
                "MoveNext",
                bool,
                "Ns.Type.System-Collections-Generic-IEnumerable<System-Int32>-GetEnumerator [iterator]",
            ),
            // lambdas
            ("Ns.Type+<>c", "<Main>b__0_1", void, "Ns.Type.Main.(lambda 1)"),
            ("Ns.Type+<>c", ".cctor", void, "Ns.Type.<>c..cctor"),
            ("Ns.Type+<>c__DisplayClass3_0", "<Run>b__0", void, "Ns.Type.Run.(lambda 0)"),
            (
                "Ns.Type+<>c__DisplayClass3_0+<>c__DisplayClass3_1",
                "<Run>b__2",
                void,
                "Ns.Type.Run.(lambda 2)",
            ),
            ("Ns.Type+<>c__3`1[System.__Canon]", "<Get>b__3_0", void, "Ns.Type.Get.(lambda 0)"),
            ("Ns.Type", "<Run>b__4_0", void, "Ns.Type.Run.(lambda 0)"),
            ("Ns.Type+<>c", "<.ctor>b__10_0", void, "Ns.Type..ctor.(lambda 0)"),
            ("Ns.Type`1+<>c[System.Int32]", "<Get>b__10_0", void, "Ns.Type<System.Int32>.Get.(lambda 0)"),
            // local functions
            ("Ns.Type", "<Main>g__Work|0_1", void, "Ns.Type.Main.Work (local)"),
            (
                "Ns.Type+<>c__DisplayClass12_0`2[System.__Canon,System.__Canon]",
                "<Define>g__Log|0",
                void,
                "Ns.Type.Define.Log (local)",
            ),
            ("Ns.Type", "<<Run>g__Outer|0_0>g__Inner|0_1", void, "Ns.Type.Run.Outer (local).Inner (local)"),
            // nested
            ("Ns.Type+<>c+<<Main>b__0_0>d", "MoveNext", void, "Ns.Type.Main.(lambda 0) [async]"),
            ("Ns.Type+<>c__DisplayClass3_0+<<Run>b__1>d", "MoveNext", void, "Ns.Type.Run.(lambda 1) [async]"),
            ("Ns.Type+<<Main>g__Work|0_1>d", "MoveNext", void, "Ns.Type.Main.Work (local) [async]"),
            (
                "Ns.Type+<<Log>g__Rest|14_0>d`1[System.__Canon]",
                "MoveNext",
                void,
                "Ns.Type.Log.Rest (local)<__Canon> [async]",
            ),
            // programs without a Main
            ("Program", "<Main>$", void, "Program.Main"),
            ("Program", "<Main>", void, "Program.Main"),
            ("Program+<<Main>$>d__0", "MoveNext", void, "Program.Main [async]"),
            ("Program+<>c", "<<Main>$>b__0_0", void, "Program.Main.(lambda 0)"),
            ("Program", "<<Main>$>g__Work|0_1", void, "Program.Main.Work (local)"),
            // left alone
            ("Ns.Point", "<Clone>$", void, "Ns.Point.<Clone>$"),
            ("Ns.Type", "<>n__0", void, "Ns.Type.<>n__0"),
            (
                "Ns.Type",
                "System.Collections.Generic.ICollection<T>.Add",
                void,
                "Ns.Type.System.Collections.Generic.ICollection<T>.Add",
            ),
            (
                "<PrivateImplementationDetails>",
                "ComputeStringHash",
                void,
                "<PrivateImplementationDetails>.ComputeStringHash",
            ),
            ("dynamicClass", "lambda_method12", void, "dynamicClass.lambda_method12"),
            ("System.Int32[,]", "Get", void, "System.Int32[,].Get"),
            // Visual Basic and F#
            ("Ns.Module1+VB$StateMachine_5_DoAsync", "MoveNext", void, "Ns.Module1.DoAsync [async]"),
            ("Ns.Module1+_Closure$__", "_Lambda$__1-0", void, "Ns.Module1._Closure$__._Lambda$__1-0"),
            ("Ns.Module+clo@12-1", "Invoke", void, "Ns.Module.clo@12-1.Invoke"),
            ("<StartupCode$App>.$Program", "main@", void, "<StartupCode$App>.$Program.main@"),
            ("Ns.a<b", "<c", void, "Ns.a<b.<c"),
        ] {
            assert_eq!(human_name(type_name, method, signature), human, "{type_name} {method}");
        }
    }
}
