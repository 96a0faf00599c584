//! `perf_event_attr`: what the kernel is asked to watch. Layout and numbers of `linux/perf_event.h`.

use crate::arch;

/// The first 112 bytes of the structure (`PERF_ATTR_SIZE_VER5`), which every kernel since 4.8 knows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attr {
    kind: u32,
    size: u32,
    pub(crate) config: u64,
    pub(crate) sample_period: u64,
    pub(crate) sample_type: u64,
    read_format: u64,
    pub(crate) flags: u64,
    wakeup_watermark: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock_id: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

const SIZE: u32 = 112;
const _: () = assert!(size_of::<Attr>() == SIZE as usize);
const _: () = assert!(std::mem::offset_of!(Attr, flags) == 40);
const _: () = assert!(std::mem::offset_of!(Attr, sample_regs_user) == 80);
const _: () = assert!(std::mem::offset_of!(Attr, clock_id) == 92);
const _: () = assert!(std::mem::offset_of!(Attr, sample_max_stack) == 108);

const TYPE_SOFTWARE: u32 = 1;
const TYPE_BREAKPOINT: u32 = 5;
/// `HW_BREAKPOINT_X`: when an instruction is executed.
const ON_EXECUTION: u32 = 4;
/// The kernel wants the size of a long.
const EXECUTION_BYTES: u64 = 8;

pub(crate) const CPU_CLOCK: u64 = 0;
pub(crate) const CONTEXT_SWITCHES: u64 = 3;
pub(crate) const PAGE_FAULTS_MINOR: u64 = 5;
pub(crate) const DUMMY: u64 = 9;

const SAMPLE_IP: u64 = 1 << 0;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_ADDRESS: u64 = 1 << 3;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_REGS_USER: u64 = 1 << 12;
pub(crate) const SAMPLE_STACK_USER: u64 = 1 << 13;
const SAMPLE_IDENTIFIER: u64 = 1 << 16;

/// What every record carries, at its end if it is no sample. `PERIOD` must not be asked for: with it, events that
/// are counted in software sample at every single hit.
const SAMPLE_EVERYWHERE: u64 = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_IDENTIFIER;

pub(crate) const DISABLED: u64 = 1 << 0;
pub(crate) const INHERIT: u64 = 1 << 1;
pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(crate) const EXCLUDE_IDLE: u64 = 1 << 7;
const MMAP: u64 = 1 << 8;
const COMM: u64 = 1 << 9;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
pub(crate) const EXCLUDE_CALLCHAIN_KERNEL: u64 = 1 << 21;
const MMAP2: u64 = 1 << 23;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCK_ID: u64 = 1 << 25;
pub(crate) const CONTEXT_SWITCH: u64 = 1 << 26;
pub(crate) const BUILD_ID: u64 = 1 << 34;
pub(crate) const INHERIT_THREAD: u64 = 1 << 35;

/// Records about processes: what they map, how they are called, how they begin and end.
pub(crate) const ABOUT_PROCESSES: u64 = MMAP | MMAP2 | COMM | COMM_EXEC | TASK;

/// Flags that older kernels do not know. They are tried, and left out where the kernel refuses them.
pub(crate) const NEWER: [u64; 2] = [BUILD_ID, INHERIT_THREAD];

impl Attr {
    fn software(config: u64) -> Attr {
        Attr {
            kind: TYPE_SOFTWARE,
            size: SIZE,
            config,
            sample_type: SAMPLE_EVERYWHERE,
            flags: DISABLED | SAMPLE_ID_ALL | USE_CLOCK_ID,
            clock_id: libc::CLOCK_MONOTONIC,
            ..Attr::default()
        }
    }

    /// Never fires. It owns a ring that other events write to.
    pub(crate) fn ring_owner(wake_at_bytes: u32) -> Attr {
        let mut attr = Attr::software(DUMMY);
        attr.flags |= EXCLUDE_KERNEL | WATERMARK;
        attr.wakeup_watermark = wake_at_bytes;
        attr
    }

