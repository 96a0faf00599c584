//! Questions about locks.

use std::collections::HashMap;

use agent_wire::{Ask, Blocked, Class, FromAgent, LockLayout, Owner, Pause, Range, ThreadEntry};

use crate::attached::{MOST_FRAMES, Stacks};
use crate::{AgentError, Attached};

/// Threads, and the domain that all of them are in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anchors {
    pub(crate) threads: Vec<ThreadEntry>,
    pub(crate) domain: u64,
    pub(crate) pause: Pause,
}

/// Stacks of all managed threads, and what they wait for, at one instant.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    /// The stacks.
    pub stacks: Stacks,
    /// Waits; of each thread the innermost first.
    pub blocked: Vec<Blocked>,
    /// Types of the lock objects, by id.
    pub classes: HashMap<u64, Class>,
}

/// Which fields refer to the locks that threads want to enter.
#[derive(Clone, Debug, Default)]
pub struct LockOwners {
    /// Waits, as they were at that moment.
    pub blocked: Vec<Blocked>,
    /// The fields.
    pub owners: Vec<Owner>,
    /// Types, by id.
    pub classes: HashMap<u64, Class>,
    /// Whether a part of the heap was not looked at.
    pub cut: bool,
    /// How long the target stood still.
    pub pause: Pause,
}

impl Attached {
    /// Parts of the target's memory; none where nothing can be read. At most [`agent_wire::MOST_RANGES`] of
    /// [`agent_wire::MOST_BYTES`] in all.
    pub(crate) fn read(&mut self, ranges: Vec<Range>) -> Result<Vec<Option<Vec<u8>>>, AgentError> {
        let lengths: Vec<u32> = ranges.iter().map(|range| range.length).collect();
        let mut found = Vec::new();
        self.ask(Ask::Read(ranges), |part| match part {
            FromAgent::Memory(parts) => {
                let is_right = |part: &Option<Vec<u8>>, length: &u32| {
                    part.as_ref().is_none_or(|part| u32::try_from(part.len()) == Ok(*length))
                };
                let fits = parts.len() == lengths.len()
                    && parts.iter().zip(&lengths).all(|(part, length)| is_right(part, length));
                found = parts;
                fits
            }
            _ => false,
        })?;
        found.resize(lengths.len(), None);
        Ok(found)
    }

    pub(crate) fn anchors(&mut self) -> Result<Anchors, AgentError> {
        let mut answer = Anchors::default();
        let (_, pause) = self.ask(Ask::Anchors, |part| match part {
            FromAgent::Domain(id) => {
                answer.domain = id;
                true
            }
            FromAgent::Thread(thread) => {
                answer.threads.push(thread);
                true
            }
            _ => false,
        })?;
        answer.pause = pause;
        Ok(answer)
    }

    /// The stacks of all managed threads, and what they wait for. [`crate::find_lock_layout`] finds the layout.
    pub fn locks(&mut self, layout: &LockLayout) -> Result<Locks, AgentError> {
        let mut answer = Locks::default();
        let mut frames = 0;
        (answer.stacks.left_out, answer.stacks.pause) = self.ask(Ask::Locks(*layout), |part| {
            match part {
                FromAgent::Stack(stack) => {
                    frames += stack.frames.len();
                    answer.stacks.stacks.push(stack);
                }
                FromAgent::Method(method) => {
                    answer.stacks.methods.insert(method.id, method);
                }
                FromAgent::Blocked(blocked) => answer.blocked.push(blocked),
                FromAgent::Class(class) => {
                    answer.classes.insert(class.id, class);
                }
                _ => return false,
            }
            frames <= MOST_FRAMES
        })?;
        Ok(answer)
    }

    /// Which fields refer to the locks that threads want to enter: static fields of types that have a method on a stack, and
    /// on .NET 9 and newer the fields of all objects, for which the heap is walked while the program stands still.
    pub fn lock_owners(&mut self, layout: &LockLayout) -> Result<LockOwners, AgentError> {
        let mut answer = LockOwners::default();
        let (left_out, pause) = self.ask(Ask::Owners(*layout), |part| {
            match part {
                FromAgent::Blocked(blocked) => answer.blocked.push(blocked),
                FromAgent::Owner(owner) => answer.owners.push(owner),
                FromAgent::Class(class) => {
                    answer.classes.insert(class.id, class);
                }
                _ => return false,
            }
            true
        })?;
        (answer.cut, answer.pause) = (left_out > 0, pause);
        Ok(answer)
    }
}
