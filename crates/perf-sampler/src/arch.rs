//! The registers that are copied with a sample. All that knows the processor is here.

#[cfg(not(target_arch = "x86_64"))]
compile_error!("perf-sampler knows the registers of x86-64 only; another set goes into arch.rs");

/// Bits of `sample_regs_user`, by the numbers of `asm/perf_regs.h`; the values arrive in this order.
const BITS: [u32; COUNT] = [0, 1, 6, 7, 8, 20, 21, 22, 23];

/// How many registers are copied.
pub(crate) const COUNT: usize = 9;

/// The bits as the kernel takes them.
pub(crate) const MASK: u64 = mask();

const fn mask() -> u64 {
    let (mut mask, mut at) = (0, 0);
    while at < COUNT {
        mask |= 1 << BITS[at];
        at += 1;
    }
    mask
}

/// Registers of a thread in user code: where it is, what a called function must hand back unchanged, which is what
/// unwinding needs, and what it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// `rax`, in which functions return.
    pub ax: u64,
    /// `rbx`.
    pub bx: u64,
    /// `rbp`, the frame pointer where code keeps one.
    pub bp: u64,
    /// `rsp`.
    pub sp: u64,
    /// `rip`.
    pub ip: u64,
    /// `r12` to `r15`.
    pub r12_to_r15: [u64; 4],
}

impl Registers {
    pub(crate) fn from_values(values: [u64; COUNT]) -> Registers {
        let [ax, bx, bp, sp, ip, r12, r13, r14, r15] = values;
        Registers { ax, bx, bp, sp, ip, r12_to_r15: [r12, r13, r14, r15] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_ascend_because_values_arrive_in_that_order() {
        assert!(BITS.is_sorted());
        assert_eq!(MASK.count_ones() as usize, COUNT);
    }
}
