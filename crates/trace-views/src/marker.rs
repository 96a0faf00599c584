//! Frames that are no code: what a thread was doing below its last method.
//!
//! Stacks are kept by address, so these get addresses where no code can be.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use model::{Frame, FrameKind};
use nettrace::CodeAddress;

/// Below it the thread was outside managed code: in the runtime, in a native library, in the kernel, waiting or not.
pub const UNMANAGED_CODE_TIME: &str = "UNMANAGED_CODE_TIME";

/// The name of code nobody has named.
pub const UNNAMED: &str = "?!?";

/// No processor has code here: bit 63 says kernel, and bit 62 then has to be set as well.
const FIRST: u64 = 1 << 63;
const LAST: u64 = FIRST | u32::MAX as u64;

/// Markers that are kept apart; a program has hardly more types than this.
const MOST: usize = 1 << 16;

/// Whether a frame is no method, but says what the thread was doing: allocated this type, threw that exception, was
/// outside managed code.
#[must_use]
pub fn is_marker(frame: &Frame) -> bool {
    frame.kind == FrameKind::Runtime && frame.module.is_none()
}

/// The frame of code nobody has named.
pub(crate) fn unnamed() -> Frame {
    frame(FrameKind::Native, UNNAMED.to_owned())
}

fn frame(kind: FrameKind, name: String) -> Frame {
    Frame { kind, name, module: None, file: None, line: None }
}

/// The address, unless it is one of ours, which no trace has by right.
pub(crate) fn real(address: u64) -> u64 {
    if (FIRST..=LAST).contains(&address) { 0 } else { address }
}

/// All markers of a trace.
pub(crate) struct Markers {
    names: Vec<String>,
    by_name: HashMap<String, u32, RandomState>,
}

/// The address of [`UNMANAGED_CODE_TIME`].
pub(crate) const UNMANAGED: CodeAddress = CodeAddress(FIRST);

impl Markers {
    pub fn new() -> Markers {
        let mut markers = Markers { names: Vec::new(), by_name: HashMap::default() };
        markers.address(UNMANAGED_CODE_TIME);
        markers
    }

    /// The address of a marker; one address for all names beyond what is kept.
    pub fn address(&mut self, name: &str) -> CodeAddress {
        let number = match self.by_name.get(name) {
            Some(number) => *number,
            None if self.names.len() < MOST => {
                let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
                self.names.push(name.to_owned());
                self.by_name.insert(name.to_owned(), number);
                number
            }
            None => u32::MAX,
        };
        CodeAddress(FIRST | u64::from(number))
    }

    /// The frame of a marker's address; none if it is the address of code.
    pub fn frame(&self, address: CodeAddress) -> Option<Frame> {
        if !(FIRST..=LAST).contains(&address.0) {
            return None;
        }
        let number = usize::try_from(address.0 - FIRST).unwrap_or(usize::MAX);
        let name = self.names.get(number).map_or("(others)", String::as_str);
        Some(frame(FrameKind::Runtime, name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_have_addresses_of_their_own() {
        let mut markers = Markers::new();
        let one = markers.address("Type A");
        assert_eq!(markers.address("Type A"), one);
        assert_ne!(markers.address("Type B"), one);
        assert_eq!(markers.frame(one).unwrap().name, "Type A");
        assert_eq!(markers.frame(UNMANAGED).unwrap().name, UNMANAGED_CODE_TIME);
        assert!(markers.frame(CodeAddress(0x7F00_0000_1000)).is_none());
        assert_eq!(real(one.0), 0, "a trace that uses such an address does not get a marker");
    }

    #[test]
    fn names_beyond_what_is_kept_share_one() {
        let mut markers = Markers::new();
        for number in 0..=MOST {
            markers.address(&format!("Type T{number}"));
        }
        let late = markers.address("Type Late");
        assert_eq!(markers.frame(late).unwrap().name, "(others)");
    }
}
