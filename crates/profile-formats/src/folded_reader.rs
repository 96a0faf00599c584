//! Folded stacks of anybody: ours, stackcollapse's, another profiler's.

use std::io::{self, BufRead, Read};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use model::{Frame, FrameKind};
use stacks::{FrameId, Profile, ProfileThread, Sample, StackKey, StackNode, ThreadSlot, Weight};
use thiserror::Error;

/// Longest line.
const LONGEST_LINE: u64 = 4 << 20;
/// Most different stacks, counted by their nodes.
const MOST_NODES: usize = 1 << 24;

/// Why a text is not folded stacks.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FoldedError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is no stack with a number behind it.
    #[error("line {line} is not a stack with a number behind it")]
    NotAStack {
        /// Which.
        line: u64,
    },
    /// A line is too long, or there are too many stacks.
    #[error("line {line}: more than this tool reads")]
    TooLarge {
        /// Where it is too much.
        line: u64,
    },
}

/// Reads folded stacks: `outer;inner 12`, a line each. What the numbers count is not known; they are taken as counts.
pub fn read_folded(mut from: impl BufRead) -> Result<Profile, FoldedError> {
    let mut reader = Reader::default();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let count = from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
        if count == 0 {
            break;
        }
        if count as u64 == LONGEST_LINE || reader.nodes.len() > MOST_NODES {
            return Err(FoldedError::TooLarge { line });
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end();
        if !text.is_empty() && !text.starts_with('#') {
            reader.line(text).ok_or(FoldedError::NotAStack { line })?;
        }
    }
    Ok(reader.profile())
}

#[derive(Default)]
struct Reader {
    frames: Vec<Frame>,
    by_text: HashMap<String, FrameId, RandomState>,
    nodes: Vec<StackNode>,
    by_node: HashMap<(Option<StackKey>, FrameId), StackKey, RandomState>,
    samples: Vec<Sample>,
    total: u64,
}

impl Reader {
    fn line(&mut self, text: &str) -> Option<()> {
        let (stack, weight) = text.rsplit_once([' ', '\t'])?;
        // Some tools write fractions.
        let weight: u64 = weight.split('.').next()?.parse().ok()?;
        if stack.trim().is_empty() {
            return None;
        }
        let mut key = None;
        for name in stack.split(';') {
            let frame = self.frame(name)?;
            let next = StackKey(u32::try_from(self.nodes.len()).ok()?);
            key = Some(*self.by_node.entry((key, frame)).or_insert_with(|| {
                self.nodes.push(StackNode { caller: key, frame });
                next
            }));
        }
        self.samples.push(Sample { at_ns: self.total, weight, thread: ThreadSlot(0), stack: key });
        self.total = self.total.saturating_add(weight);
        Some(())
    }

    fn frame(&mut self, text: &str) -> Option<FrameId> {
        if let Some(frame) = self.by_text.get(text) {
            return Some(*frame);
        }
        let number = FrameId(u32::try_from(self.frames.len()).ok()?);
        self.frames.push(frame(text));
        self.by_text.insert(text.to_owned(), number);
        Some(number)
    }

    fn profile(self) -> Profile {
        Profile {
            title: "folded stacks".to_owned(),
            weight: Weight::Count,
            started: None,
            duration_ns: 0,
            process: None,
            frames: self.frames,
            nodes: self.nodes,
            threads: vec![ProfileThread { id: 0, name: None }],
            samples: self.samples,
        }
    }
}

/// A frame by its text. What kind of code it is is a guess, for the colours.
fn frame(text: &str) -> Frame {
    let (module, name) = match text.split_once('!') {
        Some((module, name)) if !module.is_empty() && !name.is_empty() => (Some(module), name),
        _ => (None, text),
    };
    let kind = match module {
        _ if text.ends_with("_[k]") => FrameKind::Kernel,
        Some("libcoreclr" | "libclrjit" | "libclrgc" | "libhostpolicy" | "libhostfxr") => FrameKind::Runtime,
        Some(module) if module.starts_with("lib") || module.contains(".so") || module.starts_with('[') => {
            FrameKind::Native
        }
        Some(_) => FrameKind::Managed,
        None if text.contains('.') && !text.starts_with('[') => FrameKind::Managed,
        None => FrameKind::Native,
    };
    Frame { kind, name: name.to_owned(), module: module.map(str::to_owned), file: None, line: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_samples() {
        let text = "# comment\nShop!Main;Shop!Cart.Add 30\nShop!Main 12.5\n\nswapper;do_idle_[k] 4\n";
        let profile = read_folded(text.as_bytes()).unwrap();
        assert_eq!(profile.samples.iter().map(|sample| sample.weight).collect::<Vec<_>>(), [30, 12, 4]);
        assert_eq!(profile.nodes.len(), 4);
        assert_eq!(
            (profile.frames[1].module.as_deref(), &*profile.frames[1].name),
            (Some("Shop"), "Cart.Add")
        );
        assert_eq!(profile.frames[3].kind, FrameKind::Kernel);
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, line) in
            [("Main\n", 1), ("a;b 1\nwhat is this\n", 2), (" 12\n", 1), ("a 99999999999999999999999\n", 1)]
        {
            match read_folded(text.as_bytes()) {
                Err(FoldedError::NotAStack { line: found }) => assert_eq!(found, line),
                other => panic!("{text:?}: {other:?}"),
            }
        }
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        assert!(matches!(read_folded(endless), Err(FoldedError::TooLarge { line: 1 })));
    }
}
