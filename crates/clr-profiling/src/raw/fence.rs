//! No panic of ours leaves this library: it would end the target.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::HResult;

/// Runs code that the runtime called. A panic becomes a failure code, after `panicked` was told.
pub(super) fn fence(body: impl FnOnce() -> HResult, panicked: impl FnOnce()) -> HResult {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(code) => code,
        Err(payload) => {
            // Dropping what was thrown may panic again, and it is a few bytes once.
            std::mem::forget(payload);
            if let Err(payload) = catch_unwind(AssertUnwindSafe(panicked)) {
                std::mem::forget(payload);
            }
            HResult::E_UNEXPECTED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_code_even_if_telling_of_it_panics() {
        let mut told = false;
        assert_eq!(fence(|| HResult::S_FALSE, || ()), HResult::S_FALSE);
        assert_eq!(fence(|| panic!("wanted"), || told = true), HResult::E_UNEXPECTED);
        assert_eq!(fence(|| panic!("wanted"), || panic!("wanted too")), HResult::E_UNEXPECTED);
        assert!(told);
    }
}
