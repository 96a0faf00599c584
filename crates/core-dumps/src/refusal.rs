//! What the runtime says when it cannot write a dump.

use diagnostics_ipc::HResult;

/// A refusal, sorted by what is to be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The disk is full.
    NoSpace(String),
    /// The file could not be created or written.
    NotWritable(String),
    /// A single-file program writes full dumps only.
    OnlyFull(String),
    /// The memory of the process could not be read.
    NoTracing(String),
    /// The runtime could not start its program.
    NoDumper(String),
    /// It gave words that are not known here.
    Other(String),
    /// It gave a code alone, as runtimes before 7 do.
    Wordless(HResult),
}

impl Refusal {
    /// Sorts what was said.
    #[must_use]
    pub fn new(code: HResult, detail: Option<&str>) -> Refusal {
        let Some(words) = detail.map(said).filter(|words| !words.is_empty()) else {
            return Refusal::Wordless(code);
        };
        let has = |part: &str| words.contains(part);
        // In createdump's words (main.cpp, dumpwriterelf.cpp, crashinfounix.cpp).
        if has("No space left") || has("(28)") || has("File too large") || has("Disk quota") {
            Refusal::NoSpace(words)
        } else if has("Only full dumps") {
            Refusal::OnlyFull(words)
        } else if has("Could not create output file") || has("Read-only file system") {
            Refusal::NotWritable(words)
        } else if has("ptrace") || has("does not have permissions") || has("/mem") || has("Permission denied")
        {
            Refusal::NoTracing(words)
        } else if has("execve") || has("createdump") && has("No such file") {
            Refusal::NoDumper(words)
        } else {
            Refusal::Other(words)
        }
    }

    /// What the runtime said.
    #[must_use]
    pub fn words(&self) -> Option<&str> {
        match self {
            Refusal::NoSpace(words)
            | Refusal::NotWritable(words)
            | Refusal::OnlyFull(words)
            | Refusal::NoTracing(words)
            | Refusal::NoDumper(words)
            | Refusal::Other(words) => Some(words),
            Refusal::Wordless(_) => None,
        }
    }
}

/// The lines without the program's name, and without how long it took to fail.
fn said(detail: &str) -> String {
    let lines = detail.lines().map(|line| line.trim().trim_start_matches("[createdump]").trim());
    let lines: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("Failure took")).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_createdump_says_is_sorted() {
        let refusal = |detail| Refusal::new(HResult::E_FAIL, Some(detail));
        let full = "[createdump] Error writing data to dump file: No space left on device (28)\n[createdump] Writing \
                    dump FAILED\n[createdump] Failure took 304ms\n";
        let words = "Error writing data to dump file: No space left on device (28); Writing dump FAILED";
        assert_eq!(refusal(full), Refusal::NoSpace(words.to_owned()));
        assert!(matches!(
            refusal("[createdump] Could not create output file '/x/core': Permission denied (13)\n"),
            Refusal::NotWritable(_)
        ));
        assert!(matches!(
            refusal("[createdump] Only full dumps are supported by single file apps.\n"),
            Refusal::OnlyFull(_)
        ));
        assert!(matches!(
            refusal("ptrace(ATTACH, 42) FAILED Operation not permitted (1)"),
            Refusal::NoTracing(_)
        ));
        assert_eq!(Refusal::new(HResult::E_FAIL, None), Refusal::Wordless(HResult::E_FAIL));
        assert_eq!(refusal(" \n"), Refusal::Wordless(HResult::E_FAIL));
    }
}
