//! From a portable executable to its metadata.

use crate::bytes::Bytes;
use crate::error::Error;

/// Most sections that a file may have: the loader's own limit.
const MOST_SECTIONS: usize = 96;

/// The head of a portable executable, as far as the way to the metadata needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeHead {
    /// Where the runtime's own header stands in the loaded image.
    pub cli_header: u32,
    /// Address in the image, length there or in the file, place in the file.
    sections: Vec<(u32, u32, u32)>,
}

impl PeHead {
    /// Reads the head; an error if it is none, or has no managed code.
    pub fn read(head: &[u8]) -> Result<PeHead, Error> {
        let head = Bytes(head);
        if head.part(0, 2).is_none_or(|magic| magic.0 != b"MZ") {
            return Err(Error::NotAnAssembly("it is no portable executable"));
        }
        find(head).unwrap_or(Err(Error::Damaged("a header lies outside of the file")))
    }

    /// Where in the file an address of the loaded image lies.
    #[must_use]
    pub fn offset(&self, address: u32) -> Option<usize> {
        let (section, within) = self.sections.iter().find_map(|section| {
            let within = address.checked_sub(section.0).filter(|&within| within < section.1)?;
            Some((section, within))
        })?;
        usize::try_from(section.2).ok()?.checked_add(usize::try_from(within).ok()?)
    }
}

/// The metadata of an assembly.
pub(crate) fn metadata(file: &[u8]) -> Result<Bytes<'_>, Error> {
    let head = PeHead::read(file)?;
    let file = Bytes(file);
    let part = || {
        let cli = head.offset(head.cli_header)?;
        let (address, size) = (file.u32(cli.checked_add(8)?)?, file.size(cli.checked_add(12)?)?);
        file.part(head.offset(address)?, size)
    };
    part().ok_or(Error::Damaged("a header lies outside of the file"))
}

/// Nothing when a header lies outside of what there is.
fn find(file: Bytes<'_>) -> Option<Result<PeHead, Error>> {
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
    let cli_header = file.u32(directories + 14 * 8)?;
    if cli_header == 0 {
        return Some(Err(Error::NotAnAssembly("it has native code only")));
    }
    let first = optional + optional_size;
    let count = usize::from(file.u16(coff + 2)?).min(MOST_SECTIONS);
    let mut sections = Vec::with_capacity(count);
    for at in (0..count).map(|index| first + index * 40) {
        let length = file.u32(at + 8)?.max(file.u32(at + 16)?);
        sections.push((file.u32(at + 12)?, length, file.u32(at + 20)?));
    }
    Some(Ok(PeHead { cli_header, sections }))
}
