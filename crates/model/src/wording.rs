//! Facts in words, where more than one crate puts the same fact into words.

use facts::Caller;

/// Callers of a list before the rest is only counted.
const MAX_CALLERS: usize = 3;

/// Who awaits something: `Shop.Quote 75 %, Shop.Audit 25 %`.
#[must_use]
pub fn awaited_by(callers: &[Caller]) -> String {
    let shown = callers
        .iter()
        .take(MAX_CALLERS)
        .map(|caller| format!("{} {:.0} %", caller.method.as_deref().unwrap_or("nobody"), caller.percent));
    let mut shown: Vec<String> = shown.collect();
    if callers.len() > MAX_CALLERS {
        shown.push(format!("{} others", callers.len() - MAX_CALLERS));
    }
    shown.join(", ")
}
