//! Signatures: the runtime's text to C#'s words.

use std::fmt;

use super::MAX_DEPTH;
use super::type_name::split;

/// What a method takes and returns, as C# writes it. Namespaces are left out.
///
/// It shows as its parameters: `(string, int)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What it returns.
    pub returns: String,
    /// What it takes.
    pub parameters: Vec<String>,
    /// Whether it belongs to an object.
    pub is_instance: bool,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, parameter) in self.parameters.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            f.write_str(parameter)?;
        }
        f.write_str(")")
    }
}

impl Signature {
    /// Reads text such as `instance void  (class System.String,int32)`; none if it has another form.
    ///
    /// With the name of the method's type, as the runtime sends it, `!0` becomes the first type argument. The type
    /// arguments of a method are not sent: `!!0` becomes `T0`.
    #[must_use]
    pub fn parse(text: &str, type_name: &str) -> Option<Signature> {
        // The result comes first and may have brackets of its own; two spaces stand before the parameters.
        let (head, rest) = text.split_once("  (")?;
        let inner = rest.strip_suffix(')')?;
        let mut head = head.trim();
        let mut is_instance = false;
        while let Some((word, rest)) = head.split_once(' ') {
            match word {
                "instance" => is_instance = true,
                "explicit" | "generic" | "vararg" => {}
                _ => break,
            }
            head = rest.trim_start();
        }
        let parts = split(type_name);
        let arguments: Vec<&str> = parts
            .iter()
            .flat_map(|parts| {
                parts.segments.iter().flat_map(|segment| &segment.arguments).chain(&parts.stray)
            })
            .copied()
            .collect();
        let type_text = |text: &str| {
            let mut out = String::new();
            write_type(&mut out, text, &arguments, 0);
            out
        };
        let parameters = if inner.trim().is_empty() { Vec::new() } else { commas(inner) };
        Some(Signature {
            returns: type_text(head),
            parameters: parameters.into_iter().map(type_text).collect(),
            is_instance,
        })
    }
}

/// Cuts at commas outside all brackets.
fn commas(text: &str) -> Vec<&str> {
    let (mut open, mut from) = (0usize, 0);
    let mut found = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            '<' | '[' | '(' => open += 1,
            '>' | ']' | ')' => open = open.saturating_sub(1),
            ',' if open == 0 => {
                found.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[from..]);
    found
}

fn write_type(out: &mut String, text: &str, arguments: &[&str], depth: usize) {
    let mut text = text.trim();
    if depth >= MAX_DEPTH {
        out.push_str(text);
        return;
    }
    for modifier in ["required_modifier ", "optional_modifier "] {
        while let Some((_, rest)) = text.strip_prefix(modifier).and_then(|rest| rest.split_once(' ')) {
            text = rest.trim_start();
        }
    }
    for word in ["pinned ", "value class ", "class "] {
        text = text.strip_prefix(word).unwrap_or(text);
    }
    // Marks at the end: arrays, pointers, references.
    let bare = text.trim_end_matches(['*', '&', '[', ']']);
    let bare = if bare.is_empty() { text } else { bare };
    let marks = &text[bare.len()..];
    if let Some((name, inner)) = bare.strip_suffix('>').and_then(|open| open.split_once('<')) {
        out.push_str(short(name));
        for (index, argument) in commas(inner).into_iter().enumerate() {
            out.push_str(if index == 0 { "<" } else { ", " });
            write_type(out, argument, arguments, depth + 1);
        }
        out.push('>');
    } else if let Some(index) = bare.strip_prefix("!!") {
        out.push('T');
        out.push_str(index);
    } else if let Some(argument) =
        bare.strip_prefix('!').and_then(|index| arguments.get(index.parse::<usize>().ok()?))
    {
        write_argument(out, argument, depth);
    } else {
        out.push_str(keyword(bare).unwrap_or_else(|| short(bare)));
    }
    out.push_str(marks);
}

