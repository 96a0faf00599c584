//! The processor an executable is made for, from the head of its file.

/// Bytes of the head that are needed.
pub(crate) const ELF_HEAD: usize = 20;

/// Architecture in .NET's words (`x64`, `arm64`, `x86`, `arm`...), from the first 20 bytes of an ELF file.
#[must_use]
pub fn architecture_of_elf(head: &[u8]) -> Option<&'static str> {
    let head: &[u8; ELF_HEAD] = head.first_chunk()?;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    // e_machine, in the byte order that byte 5 names
    let machine = if head[5] == 2 {
        u16::from_be_bytes([head[18], head[19]])
    } else {
        u16::from_le_bytes([head[18], head[19]])
    };
    Some(match machine {
        3 => "x86",
        21 => "ppc64le",
        22 => "s390x",
        40 => "arm",
        62 => "x64",
        183 => "arm64",
        243 => "riscv64",
        258 => "loongarch64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_an_elf_and_a_script_is_not() {
        let me = std::fs::read("/proc/self/exe").unwrap();
        assert!(architecture_of_elf(&me).is_some());
        assert_eq!(architecture_of_elf(b"#!/bin/sh"), None);
    }
}
