//! The question which async methods run, and who awaits them.

use std::collections::HashMap;

use agent_wire::{Ask, Chain, Class, FromAgent};

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
}
