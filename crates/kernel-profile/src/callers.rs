//! The caller that frame pointers miss in an innermost managed frame.

use std::collections::HashMap;

use symbols::Position;
use unwinding::leaf;

use crate::followed::{Followed, is_code};
use crate::namer::Namer;
use crate::samples::Taken;

/// Bytes of a method that are looked at, at most, and at least.
const MOST_CODE: usize = 64 << 10;
const LEAST_CODE: usize = 64;
/// Code that is held at a time.
const MOST_HELD: usize = 4 << 20;

/// Finds missing callers.
#[derive(Default)]
pub(crate) struct Callers {
    code: HashMap<u64, Vec<u8>>,
    held: usize,
}

impl Callers {
    /// The return address that belongs between the innermost user frame and the next one, `leaf` being the former.
    pub(crate) fn missing(
        &mut self,
        process: &Followed,
        namer: &Namer<'_>,
        taken: &Taken,
        leaf: u64,
    ) -> Option<u64> {
        let top = taken.place.top()?;
        let distance = match namer.method_at(leaf, Position::Interrupted, taken.at.0) {
            Some(method) => {
                let start = method.start().0;
                let inside = usize::try_from(leaf.checked_sub(start)?).ok()?;
                let length = usize::try_from(method.code_bytes()).unwrap_or(usize::MAX);
                let code = self.code(namer, start, length.clamp(LEAST_CODE, MOST_CODE));
                match leaf::frame_at(code, inside) {
                    leaf::Frame::None { words } if !code.is_empty() => words,
                    _ => return None,
                }
            }
            // A stub keeps nothing on the stack: its caller is at the top.
            None => 0,
        };
        process.tops.word(top, distance).filter(|caller| is_code(&process.map, *caller))
    }

    fn code(&mut self, namer: &Namer<'_>, start: u64, length: usize) -> &[u8] {
        if self.held > MOST_HELD {
            self.code.clear();
            self.held = 0;
        }
        let held = &mut self.held;
        self.code.entry(start).or_insert_with(|| {
            *held += length;
            namer.memory.read(start, length)
        })
    }
}
