//! A CPU for the one who reads.

/// Well before everybody else, and still behind real-time threads.
const NICE: i32 = -15;

/// Asks that the calling thread, which reads a sampler, get a CPU before others. Where hundreds of threads compete, it
/// would otherwise wait for longer than a ring lasts. `false` for an ordinary user, who may not.
pub fn prefer_this_thread() -> bool {
    rustix::process::setpriority_process(None, NICE).is_ok()
}

/// The same for a while: until this is dropped, in the same thread.
#[derive(Debug)]
pub struct Preferred {
    before: i32,
}

impl Preferred {
    /// `None` for an ordinary user.
    #[must_use]
    pub fn ask() -> Option<Preferred> {
        let before = rustix::process::getpriority_process(None).ok()?;
        prefer_this_thread().then_some(Preferred { before })
    }
}

impl Drop for Preferred {
    fn drop(&mut self) {
        // To be less preferred is always granted.
        let _ = rustix::process::setpriority_process(None, self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_ends() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        if let Some(preferred) = Preferred::ask() {
            assert_eq!(nice(), NICE);
            drop(preferred);
        }
        assert_eq!(nice(), before);
    }
}
