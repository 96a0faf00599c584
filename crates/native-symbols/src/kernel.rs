//! Functions of the kernel.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::SymbolError;

/// More functions than any kernel has; a usual one has 150,000.
const MOST_FUNCTIONS: usize = 4_000_000;
/// Lines beyond this are no lines of the kernel's.
const LONGEST_LINE: u64 = 4096;

/// The kernel's functions by address.
#[derive(Default)]
pub struct KernelNames {
    starts: Vec<(u64, u32)>,
    names: String,
}

impl KernelNames {
    /// Those of the running kernel, when it shows them.
    pub fn of_this_machine() -> Result<KernelNames, SymbolError> {
        let path = Path::new("/proc/kallsyms");
        let failed = |source| SymbolError::Io { path: path.to_owned(), source };
        // Its text has 15 MB and more, of which a third is names.
        KernelNames::read(BufReader::new(File::open(path).map_err(failed)?)).map_err(failed)?.settled()
    }

    /// From the text of `/proc/kallsyms`.
    pub fn parse(text: &str) -> Result<KernelNames, SymbolError> {
        KernelNames::read(text.as_bytes()).unwrap_or_default().settled()
    }

    fn read(mut text: impl BufRead) -> io::Result<KernelNames> {
        let mut kernel = KernelNames::default();
        let mut line = Vec::new();
        while kernel.starts.len() < MOST_FUNCTIONS {
            line.clear();
            if io::Read::take(&mut text, LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            kernel.add(&String::from_utf8_lossy(&line));
        }
        Ok(kernel)
    }

    fn add(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
            return;
        };
        // Text, weak and local text; data has no code.
        let is_code = matches!(kind, "t" | "T" | "w" | "W");
        let address = u64::from_str_radix(address, 16).ok().filter(|address| *address != 0 && is_code);
        let (Some(address), Ok(at)) = (address, u32::try_from(self.names.len())) else { return };
        self.names.push_str(name);
        self.names.push('\n');
        self.starts.push((address, at));
    }

    fn settled(mut self) -> Result<KernelNames, SymbolError> {
        if self.starts.is_empty() {
            return Err(SymbolError::KernelHidden);
        }
        self.starts.sort_by_key(|(address, _)| *address);
        self.starts.dedup_by_key(|(address, _)| *address);
        self.starts.shrink_to_fit();
        self.names.shrink_to_fit();
        Ok(self)
    }

    /// The function at an address.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<&str> {
        let behind = self.starts.partition_point(|(start, _)| *start <= address);
        let (_, at) = self.starts.get(behind.checked_sub(1)?)?;
        self.names.get(*at as usize..)?.lines().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_find_their_function() {
        let text = "ffffffff81000000 T startup_64\nffffffff81000100 t do_syscall_64\t[mod]\nffffffff82000000 D jiffies\n";
        let kernel = KernelNames::parse(text).unwrap();
        assert_eq!(kernel.function(0xffff_ffff_8100_0010), Some("startup_64"));
        assert_eq!(kernel.function(0xffff_ffff_8100_0100), Some("do_syscall_64"));
        assert_eq!(kernel.function(0x1000), None);
    }

    #[test]
    fn hidden_addresses_are_said_to_be_hidden() {
        let text = "0000000000000000 T startup_64\n0000000000000000 t do_syscall_64\n";
        assert!(matches!(KernelNames::parse(text), Err(SymbolError::KernelHidden)));
    }
}
