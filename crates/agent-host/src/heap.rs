//! Questions about the heap.

use agent_wire::{Ask, FromAgent, FromHost, HeapType, Layout, MOST_LAYOUTS, Object, Pause, Plan, Sample};

use crate::AgentError;
use crate::attached::Attached;

/// Most bytes of objects in an answer: more than an honest agent sends.
const MOST_BYTES: usize = 16 << 20;
/// The first version of the profiling interface that can walk the heap: that of .NET 9.
const WALKS: u16 = 15;

/// Types of the heap.
#[derive(Clone, Debug, Default)]
pub struct HeapTypes {
    /// The types, their parents and their arguments.
    pub types: Vec<HeapType>,
    /// How many did not fit, or were samples that have moved.
    pub left_out: u32,
    /// How long the target stood still.
    pub pause: Pause,
}

/// Objects of the heap.
#[derive(Clone, Debug, Default)]
pub struct HeapObjects {
    /// The objects.
    pub objects: Vec<Object>,
    /// How many did not fit, or were samples that have moved.
    pub left_out: u32,
    /// How long the target stood still.
    pub pause: Pause,
}

impl Attached {
    /// Whether this runtime can walk its heap (9 and newer); others need samples.
    #[must_use]
    pub fn walks_heap(&self) -> bool {
        self.hello().interface >= WALKS
    }

    /// The types that have objects: all of them by a walk of the heap, or those of samples that somebody else took. A sample
    /// that has moved is left out.
    pub fn heap_types(&mut self, samples: Vec<Sample>) -> Result<HeapTypes, AgentError> {
        let mut answer = HeapTypes::default();
        self.plan(Plan { samples, ..Plan::default() })?;
        (answer.left_out, answer.pause) = self.ask(Ask::HeapTypes, |part| match part {
            FromAgent::HeapType(told) => {
                answer.types.push(told);
                true
            }
            _ => false,
        })?;
        Ok(answer)
    }

    /// The fields of types, which [`Attached::heap_types`] told before.
    pub fn layouts(&mut self, types: &[u64]) -> Result<Vec<Layout>, AgentError> {
        let mut answer = Vec::new();
        for part in types.chunks(MOST_LAYOUTS) {
            self.ask(Ask::Layouts(part.to_vec()), |part| match part {
                FromAgent::Layout(layout) => {
                    answer.push(layout);
                    true
                }
                _ => false,
            })?;
        }
        Ok(answer)
    }

    /// Objects and what they refer to, as the plan says, at one instant.
    pub fn objects(&mut self, plan: Plan) -> Result<HeapObjects, AgentError> {
        let mut answer = HeapObjects::default();
        let mut bytes = 0;
        self.plan(plan)?;
        (answer.left_out, answer.pause) = self.ask(Ask::Objects, |part| match part {
            FromAgent::Objects(objects) => {
                bytes += objects.iter().map(|object| object.bytes.len()).sum::<usize>();
                answer.objects.extend(objects);
                bytes <= MOST_BYTES
            }
            _ => false,
        })?;
        Ok(answer)
    }

    fn plan(&mut self, plan: Plan) -> Result<(), AgentError> {
        plan.parts().into_iter().try_for_each(|part| self.tell(&FromHost::Plan(part)))
    }
}
