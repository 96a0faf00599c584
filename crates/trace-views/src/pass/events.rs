//! What each event adds.

use nettrace::Event;
use runtime_events::process::RuntimeInfo;
use runtime_events::{RuntimeEvent, decode};
use stacks::{Sample, StackKey};

use super::Pass;
use crate::collected::Collected;
use crate::event_kinds::Role;
use crate::marker;
use crate::sampler::Span;
use crate::stack_ids::Innermost;
use crate::view::View;

/// In the payload of a sample: the thread was outside managed code.
const EXTERNAL: u32 = 1;

impl Pass {
    pub(super) fn event(&mut self, event: &Event<'_>) {
        self.events += 1;
        let Some(kind) = self.kinds.count(event) else { return };
        let (role, is_wanted) = (kind.role, kind.is_wanted);
        if !kind.is_rundown {
            self.end = self.end.max(event.header.timestamp);
        }
        if is_wanted {
            self.wanted(event);
        }
        match role {
            Role::Sample => self.sample(event),
            Role::Decoded => match decode(event) {
                Ok(Some(decoded)) => self.decoded(event, &decoded),
                Ok(None) => {}
                Err(_) => self.undecodable += 1,
            },
            Role::Counted => {}
        }
    }

    fn stack(&mut self, event: &Event<'_>, innermost: Innermost) -> Option<StackKey> {
        self.stack_ids.key(&mut self.table, event.stack.as_ref()?, innermost)
    }

    /// One sample with the weight of an event.
    fn weighed(&mut self, event: &Event<'_>, weight: u64) -> Sample {
        let thread = self.threads.slot(event);
        let stack = self.stack(event, Innermost::Return);
        Sample { at_ns: self.nanos(event.header.timestamp), weight, thread, stack }
    }

    fn wanted(&mut self, event: &Event<'_>) {
        let sample = self.weighed(event, 1);
        if self.thread.is_none_or(|wanted| self.threads.id(sample.thread) == Some(wanted))
            && let Some(collected) = &mut self.wanted_event
        {
            collected.add(sample);
        }
    }

    fn is_collected(&self, view: View) -> bool {
        matches!(self.views.get(view.place()), Some(Some(_)))
    }

    fn sample(&mut self, event: &Event<'_>) {
        let Some(kind) = event.payload.first_chunk::<4>() else {
            self.undecodable += 1;
            return;
        };
        let is_managed = u32::from_le_bytes(*kind) != EXTERNAL;
        self.counts[View::ThreadTime.place()] += 1;
        self.managed_samples += u64::from(is_managed);
        if !self.is_collected(View::ThreadTime) {
            return;
        }
        if std::mem::take(&mut self.takes_best) {
            // Nothing is better than thread time, so nothing else need be kept.
            self.views.iter_mut().skip(1).for_each(|view| *view = None);
        }
        let thread = self.threads.slot(event);
        let innermost = if is_managed { Innermost::Instruction } else { Innermost::Return };
        let mut stack = self.stack(event, innermost);
        if !is_managed {
            stack = self.table.child(stack, marker::UNMANAGED);
        }
        let at_ns = self.nanos(event.header.timestamp);
        let Pass { sampler, views, threads, thread: wanted, .. } = self;
        sampler.sample(thread, at_ns, stack, |span| {
            if wanted.is_none_or(|wanted| threads.id(span.thread) == Some(wanted)) {
                add_span(views, span);
            }
        });
    }

    /// The last sample of each thread.
    pub(super) fn finish_samples(&mut self, interval_ns: u64, end_ns: u64) {
        let Pass { sampler, views, threads, thread: wanted, .. } = self;
        sampler.finish(interval_ns, end_ns, |span| {
            if wanted.is_none_or(|wanted| threads.id(span.thread) == Some(wanted)) {
                add_span(views, span);
            }
        });
    }