/// A type argument, which is written as the names of types are.
fn write_argument(out: &mut String, raw: &str, depth: usize) {
    let Some(parts) = split(raw).filter(|_| depth < MAX_DEPTH) else {
        out.push_str(short(raw));
        return;
    };
    if let Some(word) = keyword(raw.strip_suffix(parts.suffix).unwrap_or(raw)) {
        out.push_str(word);
    } else if let Some(last) = parts.segments.last() {
        out.push_str(short(last.name));
        for (index, argument) in last.arguments.iter().enumerate() {
            out.push_str(if index == 0 { "<" } else { ", " });
            write_argument(out, argument, depth + 1);
        }
        out.push_str(if last.arguments.is_empty() { "" } else { ">" });
    }
    out.push_str(parts.suffix);
}

/// Without namespace and arity. The address of a type that the runtime could not name is left out.
fn short(name: &str) -> &str {
    if name.starts_with("pMT:") {
        return "?";
    }
    let name = name.rsplit_once('`').map_or(name, |(name, _)| name);
    name.rsplit_once(['.', '+']).map_or(name, |(_, own)| own)
}

fn keyword(name: &str) -> Option<&'static str> {
    Some(match name {
        "void" | "System.Void" => "void",
        "bool" | "System.Boolean" => "bool",
        "wchar" | "char" | "System.Char" => "char",
        "int8" | "System.SByte" => "sbyte",
        "unsigned int8" | "System.Byte" => "byte",
        "int16" | "System.Int16" => "short",
        "unsigned int16" | "System.UInt16" => "ushort",
        "int32" | "System.Int32" => "int",
        "unsigned int32" | "System.UInt32" => "uint",
        "int64" | "System.Int64" => "long",
        "unsigned int64" | "System.UInt64" => "ulong",
        "int" | "System.IntPtr" => "nint",
        "unsigned int" | "System.UIntPtr" => "nuint",
        "float32" | "System.Single" => "float",
        "float64" | "System.Double" => "double",
        "System.Decimal" => "decimal",
        "System.String" => "string",
        "System.Object" => "object",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_read_as_in_the_source() {
        for (raw, type_name, readable) in [
            ("instance void  (class System.String,int32)", "", "void (string, int)"),
            ("void  ()", "", "void ()"),
            ("class System.String[]  (unsigned int8[],wchar&,void*)", "", "string[] (byte[], char&, void*)"),
            ("instance void  (!0,!1)", "Ns.Map`2[System.Int32,System.__Canon]", "void (int, __Canon)"),
            ("instance !0  ()", "Ns.Box`1[Ns.List`1[System.Byte]]", "List<byte> ()"),
            ("instance void  (!0)", "Ns.Map`2", "void (!0)"),
            (
                "generic value class System.Span`1<!!0>  (class System.Func`2<class System.String,int32>)",
                "",
                "Span<T0> (Func<string, int>)",
            ),
            (
                "instance required_modifier System.Runtime.CompilerServices.IsExternalInit void  (class System.Collections.Generic.Dictionary`2<class System.String,class Ns.Info>)",
                "",
                "void (Dictionary<string, Info>)",
            ),
            (
                "class System.Object  (class System.Object,pMT: 0x55b52abe2900<class System.Object>)",
                "",
                "object (object, ?<object>)",
            ),
            ("int  (unsigned int,float64)", "", "nint (nuint, double)"),
            ("instance bool  (value class Ns.Outer+Inner&)", "", "bool (Inner&)"),
        ] {
            let signature = Signature::parse(raw, type_name).unwrap();
            assert_eq!(format!("{} {signature}", signature.returns), readable, "{raw}");
            assert_eq!(signature.is_instance, raw.starts_with("instance"));
        }
        for odd in ["", "void", "void (int32)", "void  (int32", "(", "  ("] {
            assert_eq!(Signature::parse(odd, ""), None, "{odd}");
        }
    }
}