    /// Fires after each `period_ns` of a thread's time on a CPU.
    pub(crate) fn cpu_clock(period_ns: u64, stack_bytes: u32) -> Attr {
        let mut attr = Attr::software(CPU_CLOCK).with_stack(stack_bytes);
        attr.sample_period = period_ns;
        attr.flags |= EXCLUDE_IDLE;
        attr
    }

    /// Fires when a thread touches memory for the first time, at every `every`th page. Its samples have an address.
    pub(crate) fn page_faults(every: u64, stack_bytes: u32) -> Attr {
        let mut attr = Attr::software(PAGE_FAULTS_MINOR).with_stack(stack_bytes);
        attr.sample_type |= SAMPLE_ADDRESS;
        attr.sample_period = every.max(1);
        attr
    }

    /// Fires when a thread leaves a CPU: every time, or every `every`th.
    pub(crate) fn context_switches(every: u64, stack_bytes: u32) -> Attr {
        let mut attr = Attr::software(CONTEXT_SWITCHES).with_stack(stack_bytes);
        attr.sample_period = every;
        attr.flags |= CONTEXT_SWITCH;
        attr
    }

    /// Fires whenever a thread comes to an instruction of user code, by the processor's own breakpoints: nothing is changed in the
    /// process.
    pub(crate) fn execution(address: u64, stack_bytes: u32) -> Attr {
        let mut attr = Attr::software(0).with_stack(stack_bytes);
        attr.kind = TYPE_BREAKPOINT;
        attr.bp_type = ON_EXECUTION;
        attr.config1 = address;
        attr.config2 = EXECUTION_BYTES;
        attr.sample_period = 1;
        attr.flags |= EXCLUDE_KERNEL | EXCLUDE_CALLCHAIN_KERNEL;
        attr
    }

    /// Whether it fires at an instruction.
    pub(crate) fn is_execution(&self) -> bool {
        self.kind == TYPE_BREAKPOINT
    }

    /// Records when threads leave and enter a CPU, without stacks: all that an ordinary user gets.
    pub(crate) fn switch_times() -> Attr {
        let mut attr = Attr::software(DUMMY);
        attr.flags |= CONTEXT_SWITCH;
        attr
    }

    fn with_stack(mut self, bytes: u32) -> Attr {
        self.sample_type |= SAMPLE_IP | SAMPLE_CALLCHAIN | SAMPLE_REGS_USER;
        self.sample_regs_user = arch::MASK;
        if bytes > 0 {
            self.sample_type |= SAMPLE_STACK_USER;
            self.sample_stack_user = bytes;
        }
        self
    }

    pub(crate) fn with(mut self, flags: u64) -> Attr {
        self.flags |= flags;
        self
    }

    pub(crate) fn without(mut self, flags: u64) -> Attr {
        self.flags &= !flags;
        self
    }

    #[cfg(test)]
    pub(crate) fn has(&self, flags: u64) -> bool {
        self.flags & flags == flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_asks_for_the_period_which_would_sample_every_hit() {
        const SAMPLE_PERIOD: u64 = 1 << 8;
        for attr in [
            Attr::cpu_clock(1, 8),
            Attr::page_faults(16, 8),
            Attr::context_switches(5, 8),
            Attr::switch_times(),
            Attr::ring_owner(1),
        ] {
            assert_eq!(attr.sample_type & SAMPLE_PERIOD, 0);
            assert_eq!(attr.sample_type & SAMPLE_EVERYWHERE, SAMPLE_EVERYWHERE, "one trailer for all");
            assert_eq!(attr.clock_id, libc::CLOCK_MONOTONIC, "events of one ring must share a clock");
        }
    }

    #[test]
    fn no_stack_copy_is_asked_for_as_none_and_not_as_one_of_zero_bytes() {
        assert_eq!(Attr::cpu_clock(1, 0).sample_type & SAMPLE_STACK_USER, 0);
        assert_ne!(Attr::cpu_clock(1, 64).sample_type & SAMPLE_STACK_USER, 0);
    }
}
