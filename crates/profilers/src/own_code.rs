//! Whose code a frame is: the program's own, or the framework's.
//!
//! A person can change the first and hardly the second, so findings blame the innermost frame of the program's own.

use model::{Culprit, CulpritKind, Frame, FrameKind};

/// First parts of the names of assemblies and namespaces that come with .NET.
const FRAMEWORK: &[&str] = &["System", "Microsoft", "Interop", "Internal", "Windows"];
/// Assemblies that come with .NET and are named otherwise.
const FRAMEWORK_ASSEMBLIES: &[&str] =
    &["mscorlib", "netstandard", "WindowsBase", "PresentationCore", "PresentationFramework"];
/// Types of code that is made at run time.
const MADE_AT_RUN_TIME: &[&str] = &["dynamicClass", "DynamicClass", "DomainNeutralILStubClass", "?"];

/// The name of an assembly: `/app/Shop.Api.dll` is `Shop.Api`.
pub(crate) fn assembly(module: &str) -> &str {
    let file = module.rsplit(['/', '\\']).next().unwrap_or(module);
    file.strip_suffix(".dll").or_else(|| file.strip_suffix(".exe")).unwrap_or(file)
}

fn begins_with_part(name: &str, part: &str) -> bool {
    name.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '+']))
}

/// Whether a frame is code of the program, or of a library that it chose.
pub(crate) fn is_own(frame: &Frame) -> bool {
    if frame.kind != FrameKind::Managed || frame.name.is_empty() {
        return false;
    }
    let is_framework = |name: &str| FRAMEWORK.iter().any(|part| begins_with_part(name, part));
    match frame.module.as_deref().map(assembly).filter(|name| !name.is_empty()) {
        Some(assembly) => !is_framework(assembly) && !FRAMEWORK_ASSEMBLIES.contains(&assembly),
        None => {
            !is_framework(&frame.name)
                && !MADE_AT_RUN_TIME.iter().any(|part| begins_with_part(&frame.name, part))
        }
    }
}

/// A method as the culprit of a finding, with its place when it is known.
pub(crate) fn culprit(frame: &Frame) -> Culprit {
    Culprit {
        file: frame.file.clone(),
        line: frame.line,
        ..Culprit::new(CulpritKind::Method, frame.name.clone())
    }
}

/// A name without what makes it generic, so that it can be compared: `` Task`1[System.Decimal].get_Result `` and
/// `Task<decimal>.get_Result` are both `Task.get_Result`.
pub(crate) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut depth = 0u32;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '[' | '<' => depth += 1,
            ']' | '>' => depth = depth.saturating_sub(1),
            '`' if depth == 0 => while letters.next_if(char::is_ascii_digit).is_some() {},
            '(' if depth == 0 => break,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, module: Option<&str>) -> Frame {
        let module = module.map(str::to_owned);
        Frame { kind: FrameKind::Managed, name: name.to_owned(), module, file: None, line: None }
    }

    #[test]
    fn the_framework_is_told_by_its_assemblies() {
        assert!(is_own(&frame("Shop.Api.Checkout.Pay", Some("/app/Shop.Api.dll"))));
        assert!(is_own(&frame("System.Like.Mine", Some("Shop"))));
        assert!(is_own(&frame("Systematic.Review", Some("Systematic.dll"))));
        assert!(!is_own(&frame("System.Threading.Thread.Sleep", Some("/x/System.Private.CoreLib.dll"))));
        assert!(!is_own(&frame("Polly.Made", Some("Microsoft.Extensions.Http"))));
        assert!(!is_own(&frame("Interop+Sys.Accept", None)));
        assert!(!is_own(&frame("?", None)));
        assert!(is_own(&frame("Shop.Checkout.Pay", None)));
    }

    #[test]
    fn generic_names_compare() {
        let raw = "System.Threading.Tasks.Task`1[System.Decimal].get_Result";
        assert_eq!(plain(raw), "System.Threading.Tasks.Task.get_Result");
        assert_eq!(plain("System.Threading.Tasks.Task<decimal>.get_Result"), plain(raw));
        assert_eq!(plain("Shop.Cart.Add(int, string)"), "Shop.Cart.Add");
        assert_eq!(plain("]>A"), "A");
    }
}
