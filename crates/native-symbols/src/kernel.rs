//! Functions of the kernel.

use std::path::Path;

use crate::SymbolError;

/// Text of `/proc/kallsyms` beyond this is not read; a usual one has 15 MB.
const MOST_BYTES: u64 = 256 << 20;

/// The kernel's functions by address.
pub struct KernelNames {
    starts: Vec<(u64, u32)>,
    names: String,
}

impl KernelNames {
    /// Those of the running kernel, when it shows them.
    pub fn of_this_machine() -> Result<KernelNames, SymbolError> {
        let path = Path::new("/proc/kallsyms");
        let text = crate::debug_files::read_bounded(path, MOST_BYTES)?;
        KernelNames::parse(&String::from_utf8_lossy(&text))
    }

    /// From the text of `/proc/kallsyms`.
    pub fn parse(text: &str) -> Result<KernelNames, SymbolError> {
        let mut kernel = KernelNames { starts: Vec::new(), names: String::new() };
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            // Text, weak and local text; data has no code.
            if address == 0 || !matches!(kind, "t" | "T" | "w" | "W") {
                continue;
            }
            let Ok(at) = u32::try_from(kernel.names.len()) else { break };
            kernel.names.push_str(name);
            kernel.names.push('\n');
            kernel.starts.push((address, at));
        }
        if kernel.starts.is_empty() {
            return Err(SymbolError::KernelHidden);
        }
        kernel.starts.sort_by_key(|(address, _)| *address);
        kernel.starts.dedup_by_key(|(address, _)| *address);
        Ok(kernel)
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
