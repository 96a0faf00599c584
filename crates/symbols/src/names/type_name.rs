//! Names of types: generics and nesting as in C#.

use super::MAX_DEPTH;
use super::human::{Encoded, decode, method_text};

/// A type's name as in C#: ``System.Collections.Generic.List`1[System.Int32]`` becomes
/// `System.Collections.Generic.List<System.Int32>`, `Outer+Inner` becomes `Outer.Inner`. `System.__Canon`, which
/// stands for any class in code that several type arguments share, becomes `__Canon`. A state machine becomes the
/// method it was made from. What is not understood stays as it is.
#[must_use]
pub fn readable_type(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    write_type(&mut out, raw, 0);
    out
}

/// A type's name in its parts.
pub(super) struct TypeParts<'a> {
    /// From the outermost type inwards; the first has the namespace.
    pub(super) segments: Vec<Segment<'a>>,
    /// Type arguments that no segment has a place for.
    pub(super) stray: Vec<&'a str>,
    /// What follows: `[]`, `*`, `&`.
    pub(super) suffix: &'a str,
}

/// One type of a nest of types.
pub(super) struct Segment<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Vec<&'a str>,
}

pub(super) fn write_type(out: &mut String, raw: &str, depth: usize) {
    if raw == "System.__Canon" {
        out.push_str("__Canon");
        return;
    }
    let Some(parts) = split(raw).filter(|_| depth < MAX_DEPTH) else {
        out.push_str(raw);
        return;
    };
    write_segments(out, &parts.segments, depth);
    write_arguments(out, &parts.stray, depth);
    out.push_str(parts.suffix);
}

/// Writes nested types, each with its arguments.
pub(super) fn write_segments(out: &mut String, segments: &[Segment<'_>], depth: usize) {
    for (index, segment) in segments.iter().enumerate() {
        if index > 0 {
            out.push('.');
        }
        write_segment(out, segment, depth);
    }
}

fn write_segment(out: &mut String, segment: &Segment<'_>, depth: usize) {
    let (namespace, own) = namespace_of(segment.name);
    out.push_str(namespace);
    match decode(own) {
        Encoded::StateMachine(method) => method_text(out, method, depth + 1),
        Encoded::FileLocal(name) => out.push_str(name),
        _ => out.push_str(own),
    }
    write_arguments(out, &segment.arguments, depth);
}

pub(super) fn write_arguments(out: &mut String, arguments: &[&str], depth: usize) {
    for (index, argument) in arguments.iter().enumerate() {
        out.push_str(if index == 0 { "<" } else { ", " });
        write_type(out, argument, depth + 1);
    }
    if !arguments.is_empty() {
        out.push('>');
    }
}

/// The namespace with its last point, and the name. A compiler's name has points only between its angle brackets.
fn namespace_of(name: &str) -> (&str, &str) {
    let plain = name.find('<').unwrap_or(name.len());
    let at = name[..plain].rfind('.').map_or(0, |point| point + 1);
    name.split_at(at)
}

/// Takes a name apart; none if its brackets do not match.
pub(super) fn split(raw: &str) -> Option<TypeParts<'_>> {
    let (nest, rest) = raw.split_at(end_of_nest(raw)?);
    let (arguments, suffix) = match rest.strip_prefix('[') {
        Some(inner) if !inner.starts_with([']', ',', '*']) => {
            let end = closing(inner)?;
            (pieces(&inner[..end], ',')?, &inner[end + 1..])
        }
        _ => (Vec::new(), rest),
    };
    let mut arguments = arguments.into_iter();
    let mut segments = Vec::new();
    for piece in pieces(nest, '+')? {
        let (name, arity) = arity_of(piece);
        let arguments: Vec<&str> = arguments.by_ref().take(arity).collect();
        // An open type has no arguments: its arity is then all there is to say.
        let name = if arguments.is_empty() { piece } else { name };
        segments.push(Segment { name, arguments });
    }
    Some(TypeParts { segments, stray: arguments.collect(), suffix })
}

