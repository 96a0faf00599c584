//! Stacks of a trace by their numbers, so that each is taken apart once between two sequence points.

use nettrace::{CodeAddress, Stack, StackId, Stacks};
use stacks::{StackKey, StackTable};

use crate::marker;

/// Numbers up to here are remembered. Runtimes count from 1 and begin again after 10 MB of events.
const REMEMBERED: u32 = 1 << 20;

/// What the innermost address of a stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Innermost {
    /// The instruction that was next: a thread was stopped there.
    Instruction,
    /// Where a call returns to, like all others of a stack. The call stands before it.
    Return,
}

/// The keys of the stacks between two sequence points.
#[derive(Default)]
pub(crate) struct StackIds {
    /// By [`Innermost`].
    keys: [Vec<Option<StackKey>>; 2],
}

impl StackIds {
    /// Stack numbers mean something else from now on.
    pub fn clear(&mut self) {
        self.keys.iter_mut().for_each(Vec::clear);
    }

    /// These numbers have new stacks.
    pub fn replaced(&mut self, stacks: &Stacks<'_>) {
        if self.keys.iter().all(Vec::is_empty) {
            return;
        }
        for stack in stacks.iter() {
            for keys in &mut self.keys {
                if let Some(key) = keys.get_mut(stack.id.0 as usize) {
                    *key = None;
                }
            }
        }
    }

    /// The key of a stack.
    #[inline]
    pub fn key(
        &mut self,
        table: &mut StackTable,
        stack: &Stack<'_>,
        innermost: Innermost,
    ) -> Option<StackKey> {
        let StackId(number) = stack.id;
        let keys = &mut self.keys[innermost as usize];
        if let Some(Some(key)) = keys.get(number as usize) {
            return Some(*key);
        }
        let key = intern(table, stack, innermost)?;
        if number < REMEMBERED {
            let place = number as usize;
            if keys.len() <= place {
                keys.resize(place + 1, None);
            }
            keys[place] = Some(key);
        }
        Some(key)
    }
}

fn intern(table: &mut StackTable, stack: &Stack<'_>, innermost: Innermost) -> Option<StackKey> {
    let frames = stack.frames().enumerate().map(|(place, address)| {
        let is_exact = place == 0 && innermost == Innermost::Instruction;
        // A call can be the last instruction of its method; what follows belongs to another one.
        CodeAddress(marker::real(if is_exact { address.0 } else { address.0.saturating_sub(1) }))
    });
    table.intern(frames)
}
