//! Whose code a frame is.

use crate::{Frame, FrameKind};

/// Assemblies of the framework whose names do not say so, and the one that methods without a home live in.
const OTHERS: &[&str] = &[
    "mscorlib",
    "netstandard",
    "WindowsBase",
    "PresentationCore",
    "PresentationFramework",
    "Anonymously Hosted DynamicMethods Assembly",
];

/// First parts of the names of framework types, for a frame whose module is not known. Dynamic methods are among
/// them: they stand for what made them.
const NAMESPACES: &[&str] = &["System", "Microsoft", "Interop", "Internal", "dynamicClass"];

/// Whether a frame belongs to the framework or the runtime rather than to the program: its module is called `System.*`
/// or `Microsoft.*`, or the runtime made it itself. The first frame that is not is usually the one to name.
///
/// An assembly of the program that is called `Microsoft.*` is taken for the framework.
#[must_use]
pub fn is_framework(frame: &Frame) -> bool {
    match (frame.kind, frame.module.as_deref()) {
        (FrameKind::Managed, Some(module)) => is_framework_module(module),
        (FrameKind::Managed, None) => {
            // A frame without a method is called by a mark, `?` for example.
            let is_named =
                frame.name.starts_with(|letter: char| letter.is_alphabetic() || "<_".contains(letter));
            !is_named || NAMESPACES.contains(&frame.name.split('.').next().unwrap_or_default())
        }
        _ => true,
    }
}

/// The same for the name or path of a module.
#[must_use]
pub fn is_framework_module(module: &str) -> bool {
    let name = module_name(module);
    let first = name.split_once('.').map_or(name, |(first, _)| first);
    matches!(first, "System" | "Microsoft") || OTHERS.contains(&name)
}

/// The short name of a module: `/app/Shop.dll` is `Shop`. A name that is no path stays as it is.
#[must_use]
pub fn module_name(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let is_assembly = |kind: &str| ["dll", "exe"].iter().any(|known| kind.eq_ignore_ascii_case(known));
    file.rsplit_once('.').filter(|(_, kind)| is_assembly(kind)).map_or(file, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framework_is_told_by_its_modules() {
        let frame = |kind, module: Option<&str>| Frame {
            kind,
            name: "Ns.Type.Run".into(),
            module: module.map(Into::into),
            file: None,
            line: None,
        };
        for module in [
            "System.Private.CoreLib",
            "/usr/share/dotnet/System.Linq.dll",
            "System",
            "Microsoft.Win32",
            "mscorlib",
        ] {
            assert!(is_framework(&frame(FrameKind::Managed, Some(module))), "{module}");
        }
        for module in ["Patients", "/app/Shop.dll", "SystemOfOurs", "MicrosoftLike.Parts"] {
            assert!(!is_framework(&frame(FrameKind::Managed, Some(module))), "{module}");
        }
        assert!(!is_framework(&frame(FrameKind::Managed, None)));
        for name in ["System.String.Concat", "Interop.Sys.Read", "dynamicClass.lambda_method1", "?", ""] {
            assert!(is_framework(&Frame { name: name.into(), ..frame(FrameKind::Managed, None) }), "{name}");
        }
        assert!(is_framework(&frame(FrameKind::Stub, Some("Patients"))));
    }
}
