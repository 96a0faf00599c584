//! The names that other tools give to roots and types, and what they mean.

use crate::roots::RootKind;

/// The top of all made-up nodes.
pub(super) const TOP: &str = "[.NET Roots]";
pub(super) const OTHER_ROOTS: &str = "[other roots]";

/// The made-up node that holds the roots of a kind, and whether it lies below [`OTHER_ROOTS`]. The names that
/// dotnet-gcdump uses where it has one; PerfView knows `[*handles]` and `[*local vars]` by their endings.
pub(super) fn group(kind: RootKind) -> (&'static str, bool) {
    match kind {
        RootKind::StaticField => ("[static vars]", false),
        RootKind::ThreadStaticField => ("[thread static vars]", false),
        RootKind::Local => ("[local vars]", false),
        RootKind::PinnedLocal => ("[Pinned local vars]", false),
        RootKind::Finalizer => ("[finalizer Handles]", true),
        RootKind::StrongHandle => ("[strong Handles]", true),
        RootKind::PinnedHandle => ("[pinning Handles]", true),
        RootKind::RefCounted => ("[COM/WinRT Objects]", true),
        RootKind::DependentHandle => ("[Dependent Handles]", true),
        RootKind::SizedRefHandle => ("[sized-ref Handles]", true),
        RootKind::OlderGeneration => ("[older generation Handles]", true),
        RootKind::Other => ("[other Handles]", true),
    }
}

/// The made-up node of a named root.
pub(super) fn named(kind: RootKind, name: &str) -> String {
    let prefix = match kind {
        RootKind::StaticField | RootKind::ThreadStaticField => STATIC,
        RootKind::Local | RootKind::PinnedLocal => LOCAL,
        _ => HANDLE,
    };
    format!("[{prefix}{name}]")
}

const STATIC: &str = "static var ";
const LOCAL: &str = "local var ";
const HANDLE: &str = "handle ";

/// What the name of a made-up node says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// All roots of a kind lie below.
    Group(RootKind),
    /// A single root, of the kind of the group around it, or of this kind where no group is.
    Named(&'a str, RootKind),
}

/// What the name of a made-up node says, in the words of dotnet-gcdump, PerfView and our own.
pub(super) fn meaning(node_name: &str) -> Meaning<'_> {
    let name = node_name.strip_prefix('[').unwrap_or(node_name);
    let name = name.strip_suffix(']').unwrap_or(name);
    for (prefix, kind) in
        [(STATIC, RootKind::StaticField), (LOCAL, RootKind::Local), (HANDLE, RootKind::Other)]
    {
        if let Some(rest) = name.strip_prefix(prefix) {
            return Meaning::Named(rest, kind);
        }
    }
    for kind in RootKind::ALL {
        if node_name == group(kind).0 {
            return Meaning::Group(kind);
        }
    }
    Meaning::Group(match name {
        "other roots" => RootKind::Other,
        "FinalizerQueue" => RootKind::Finalizer,
        "StrongHandle" | "Strong handles" => RootKind::StrongHandle,
        "PinnedHandle" | "AsyncPinnedHandle" | "Pinned handles" | "AsyncPinned handles" => {
            RootKind::PinnedHandle
        }
        "Stack" => RootKind::Local,
        "RefCountedHandle" => RootKind::RefCounted,
        "SizedRefHandle" => RootKind::SizedRefHandle,
        _ => return Meaning::Named(name, RootKind::Other),
    })
}

/// Whether a node without address and with this type name is made up. COM objects have such names too.
pub(super) fn is_made_up(type_name: &str) -> bool {
    type_name.starts_with('[') && !type_name.starts_with("[CCW") && !type_name.starts_with("[RCW")
}

/// The name without the note on sizes that dotnet-gcdump and PerfView add, as in `System.Byte[] (Bytes > 10K)`
/// and `System.Byte[] (NoPtrs,ElemSize=1)`.
pub(super) fn without_size_note(name: &str) -> Option<&str> {
    let (base, note) = name.strip_suffix(')')?.rsplit_once(" (")?;
    let known = |part: &str| {
        let number = part.strip_prefix("ElemSize=");
        matches!(part, "Ptrs" | "NoPtrs")
            || part.starts_with("Bytes > ")
            || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    note.split(',').all(known).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_write_means_the_same_when_read() {
        for kind in RootKind::ALL {
            assert_eq!(meaning(group(kind).0), Meaning::Group(kind));
            for name in ["A.b", "", "]", "static vars", "handle x", "[other roots]"] {
                let written = named(kind, name);
                assert!(matches!(meaning(&written), Meaning::Named(read, _) if read == name), "{written}");
            }
        }
    }

    #[test]
    fn names_of_other_tools_are_understood() {
        assert_eq!(meaning("[PinnedHandle]"), Meaning::Group(RootKind::PinnedHandle));
        assert_eq!(meaning("[unknown roots]"), Meaning::Named("unknown roots", RootKind::Other));
        assert_eq!(without_size_note("System.Byte[] (Bytes > 100K)"), Some("System.Byte[]"));
        let perfview = "System.Byte[] (Bytes > 10K,NoPtrs,ElemSize=1)";
        assert_eq!(without_size_note(perfview), Some("System.Byte[]"));
        assert_eq!(without_size_note("Odd (Pairs)"), None);
        assert_eq!(meaning("[Strong handles]"), Meaning::Group(RootKind::StrongHandle));
    }
}
