//! From places in a file to methods.

use object::LittleEndian as LE;
use object::pe::ImageSectionHeader;
use object::read::pe::PeFile64;

use crate::error::Error;
use crate::native_array::{NativeArray, number};

/// `RTR` and a zero.
const MAGIC: u32 = 0x0052_5452;
/// Where the CLI header has the address of the ReadyToRun header.
const MANAGED_NATIVE_HEADER: usize = 64;
const RUNTIME_FUNCTIONS: u32 = 102;
const METHOD_ENTRY_POINTS: u32 = 103;
/// More sections than the format has kinds of.
const MOST_SECTIONS: usize = 1024;
/// Begin, end and unwind information of a function on x64.
const FUNCTION_BYTES: usize = 12;

/// A row of the table of methods, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodRow(pub u32);

/// A piece of code.
#[derive(Debug, Clone, Copy)]
struct Function {
    begin: u32,
    end: u32,
    method: MethodRow,
}

/// A part of the file, and where it lies when it is loaded.
#[derive(Debug, Clone, Copy)]
struct Section {
    file: u32,
    address: u32,
    bytes: u32,
}

/// The code of an assembly that was compiled ahead of time.
#[derive(Debug)]
pub struct Precompiled {
    sections: Vec<Section>,
    /// By address.
    functions: Vec<Function>,
}

impl Precompiled {
    /// Reads the file of an assembly.
    pub fn read(file: &[u8]) -> Result<Precompiled, Error> {
        let pe = PeFile64::parse(file).map_err(|_| Error::NotAnAssembly)?;
        let sections: Vec<Section> = pe.section_table().iter().map(section).collect();
        let parts = parts(&pe, file, &sections)?;
        let functions =
            functions(file, &sections, parts).ok_or(Error::Damaged("its table of entry points"))?;
        Ok(Precompiled { sections, functions })
    }

    /// The method whose code stands at an offset in the file. Only the part of a method that is entered is known, not
    /// its handlers of exceptions.
    #[must_use]
    pub fn method_at(&self, file_offset: u64) -> Option<MethodRow> {
        let offset = u32::try_from(file_offset).ok()?;
        let address = self.sections.iter().find_map(|section| {
            let inside = offset.checked_sub(section.file).filter(|inside| *inside < section.bytes)?;
            section.address.checked_add(inside)
        })?;
        let behind = self.functions.partition_point(|function| function.begin <= address);
        let function = self.functions.get(behind.checked_sub(1)?)?;
        (address < function.end).then_some(function.method)
    }

    /// How many methods have code.
    #[must_use]
    pub fn methods(&self) -> usize {
        self.functions.len()
    }
}

/// How long the file is that begins with these headers; none if they are no headers of an assembly.
#[must_use]
pub fn file_length(headers: &[u8]) -> Option<u64> {
    let pe = PeFile64::parse(headers).ok()?;
    let end = |section: Section| u64::from(section.file) + u64::from(section.bytes);
    pe.section_table().iter().map(section).map(end).max()
}

fn section(header: &ImageSectionHeader) -> Section {
    Section {
        file: header.pointer_to_raw_data.get(LE),
        address: header.virtual_address.get(LE),
        bytes: header.size_of_raw_data.get(LE),
    }
}

/// Addresses of the parts that are needed.
struct Parts {
    functions: (u32, u32),
    entry_points: u32,
}

fn parts(pe: &PeFile64<'_>, file: &[u8], sections: &[Section]) -> Result<Parts, Error> {
    const DAMAGED: Error = Error::Damaged("a header lies outside of it");
    let directory =
        pe.data_directory(object::pe::IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR).ok_or(Error::NotAnAssembly)?;
    let cli = offset(sections, directory.address_range().0).ok_or(DAMAGED)?;
    let header = word(file, cli + MANAGED_NATIVE_HEADER).ok_or(DAMAGED)?;
    if header == 0 {
        return Err(Error::NotPrecompiled);
    }
    let header = offset(sections, header).ok_or(DAMAGED)?;
    if word(file, header) != Some(MAGIC) {
        return Err(Error::NotPrecompiled);
    }
    let count = word(file, header + 12).ok_or(DAMAGED)? as usize;
    let (mut functions, mut entry_points) = (None, None);
    for entry in (0..count.min(MOST_SECTIONS)).map(|number| header + 16 + number * 12) {
        let (kind, address, bytes) = (
            word(file, entry).ok_or(DAMAGED)?,
            word(file, entry + 4).ok_or(DAMAGED)?,
            word(file, entry + 8).ok_or(DAMAGED)?,
        );
        match kind {
            RUNTIME_FUNCTIONS => functions = Some((address, bytes)),
            METHOD_ENTRY_POINTS => entry_points = Some(address),
            _ => {}
        }
    }
    match (functions, entry_points) {
        (Some(functions), Some(entry_points)) => Ok(Parts { functions, entry_points }),
        _ => Err(Error::NotPrecompiled),
    }
}

fn functions(file: &[u8], sections: &[Section], parts: Parts) -> Option<Vec<Function>> {
    let (address, bytes) = parts.functions;
    let table = offset(sections, address)?;
    let table = file.get(table..table.checked_add(bytes as usize)?)?;
    let entries = NativeArray::new(file, offset(sections, parts.entry_points)?)?;
    // A damaged file may say four billion; each has at least a byte.
    let count = usize::try_from(entries.len()).ok()?.min(file.len());
    let mut found = Vec::new();
    for index in (0..u32::try_from(count).ok()?).filter_map(|row| Some((row, entries.offset_of(row)?))) {
        let (row, at) = index;
        let Some((value, _)) = number(file, at) else { continue };
        // The low bits tell whether addresses to be fixed up follow, which does not matter here.
        let entry = if value & 1 != 0 { value >> 2 } else { value >> 1 };
        let Some(function) = (entry as usize).checked_mul(FUNCTION_BYTES).and_then(|at| table.get(at..))
        else {
            continue;
        };
        let (Some(begin), Some(end)) = (word(function, 0), word(function, 4)) else { continue };
        found.push(Function { begin, end, method: MethodRow(row + 1) });
    }
    found.sort_by_key(|function| function.begin);
    Some(found)
}

/// Where in the file an address of the loaded image stands.
fn offset(sections: &[Section], address: u32) -> Option<usize> {
    sections.iter().find_map(|section| {
        let inside = address.checked_sub(section.address).filter(|inside| *inside < section.bytes)?;
        usize::try_from(section.file.checked_add(inside)?).ok()
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}
