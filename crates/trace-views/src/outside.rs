//! Whether threads were outside managed code.
//!
//! Samples say so, but those of .NET 9 and early 10 nearly always say yes (dotnet/runtime#123996). There the innermost
//! method has to tell: one that waits or calls out of managed code is outside, any other is not.

use model::{Frame, FrameKind};
use stacks::{Profile, StackKey};

use crate::marker::{UNMANAGED_CODE_TIME, UNNAMED, is_marker};

/// The first version whose samples do not tell.
const FIRST_SILENT: u32 = 9;
/// With more samples in managed code than one in so many, they do tell.
const FEW_MANAGED: u64 = 20;

/// Framework methods that call the kernel without a frame of their own for it.
const CALLS_OUT: &[&str] = &["System.Net.Sockets.SocketAsyncEngine.EventLoop"];

/// Words in the names of methods of `System.Threading` that wait.
const WAITING: &[&str] = &["Wait", "Sleep", "Join", "Enter", "Acquire", "Block"];

/// Whether samples of a runtime say if managed code ran.
pub(crate) fn samples_tell(samples: u64, managed: u64, runtime: Option<&str>) -> bool {
    let major: Option<u32> = runtime.and_then(|version| version.split('.').next()?.parse().ok());
    let is_silent = major.is_some_and(|major| major >= FIRST_SILENT) && managed < samples / FEW_MANAGED;
    !is_silent
}

/// Takes the marker from stacks whose innermost method does not look as if it had left managed code.
pub(crate) fn guess(profile: &mut Profile) {
    let mut judged: Vec<Option<Option<StackKey>>> = vec![None; profile.nodes.len()];
    let mut samples = std::mem::take(&mut profile.samples);
    for sample in &mut samples {
        let Some(stack) = sample.stack else { continue };
        let Some(place) = judged.get_mut(stack.0 as usize) else { continue };
        sample.stack = *place.get_or_insert_with(|| judge(profile, stack));
    }
    profile.samples = samples;
}

/// What a stack should be.
fn judge(profile: &Profile, stack: StackKey) -> Option<StackKey> {
    let frame = |key: StackKey| {
        let node = profile.nodes.get(key.0 as usize)?;
        Some((node.caller, profile.frames.get(node.frame.0 as usize)?))
    };
    match frame(stack) {
        Some((Some(caller), marker)) if is_unmanaged(marker) => {
            let stays = frame(caller).is_none_or(|(_, innermost)| leaves_managed_code(innermost));
            Some(if stays { stack } else { caller })
        }
        _ => Some(stack),
    }
}

/// Drops samples of threads that were outside managed code.
pub(crate) fn drop_outside(profile: &mut Profile) {
    let mut samples = std::mem::take(&mut profile.samples);
    samples.retain(|sample| {
        let node = sample.stack.and_then(|stack| profile.nodes.get(stack.0 as usize));
        let frame = node.and_then(|node| profile.frames.get(node.frame.0 as usize));
        frame.is_some_and(|frame| !is_unmanaged(frame))
    });
    profile.samples = samples;
}

fn is_unmanaged(frame: &Frame) -> bool {
    is_marker(frame) && frame.name == UNMANAGED_CODE_TIME
}

fn leaves_managed_code(frame: &Frame) -> bool {
    let name = frame.name.as_str();
    let (type_name, method) =
        name.split_once('(').map_or(name, |(name, _)| name).rsplit_once('.').unwrap_or(("", name));
    frame.kind != FrameKind::Managed
        || name == UNNAMED
        || type_name == "Interop"
        || name.starts_with("Interop.")
        || CALLS_OUT.contains(&name)
        || (type_name.starts_with("System.Threading.") && WAITING.iter().any(|word| method.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_net_9_do_not_tell() {
        assert!(samples_tell(1000, 0, Some("8.0.30")), "an idle program");
        assert!(samples_tell(1000, 0, None));
        assert!(!samples_tell(1000, 1, Some("9.0.725")));
        assert!(samples_tell(1000, 400, Some("10.0.900")), "where it was put right");
    }

    #[test]
    fn methods_that_wait_or_call_out_are_outside() {
        let frame = |name: &str| Frame {
            kind: FrameKind::Managed,
            name: name.to_owned(),
            module: None,
            file: None,
            line: None,
        };
        for outside in [
            "System.Threading.Thread.Sleep",
            "System.Threading.Monitor.Wait(object, int)",
            "System.Threading.LowLevelLifoSemaphore.WaitForSignal",
            "Interop.Sys.Poll",
            "?!?",
        ] {
            assert!(leaves_managed_code(&frame(outside)), "{outside}");
        }
        for inside in
            ["Pricing.DiscountBook.FindBest", "Shop.Lock.Wait", "System.String.Concat", "Interoperate"]
        {
            assert!(!leaves_managed_code(&frame(inside)), "{inside}");
        }
    }
}
