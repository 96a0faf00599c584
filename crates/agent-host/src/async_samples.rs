//! The question which async methods run, and who awaits them.

use std::collections::HashMap;

use agent_wire::{Ask, Chain, Class, FromAgent, Pause, Pending};

use crate::attached::{MOST_FRAMES, Stacks};
use crate::{AgentError, Attached};

/// The stacks of all managed threads at one instant, and who awaits the async methods that they run.
///
/// Methods and types are told once in a visit, with the first sample that has them.
#[derive(Clone, Debug, Default)]
pub struct AsyncSample {
    /// The stacks, of threads that have managed frames.
    pub stacks: Stacks,
    /// Of threads that run a resumed async method, by the runtime's id of the thread.
    pub chains: HashMap<u64, Chain>,
    /// Types of the links, by id: of an async method the type of its state machine.
    pub classes: HashMap<u64, Class>,
}

/// All async methods that are not finished.
#[derive(Clone, Debug, Default)]
pub struct AsyncCensus {
    /// By who awaits them.
    pub pending: Vec<Pending>,
    /// Types of the links that have not been told before in this visit, by id.
    pub classes: HashMap<u64, Class>,
    /// Whether a part of the heap was not looked at, because it takes too long.
    pub cut: bool,
    /// How long the target stood still.
    pub pause: Pause,
}

impl Attached {
    /// Looks once. What kinds of objects there are is learnt between two looks: the first ones have no chains.
    pub fn async_sample(&mut self) -> Result<AsyncSample, AgentError> {
        let mut answer = AsyncSample::default();
        let mut frames = 0;
        (answer.stacks.left_out, answer.stacks.pause) = self.ask(Ask::AsyncSample, |part| match part {
            FromAgent::Stack(stack) => {
                frames += stack.frames.len();
                answer.stacks.stacks.push(stack);
                frames <= MOST_FRAMES
            }
            FromAgent::Method(method) => {
                answer.stacks.methods.insert(method.id, method);
                true
            }
            FromAgent::Chain(chain) => {
                answer.chains.insert(chain.thread, chain);
                true
            }
            FromAgent::Class(class) => {
                answer.classes.insert(class.id, class);
                true
            }
            _ => false,
        })?;
        Ok(answer)
    }

    /// Counts the async methods that are not finished (9 and newer). It takes samples before it to know what there is.
    pub fn async_census(&mut self) -> Result<AsyncCensus, AgentError> {
        let mut answer = AsyncCensus::default();
        let (left_out, pause) = self.ask(Ask::AsyncCensus, |part| match part {
            FromAgent::Pending(pending) => {
                answer.pending.push(pending);
                true
            }
            FromAgent::Class(class) => {
                answer.classes.insert(class.id, class);
                true
            }
            _ => false,
        })?;
        (answer.cut, answer.pause) = (left_out > 0, pause);
        Ok(answer)
    }
}
