//! From a portable executable to its metadata.

use crate::bytes::Bytes;
use crate::error::Error;

/// Most sections that a file may have: the loader's own limit.
const MOST_SECTIONS: usize = 96;

/// The metadata of an assembly.
pub(crate) fn metadata(file: &[u8]) -> Result<Bytes<'_>, Error> {
    let file = Bytes(file);
    if file.part(0, 2).is_none_or(|magic| magic.0 != b"MZ") {
        return Err(Error::NotAnAssembly("it is no portable executable"));
    }
    find(file).unwrap_or(Err(Error::Damaged("a header lies outside of the file")))
}

/// Nothing when a header lies outside of the file.
fn find(file: Bytes<'_>) -> Option<Result<Bytes<'_>, Error>> {
    let head = file.size(0x3c)?;
    if file.part(head, 4)?.0 != b"PE\0\0" {
        return Some(Err(Error::NotAnAssembly("it is no portable executable")));
    }
    let coff = head + 4;
    let optional = coff + 20;
    let optional_size = usize::from(file.u16(coff + 16)?);
    let directories = match file.u16(optional)? {
        0x10b => optional + 96,
        0x20b => optional + 112,
        _ => return Some(Err(Error::NotAnAssembly("its optional header is of no known kind"))),
    };
    let sections = Sections {
        file,
        first: optional + optional_size,
        count: usize::from(file.u16(coff + 2)?).min(MOST_SECTIONS),
    };
    let cli_address = file.u32(directories + 14 * 8)?;
    if cli_address == 0 {
        return Some(Err(Error::NotAnAssembly("it has native code only")));
    }
    let cli = sections.offset(cli_address)?;
    let (address, size) = (file.u32(cli + 8)?, file.size(cli + 12)?);
    let start = sections.offset(address)?;
    Some(Ok(file.part(start, size)?))
}

struct Sections<'a> {
    file: Bytes<'a>,
    first: usize,
    count: usize,
}

impl Sections<'_> {
    /// Where in the file an address of the loaded image lies.
    fn offset(&self, address: u32) -> Option<usize> {
        for section in (0..self.count).map(|index| self.first + index * 40) {
            let start = self.file.u32(section + 12)?;
            let length = self.file.u32(section + 8)?.max(self.file.u32(section + 16)?);
            if let Some(within) = address.checked_sub(start).filter(|&within| within < length) {
                return self.file.size(section + 20)?.checked_add(usize::try_from(within).ok()?);
            }
        }
        None
    }
}
