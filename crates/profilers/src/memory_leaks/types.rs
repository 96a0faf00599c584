//! What the names of types say. Names of nested types come without the type around them from some runtimes.

/// Whether a type belongs to the class library, by its name and its module. Arrays and collections of the program's own
/// types belong to it, too.
pub(super) fn is_of_framework(name: &str, module: Option<&str>) -> bool {
    let base = base(name);
    let element = base.trim_end_matches("[]");
    if base.ends_with("[]") || element.starts_with("System.") || element.starts_with("Microsoft.") {
        return true;
    }
    if is_compiled(name) {
        return false;
    }
    let file = module.map(|module| module.rsplit(['/', '\\']).next().unwrap_or(module));
    file.is_some_and(is_framework_module) || (!element.contains('.') && INNER.contains(&element))
}

/// Whether an assembly is of the class library, by the name of its file.
pub(super) fn is_framework_module(file: &str) -> bool {
    ["System.", "Microsoft.", "mscorlib", "netstandard", "WindowsBase"]
        .iter()
        .any(|start| file.starts_with(start))
}

/// Generic inner types of the class library's collections; the module of such a type may be that of its arguments.
const INNER: &[&str] = &[
    "Node",
    "Entry",
    "Tables",
    "Container",
    "Slot",
    "Bucket",
    "Segment",
    "WorkStealingQueue",
    "CallbackNode",
];

/// A name without type arguments: `List` of `List<Shop.Order>`, `Entry[]` of `Entry<K, V>[]`.
pub(super) fn base(name: &str) -> String {
    let arrays_at = name.trim_end_matches(['[', ']', ',', '*']).len();
    let (single, arrays) = name.split_at(arrays_at);
    let open = single
        .char_indices()
        .zip(single.chars().skip(1))
        .find(|((_, before), next)| *next == '<' && (before.is_alphanumeric() || *before == '_'));
    let end = open.map_or(single.len(), |((at, before), _)| at + before.len_utf8());
    format!("{}{arrays}", &single[..end])
}

/// The same for a name of metadata, which ends with the number of type parameters.
pub(super) fn base_of_metadata(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '`' {
            while rest.next_if(char::is_ascii_digit).is_some() {}
        } else {
            text.push(c);
        }
    }
    text
}

/// A type that the compiler made, of a lambda or of an `async` method.
fn is_compiled(name: &str) -> bool {
    is_closure(name) || state_machine(name).is_some()
}

/// Whether a type holds the variables that a lambda captured.
pub(super) fn is_closure(name: &str) -> bool {
    name.contains("<>c__DisplayClass")
}

/// The type of an `async` method's state in a name: `<RunAsync>d__3` of `AsyncStateMachineBox<..., <RunAsync>d__3>`.
pub(super) fn state_machine(name: &str) -> Option<&str> {
    let mark = name.find(">d__")?;
    let start = name[..mark].rfind('<')?;
    let tail = &name[mark + ">d__".len()..];
    let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    Some(&name[start..mark + ">d__".len() + digits])
}

/// The name of the method of such a type.
pub(super) fn method_of_state_machine(name: &str) -> Option<&str> {
    let state = state_machine(name)?;
    state.strip_prefix('<')?.split_once('>').map(|(method, _)| method).filter(|method| !method.is_empty())
}

/// Whether a pending `async` operation is of this type.
pub(super) fn is_async_box(name: &str) -> bool {
    name.contains("StateMachineBox") || state_machine(name).is_some()
}

/// Whether a type is a delegate, by the class library's names.
pub(super) fn is_known_delegate(name: &str) -> bool {
    let base = base(name);
    let Some(short) = base.strip_prefix("System.") else { return false };
    let last = short.rsplit('.').next().unwrap_or(short);
    matches!(
        last,
        "Action" | "Func" | "Predicate" | "Comparison" | "Converter" | "AsyncCallback" | "ThreadStart"
    ) || ["EventHandler", "Callback", "Delegate"].iter().any(|end| last.ends_with(end))
}

/// Whether an object of this type has something of the operating system that must be given back.
pub(super) fn is_handle(name: &str) -> bool {
    let base = base(name);
    let last = base.rsplit('.').next().unwrap_or(&base);
    last.ends_with("SafeHandle")
        || base.starts_with("Microsoft.Win32.SafeHandles.")
        || (base.starts_with("System.IO.") && (last.ends_with("FileStream") || last.ends_with("FileHandle")))
        || matches!(&*base, "System.Net.Sockets.Socket" | "System.Diagnostics.Process")
}

/// Whether a collection finds its elements by a key, as caches do.
pub(super) fn is_keyed(name: &str) -> bool {
    let base = base(name);
    let last = base.rsplit('.').next().unwrap_or(&base);
    (base.starts_with("System.") || base.starts_with("Microsoft."))
        && (last.ends_with("Dictionary")
            || matches!(last, "Hashtable" | "SortedList" | "MemoryCache" | "Lazy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_cut_and_names_of_the_compiler_are_not() {
        assert_eq!(base("System.Collections.Generic.List<Shop.Order>"), "System.Collections.Generic.List");
        assert_eq!(base("Entry<System.String, A<B>>[]"), "Entry[]");
        assert_eq!(base("<>c__DisplayClass3_0"), "<>c__DisplayClass3_0");
        assert_eq!(base("Shop.Outer+<RunAsync>d__3"), "Shop.Outer+<RunAsync>d__3");
        assert_eq!(base(""), "");
        assert_eq!(
            base_of_metadata("System.Collections.Generic.List`1[]"),
            "System.Collections.Generic.List[]"
        );
    }

    #[test]
    fn the_class_library_is_told_from_the_program() {
        assert!(is_of_framework("Shop.Order[]", Some("/app/Shop.dll")));
        assert!(is_of_framework("Node<System.Int32, Shop.Order>", Some("/app/Shop.dll")));
        assert!(is_of_framework("TimerHolder", Some("/usr/share/System.Private.CoreLib.dll")));
        assert!(!is_of_framework("Shop.Order", Some("/app/Shop.dll")));
        assert!(!is_of_framework("<>c__DisplayClass3_0", None));
        assert!(!is_of_framework("Order", Some("/app/Shop.dll")));
    }

    #[test]
    fn state_machines_are_named_by_their_method() {
        let name = "AsyncStateMachineBox<System.Threading.Tasks.VoidTaskResult, Shop.Hub+<WaitAsync>d__12>";
        assert_eq!(state_machine(name), Some("<WaitAsync>d__12"));
        assert_eq!(method_of_state_machine(name), Some("WaitAsync"));
        assert_eq!(state_machine("Shop.Order"), None);
    }

    #[test]
    fn kinds_of_types_are_known() {
        assert!(is_known_delegate("System.Action<System.Int32>") && is_known_delegate("System.EventHandler"));
        assert!(is_known_delegate("System.Threading.TimerCallback") && !is_known_delegate("Shop.Action"));
        assert!(is_handle("Microsoft.Win32.SafeHandles.SafeFileHandle") && is_handle("System.IO.FileStream"));
        assert!(!is_handle("Shop.Order"));
        assert!(is_keyed("System.Collections.Concurrent.ConcurrentDictionary<A, B>"));
        assert!(!is_keyed("System.Collections.Generic.List<A>"));
    }
}
