//! What frames and threads are called.

use model::Frame;
use stacks::{Profile, ProfileThread, ThreadSlot, Weight};

/// What stands for a stack that is not known.
pub(crate) const NO_STACK: &str = "(no stack)";

/// `Module!Type.Method`, as other .NET tools write it.
#[must_use]
pub fn frame(frame: &Frame) -> String {
    match frame.module.as_deref().map(module).filter(|module| !module.is_empty()) {
        Some(module) => format!("{module}!{}", frame.name),
        None => frame.name.clone(),
    }
}

/// The name of a module without its folder and the ending of its file.
#[must_use]
pub fn module(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    [".dll", ".exe", ".so"].iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file)
}

/// `Thread (4242)`, and its name if it has one.
pub(crate) fn thread(thread: &ProfileThread) -> String {
    match &thread.name {
        Some(name) => format!("Thread ({}) {name}", thread.id),
        None => format!("Thread ({})", thread.id),
    }
}

/// All threads with their slots.
pub(crate) fn threads(profile: &Profile) -> impl Iterator<Item = (ThreadSlot, &ProfileThread)> {
    (0..).map(ThreadSlot).zip(&profile.threads)
}

/// What weights are counted in.
pub(crate) fn unit(weight: Weight) -> &'static str {
    match weight {
        Weight::Nanoseconds => "nanoseconds",
        Weight::Bytes => "bytes",
        Weight::Count => "count",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_lose_their_folders() {
        assert_eq!(module("/usr/share/dotnet/System.Private.CoreLib.dll"), "System.Private.CoreLib");
        assert_eq!(module(r"C:\app\Shop.exe"), "Shop");
        assert_eq!(module("Anonymously Hosted"), "Anonymously Hosted");
    }
}
