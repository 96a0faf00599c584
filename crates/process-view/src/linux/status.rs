//! `/proc/PID/status`: users, namespaced pids, memory.

/// The ids of a process in its pid namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdMap {
    /// Its pid in each namespace, ours first, its own last.
    pub pids: Vec<u32>,
}

impl IdMap {
    /// The pid the process knows itself by.
    #[must_use]
    pub fn innermost(&self) -> Option<u32> {
        self.pids.last().copied()
    }

    /// Whether the process lives in a pid namespace below ours.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        self.pids.len() > 1
    }
}

/// The lines of `status` that we use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Effective user id.
    pub user: u32,
    /// Pids by namespace.
    pub ids: IdMap,
    /// Resident memory in bytes.
    pub resident_bytes: Option<u64>,
    /// Largest resident memory so far, in bytes.
    pub peak_resident_bytes: Option<u64>,
    /// Memory of its own, without files: resident or swapped out, in bytes.
    pub anonymous_bytes: Option<u64>,
    /// Private memory it may write, resident or not, in bytes.
    pub data_bytes: Option<u64>,
    /// Effective capabilities, one bit each.
    pub capabilities: u64,
    /// How often it gave up a processor to wait for something.
    pub rests: Option<u64>,
    /// The process that traces it, such as a debugger.
    pub tracer: Option<u32>,
}

impl Status {
    /// Reads the text. `None` without a user line.
    pub(crate) fn parse(text: &str) -> Option<Status> {
        let mut status = Status::default();
        let mut has_user = false;
        let mut swapped = 0;
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let mut words = value.split_ascii_whitespace();
            match key {
                // real, effective, saved, file system
                "Uid" => {
                    status.user = words.nth(1)?.parse().ok()?;
                    has_user = true;
                }
                "NSpid" => status.ids.pids = words.filter_map(|word| word.parse().ok()).collect(),
                "VmRSS" => status.resident_bytes = kilobytes(words.next()?),
                "VmHWM" => status.peak_resident_bytes = kilobytes(words.next()?),
                "RssAnon" => status.anonymous_bytes = kilobytes(words.next()?),
                "VmSwap" => swapped = kilobytes(words.next()?).unwrap_or(0),
                "VmData" => status.data_bytes = kilobytes(words.next()?),
                "CapEff" => status.capabilities = u64::from_str_radix(words.next()?, 16).ok()?,
                "TracerPid" => {
                    status.tracer = words.next()?.parse().ok().filter(|pid| *pid != 0);
                }
                "voluntary_ctxt_switches" => status.rests = words.next()?.parse().ok(),
                _ => {}
            }
        }
        status.anonymous_bytes = status.anonymous_bytes.map(|resident| resident.saturating_add(swapped));
        has_user.then_some(status)
    }
}

fn kilobytes(text: &str) -> Option<u64> {
    text.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_lines_we_use_are_read() {
        let text = "Name:\tx\nUid:\t1\t1000\t1\t1\nGid:\t1\t100\t1\t1\nNSpid:\t4242\t17\t1\nVmRSS:\t  2048 kB\nRssAnon:\t 1024 kB\nVmSwap:\t 4 kB\n\
                    CapEff:\t000001ffffffffff\nTracerPid:\t77\nvoluntary_ctxt_switches:\t12\n";
        let status = Status::parse(text).unwrap();
        assert_eq!(status.user, 1000);
        assert_eq!(status.ids.innermost(), Some(1));
        assert!(status.ids.is_nested());
        assert_eq!(status.resident_bytes, Some(2 << 20));
        assert_eq!(status.anonymous_bytes, Some((1 << 20) + 4096));
        assert_eq!(status.rests, Some(12));
        assert_eq!(status.tracer, Some(77));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Uid|NSpid|VmRSS|CapEff|x):.{0,60}\n.{0,60}") {
            let _ = Status::parse(&text);
        }
    }
}
