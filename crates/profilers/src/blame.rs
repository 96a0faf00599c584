//! Whom to name: a frame of the program's own code rather than one of the framework that it called.

use model::{Culprit, CulpritKind, Frame};

/// What a frame is called that has no name.
pub(crate) const UNNAMED: &str = "?";

/// The innermost frame of the program's own code; if all of it is the framework's, the innermost with a name.
pub(crate) fn own_frame(frames: &[Frame]) -> Option<&Frame> {
    let named = || frames.iter().filter(|frame| frame.name != UNNAMED);
    named().find(|frame| is_own(frame)).or_else(|| named().find(|frame| !is_plumbing(frame)))
}

/// The innermost frame that is not part of how the runtime throws exceptions.
pub(crate) fn throwing_frame(frames: &[Frame]) -> Option<&Frame> {
    frames.iter().find(|frame| frame.name != UNNAMED && !is_plumbing(frame))
}

/// From .NET 9 on exceptions are dispatched, and some events written, by managed code, which stands above the frame
/// that is meant.
pub(crate) fn is_plumbing(frame: &Frame) -> bool {
    frame.name.starts_with("System.Runtime.EH.")
        || frame.name.starts_with("System.Diagnostics.Tracing.NativeRuntimeEventSource.")
}

/// Whether a frame is of the program or of a library it brought along, and not of .NET itself.
pub(crate) fn is_own(frame: &Frame) -> bool {
    !symbols::is_framework(frame)
}

/// A frame as the culprit of a finding.
#[must_use]
pub fn method(frame: &Frame) -> Culprit {
    Culprit { file: frame.file.clone(), line: frame.line, ..Culprit::new(CulpritKind::Method, &frame.name) }
}

/// A frame in a table: `Shop.Orders.Add:42`.
pub(crate) fn place(frame: &Frame) -> String {
    frame.line.map_or_else(|| frame.name.clone(), |line| format!("{}:{line}", frame.name))
}

/// The place of the program's own code in a stack, when known.
pub(crate) fn own_place(frames: &[Frame]) -> Option<String> {
    own_frame(frames).map(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen::frame;

    #[test]
    fn the_programs_own_code_is_named() {
        let frames = [
            frame("System.Runtime.EH.RhThrowEx", "/dotnet/System.Private.CoreLib.dll"),
            frame("System.Number.ThrowFormatException", "/dotnet/System.Private.CoreLib.dll"),
            frame("Shop.Feed.Parse", "/app/Shop.dll"),
            frame("Shop.Feed.Read", "/app/Shop.dll"),
        ];
        assert_eq!(own_frame(&frames).unwrap().name, "Shop.Feed.Parse");
        assert_eq!(own_frame(&frames[..2]).unwrap().name, "System.Number.ThrowFormatException");
        assert_eq!(throwing_frame(&frames).unwrap().name, "System.Number.ThrowFormatException");
        assert!(own_frame(&[]).is_none());
    }

    #[test]
    fn a_program_is_told_from_the_framework_by_its_module() {
        for own in ["/app/Shop.dll", "C:\\app\\SystemShop.dll", "Azure.Core", "azmcp"] {
            assert!(is_own(&frame("a", own)), "{own}");
        }
        for foreign in ["/usr/System.Linq.dll", "Microsoft.AspNetCore.Http.dll", "mscorlib", "System"] {
            assert!(!is_own(&frame("a", foreign)), "{foreign}");
        }
    }
}
