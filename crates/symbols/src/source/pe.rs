//! What an assembly's file says about its symbols.

use std::io::Read;

use flate2::read::DeflateDecoder;
use nettrace::Guid;
use object::pe::{
    IMAGE_DEBUG_TYPE_CODEVIEW, IMAGE_DIRECTORY_ENTRY_DEBUG, ImageDebugDirectory, ImageNtHeaders32,
    ImageNtHeaders64,
};
use object::read::pe::{ImageNtHeaders, PeFile};
use object::{LittleEndian, Pod, ReadRef};

use super::MAX_PDB_BYTES;
use crate::SymbolError;

/// The kind of entry that holds a whole portable PDB.
const EMBEDDED_PORTABLE_PDB: u32 = 17;
/// The version that marks an entry as one for a portable PDB.
const PORTABLE: u16 = 0x504D;
/// An assembly has a handful of entries.
const MAX_ENTRIES: usize = 64;

/// What an assembly says about its symbol file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugInfo {
    /// Which symbol file belongs to it.
    pub id: Option<Guid>,
    /// Where that file lay when the assembly was built.
    pub path: Option<String>,
    /// The symbol file itself, if it is part of the assembly.
    pub embedded: Option<Vec<u8>>,
}

impl DebugInfo {
    /// Reads the debug directory of a PE file.
    pub fn read<'a, R: ReadRef<'a>>(data: R) -> Result<DebugInfo, SymbolError> {
        // Both kinds occur: assemblies without native code are of the first kind.
        match read::<ImageNtHeaders32, R>(data) {
            Ok(info) => Ok(info),
            Err(SymbolError::Format { .. }) => read::<ImageNtHeaders64, R>(data),
            Err(error) => Err(error),
        }
    }
}

fn read<'a, Pe: ImageNtHeaders + Pod, R: ReadRef<'a>>(data: R) -> Result<DebugInfo, SymbolError> {
    let not_pe = |_| SymbolError::Format { what: "the module is no PE file" };
    const DAMAGED: SymbolError = SymbolError::Format { what: "the module's debug directory" };
    let file = PeFile::<Pe, R>::parse(data).map_err(not_pe)?;
    let Some(directory) = file.data_directory(IMAGE_DIRECTORY_ENTRY_DEBUG) else {
        return Ok(DebugInfo::default());
    };
    if directory.address_range().1 == 0 {
        return Ok(DebugInfo::default());
    }
    let bytes = directory.data(data, &file.section_table()).map_err(|_| DAMAGED)?;
    let count = (bytes.len() / size_of::<ImageDebugDirectory>()).min(MAX_ENTRIES);
    let (entries, _) =
        object::pod::slice_from_bytes::<ImageDebugDirectory>(bytes, count).map_err(|()| DAMAGED)?;
    let mut info = DebugInfo::default();
    for entry in entries {
        let (at, size) = (entry.pointer_to_raw_data.get(LittleEndian), entry.size_of_data.get(LittleEndian));
        if u64::from(size) > MAX_PDB_BYTES {
            continue;
        }
        let content = || data.read_bytes_at(at.into(), size.into()).map_err(|()| DAMAGED);
        let kind = entry.typ.get(LittleEndian);
        if kind == IMAGE_DEBUG_TYPE_CODEVIEW {
            let is_portable = entry.minor_version.get(LittleEndian) == PORTABLE;
            if let Some((id, path)) = code_view(content()?).filter(|_| info.id.is_none() || is_portable) {
                (info.id, info.path) = (Some(id), Some(path));
            }
        } else if kind.0 == EMBEDDED_PORTABLE_PDB {
            info.embedded = Some(inflate(content()?)?);
        }
    }
    Ok(info)
}

/// `RSDS`, the id, an age, and a path that a zero ends.
fn code_view(bytes: &[u8]) -> Option<(Guid, String)> {
    let rest = bytes.strip_prefix(b"RSDS")?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let path = rest.get(4..)?.split(|byte| *byte == 0).next()?;
    Some((Guid::from_bytes(*id), String::from_utf8_lossy(path).into_owned()))
}

/// `MPDB`, the size, and the file, compressed.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, SymbolError> {
    let damaged = SymbolError::Format { what: "the symbol file in the module" };
    let Some((size, packed)) = bytes.strip_prefix(b"MPDB").and_then(<[u8]>::split_first_chunk::<4>) else {
        return Err(damaged);
    };
    let size = u64::from(u32::from_le_bytes(*size));
    if size > MAX_PDB_BYTES {
        return Err(SymbolError::TooBig {
            what: "the symbol file in the module",
            bytes: size,
            limit: MAX_PDB_BYTES,
        });
    }
    let mut unpacked = Vec::new();
    match DeflateDecoder::new(packed).take(size).read_to_end(&mut unpacked) {
        Ok(_) => Ok(unpacked),
        Err(_) => Err(damaged),
    }
}