    fn decoded(&mut self, event: &Event<'_>, decoded: &RuntimeEvent<'_>) {
        match decoded {
            RuntimeEvent::AllocationTick(tick) => {
                if !self.has_sampled_allocations {
                    let name = tick.type_name.map(|name| format!("Type {name}"));
                    self.marked(View::Allocations, event, tick.allocated_bytes(), name);
                }
            }
            RuntimeEvent::AllocationSampled(sampled) => {
                if !self.has_sampled_allocations {
                    self.has_sampled_allocations = true;
                    self.forget_ticks();
                }
                let name = format!("Type {}", sampled.type_name);
                self.marked(View::Allocations, event, whole(sampled.represented_bytes()), Some(name));
            }
            RuntimeEvent::ExceptionThrown(thrown) => {
                self.marked(View::Exceptions, event, 1, Some(format!("Throw({})", thrown.type_name)));
            }
            RuntimeEvent::ContentionStart(_) => self.starts_to_wait(View::Contention, event),
            RuntimeEvent::ContentionStop(stop) => {
                self.stops_to_wait(View::Contention, event, stop.nanoseconds.map(whole));
            }
            RuntimeEvent::WaitStart(_) => self.starts_to_wait(View::Waits, event),
            RuntimeEvent::WaitStop(_) => self.stops_to_wait(View::Waits, event, None),
            RuntimeEvent::ThreadCreated(thread) | RuntimeEvent::ThreadRundown(thread) => {
                self.threads.learn(thread)
            }
            RuntimeEvent::ProcessInfo(process) => self.command_line = Some(process.command_line.to_string()),
            RuntimeEvent::RuntimeStart(runtime) | RuntimeEvent::RuntimeRundown(runtime) => {
                self.runtime(runtime)
            }
            other => {
                self.code.learn(other);
            }
        }
    }

    /// Ticks came before the first sampled allocation: they count the same bytes.
    fn forget_ticks(&mut self) {
        self.counts[View::Allocations.place()] = 0;
        if let Some(Some(collected)) = self.views.get_mut(View::Allocations.place()) {
            collected.clear();
        }
    }

    /// An event with a frame of its own below the method that caused it.
    fn marked(&mut self, view: View, event: &Event<'_>, weight: u64, name: Option<String>) {
        self.counts[view.place()] += 1;
        if !self.is_collected(view) {
            return;
        }
        let mut sample = self.weighed(event, weight);
        if let Some(name) = name {
            sample.stack = self.table.child(sample.stack, self.markers.address(&name));
        }
        self.add(view, sample);
    }

    fn starts_to_wait(&mut self, view: View, event: &Event<'_>) {
        if self.is_collected(view) {
            let Sample { at_ns, thread, stack, .. } = self.weighed(event, 0);
            let waits = if view == View::Contention { &mut self.contention } else { &mut self.waits };
            waits.start(thread, at_ns, stack);
        }
        self.counts[view.place()] += 1;
    }

    fn stops_to_wait(&mut self, view: View, event: &Event<'_>, length_ns: Option<u64>) {
        if !self.is_collected(view) {
            return;
        }
        let Sample { at_ns, thread, stack, .. } = self.weighed(event, 0);
        let waits = if view == View::Contention { &mut self.contention } else { &mut self.waits };
        if let Some(sample) = waits.stop(thread, at_ns, length_ns, stack) {
            self.add(view, sample);
        }
    }

    fn runtime(&mut self, runtime: &RuntimeInfo<'_>) {
        self.runtime = Some(format!("{}.{}.{}", runtime.major, runtime.minor, runtime.build));
    }
}

/// Adds some time of a thread.
fn add_span(views: &mut [Option<Collected>], span: Span) {
    let Span { thread, at_ns, length_ns, stack } = span;
    if let Some(Some(collected)) = views.get_mut(View::ThreadTime.place()) {
        collected.add(Sample { at_ns, weight: length_ns, thread, stack });
    }
}

/// A number of bytes or nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what does not fit becomes the limit"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