/// ``List`1`` is `List` with one argument.
fn arity_of(piece: &str) -> (&str, usize) {
    match piece.rsplit_once('`') {
        Some((name, digits)) => match digits.parse() {
            Ok(arity) => (name, arity),
            Err(_) => (piece, 0),
        },
        None => (piece, 0),
    }
}

/// Where the arguments, or the marks of an array or pointer, begin.
fn end_of_nest(raw: &str) -> Option<usize> {
    let mut angles = 0usize;
    for (at, letter) in raw.char_indices() {
        match letter {
            '<' => angles += 1,
            '>' => angles = angles.checked_sub(1)?,
            '[' | '*' | '&' if angles == 0 => return Some(at),
            _ => {}
        }
    }
    (angles == 0).then_some(raw.len())
}

/// Where the bracket closes that was open before the text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => open += 1,
            ']' if open == 0 => return Some(at),
            ']' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Cuts at a letter that stands outside all brackets.
fn pieces(text: &str, cut: char) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let (mut squares, mut angles, mut from) = (0usize, 0usize, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => squares += 1,
            ']' => squares = squares.checked_sub(1)?,
            '<' => angles += 1,
            '>' => angles = angles.checked_sub(1)?,
            _ if letter == cut && squares == 0 && angles == 0 => {
                found.push(&text[from..at]);
                from = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    found.push(&text[from..]);
    (squares == 0 && angles == 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_read_as_in_the_source() {
        for (raw, readable) in [
            ("Ns.Type", "Ns.Type"),
            ("Ns.Outer+Inner", "Ns.Outer.Inner"),
            (
                "System.Collections.Generic.List`1[System.Int32]",
                "System.Collections.Generic.List<System.Int32>",
            ),
            ("System.Collections.Generic.List`1[System.__Canon]", "System.Collections.Generic.List<__Canon>"),
            ("System.Collections.Generic.List`1", "System.Collections.Generic.List`1"),
            (
                "Ns.Map`2+Keys+Enumerator[System.Int32,Ns.Outer+Inner]",
                "Ns.Map<System.Int32, Ns.Outer.Inner>.Keys.Enumerator",
            ),
            (
                "Ns.Builder`1+Box`1[System.ValueTuple`2[System.__Canon,System.Int32],Ns.Type+<RunAsync>d__52]",
                "Ns.Builder<System.ValueTuple<__Canon, System.Int32>>.Box<Ns.Type.RunAsync>",
            ),
            ("Ns.List`1[System.Int32[,]]", "Ns.List<System.Int32[,]>"),
            ("System.Int32[]", "System.Int32[]"),
            ("System.Int32[,]", "System.Int32[,]"),
            ("Ns.List`1[System.Byte][]", "Ns.List<System.Byte>[]"),
            ("System.Void*", "System.Void*"),
            ("<>z__ReadOnlyArray`1[System.Double]", "<>z__ReadOnlyArray<System.Double>"),
            (
                "<>f__AnonymousType0`2[System.__Canon,System.Int32]",
                "<>f__AnonymousType0<__Canon, System.Int32>",
            ),
            ("<PrivateImplementationDetails>", "<PrivateImplementationDetails>"),
            ("Ns.<File_g>FD5EC73B5E262B79__Reader", "Ns.Reader"),
            ("Ns.Odd[System.Int32]", "Ns.Odd<System.Int32>"),
            // F# and others may use any letter.
            ("Ns.clo@12-1", "Ns.clo@12-1"),
            ("Ns.a<b", "Ns.a<b"),
            ("Ns.a]b", "Ns.a]b"),
            ("Ns.List`1[System.Int32", "Ns.List`1[System.Int32"),
            ("", ""),
        ] {
            assert_eq!(readable_type(raw), readable, "{raw}");
        }
    }
}
