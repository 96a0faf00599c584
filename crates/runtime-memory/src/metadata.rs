//! Names and signatures out of a module's metadata, where it lies in the memory of the process.

use static_fields::{PeHead, Schema, StreamPlaces, table};

use crate::memory::{Memory, Pages};

/// Enough for the heads of an image and of the metadata.
const HEAD: usize = 4096;
/// Names and signatures that are longer are not read.
const LONGEST_NAME: usize = 4096;
const LONGEST_BLOB: usize = 64 << 10;
/// Most fields of one type.
const MOST_FIELDS: usize = 4096;
/// Flags of fields.
const STATIC: usize = 0x10;
const LITERAL: usize = 0x40;
/// Deepest nesting of types that is followed.
const DEEPEST: usize = 64;

/// The metadata of a module.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    address: u64,
    places: StreamPlaces,
    schema: Schema,
}

/// A type's own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A field that a type declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredField {
    /// Its row in the metadata.
    pub row: u32,
    /// Its name.
    pub name: String,
    /// Whether it belongs to the type, not to its objects.
    pub is_static: bool,
    /// Whether it is a constant, which has no place in memory.
    pub is_constant: bool,
}

impl Metadata {
    /// That of the image at an address. It lies there section by section, or as in its file.
    pub(crate) fn of_image(memory: &impl Memory, base: u64) -> Option<Metadata> {
        let head = PeHead::read(&memory.up_to(base, HEAD)).ok()?;
        let as_loaded = Self::behind(memory, base, &head, |address| Some(address.into()));
        as_loaded.or_else(|| {
            Self::behind(memory, base, &head, |address| u64::try_from(head.offset(address)?).ok())
        })
    }

    fn behind(
        memory: &impl Memory,
        base: u64,
        head: &PeHead,
        place: impl Fn(u32) -> Option<u64>,
    ) -> Option<Metadata> {
        let cli = base.checked_add(place(head.cli_header)?)?;
        let address = memory.u32(cli.checked_add(8)?)?;
        Self::at(memory, base.checked_add(place(address)?)?)
    }

    /// The metadata at an address.
    pub(crate) fn at(memory: &impl Memory, address: u64) -> Option<Metadata> {
        let places = StreamPlaces::read(&memory.up_to(address, HEAD))?;
        let tables = address.checked_add(places.tables.start as u64)?;
        let schema = Schema::read(&memory.up_to(tables, Schema::HEAD))?;
        Some(Metadata { address, places, schema })
    }

    /// A reader for a moment.
    pub(crate) fn with<'a, M: Memory>(&'a self, memory: &'a M, pages: &'a mut Pages) -> Reader<'a, M> {
        Reader { metadata: self, memory, pages }
    }

    /// How many rows a table has.
    pub(crate) fn rows(&self, table: usize) -> usize {
        self.schema.rows(table)
    }
}

/// Reads metadata out of memory.
pub(crate) struct Reader<'a, M> {
    metadata: &'a Metadata,
    memory: &'a M,
    pages: &'a mut Pages,
}

impl<M: Memory> Reader<'_, M> {
    /// A cell, rows counted from 1.
    fn cell(&mut self, table: usize, row: usize, column: usize) -> Option<usize> {
        let place = self.metadata.schema.place(table, row, column)?;
        let tables = self.metadata.places.tables.clone();
        let offset = tables.start.checked_add(place.offset).filter(|offset| *offset < tables.end)?;
        let mut bytes = [0; 4];
        let used = bytes.get_mut(..place.bytes.min(4))?;
        self.pages.read(self.memory, self.metadata.address.checked_add(offset as u64)?, used)?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    }

    fn text(&mut self, at: usize) -> Option<String> {
        let strings = self.metadata.places.strings.clone();
        let offset = strings.start.checked_add(at).filter(|offset| *offset < strings.end)?;
        self.pages.text(self.memory, self.metadata.address.checked_add(offset as u64)?, LONGEST_NAME)
    }

    fn blob(&mut self, at: usize) -> Option<Vec<u8>> {
        let blobs = self.metadata.places.blobs.clone();
        let offset = blobs.start.checked_add(at).filter(|offset| *offset < blobs.end)?;
        let address = self.metadata.address.checked_add(offset as u64)?;
        // The length is written in one, two or four bytes.
        let mut head = [0; 4];
        let available = (blobs.end - offset).min(4);
        self.pages.read(self.memory, address, head.get_mut(..available)?)?;
        let (length, used) = crate::signature::compressed(&head)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST_BLOB)?;
        self.pages.bytes(self.memory, address.checked_add(used as u64)?, length)
    }

    /// The assembly's name, `System.Linq`.
    pub(crate) fn assembly_name(&mut self) -> Option<String> {
        let at = self.cell(table::ASSEMBLY, 1, 2)?;
        self.text(at)
    }

    /// A method's name.
    pub(crate) fn method_name(&mut self, row: usize) -> Option<String> {
        let at = self.cell(table::METHOD, row, 1)?;
        self.text(at)
    }

    /// A method's signature.
    pub(crate) fn method_signature(&mut self, row: usize) -> Option<Vec<u8>> {
        let at = self.cell(table::METHOD, row, 2)?;
        self.blob(at)
    }

    /// The signature of a type with arguments.
    pub(crate) fn type_signature(&mut self, row: usize) -> Option<Vec<u8>> {
        let at = self.cell(table::TYPE_SPEC, row, 0)?;
        self.blob(at)
    }

    /// The name of a type parameter.
    pub(crate) fn type_parameter(&mut self, row: usize) -> Option<String> {
        let at = self.cell(table::GENERIC_PARAM, row, 2)?;
        self.text(at)
    }

    /// The own name of a type, of this module or another.
    pub(crate) fn type_name(&mut self, table: usize, row: usize) -> Option<TypeName> {
        let name = self.cell(table, row, 1)?;
        let name = self.text(name)?;
        let namespace = self.cell(table, row, 2)?;
        Some(TypeName { namespace: self.text(namespace)?, name })
    }

    /// A type with those around it, the outermost first.
    pub(crate) fn nest(&mut self, row: usize) -> Option<Vec<TypeName>> {
        let mut nest = vec![self.type_name(table::TYPE_DEF, row)?];
        let mut inner = row;
        while let Some(outer) = self.outer(inner).filter(|_| nest.len() < DEEPEST) {
            nest.push(self.type_name(table::TYPE_DEF, outer)?);
            inner = outer;
        }
        nest.reverse();
        Some(nest)
    }

    /// The fields that a type declares.
    pub(crate) fn fields_of(&mut self, row: usize) -> Option<Vec<DeclaredField>> {
        let first = self.cell(table::TYPE_DEF, row, 4)?;
        let end = self.cell(table::TYPE_DEF, row.checked_add(1)?, 4);
        let end = end.unwrap_or(self.metadata.rows(table::FIELD) + 1);
        let mut fields = Vec::new();
        for row in (first..end).take(MOST_FIELDS) {
            let flags = self.cell(table::FIELD, row, 0)?;
            let name = self.cell(table::FIELD, row, 1)?;
            fields.push(DeclaredField {
                row: u32::try_from(row).ok()?,
                name: self.text(name)?,
                is_static: flags & STATIC != 0,
                is_constant: flags & LITERAL != 0,
            });
        }
        Some(fields)
    }

    /// The type around a type; the table is sorted by the inner one.
    fn outer(&mut self, inner: usize) -> Option<usize> {
        let (mut low, mut high) = (1, self.metadata.rows(table::NESTED_CLASS) + 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.cell(table::NESTED_CLASS, middle, 0)? < inner {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = self.cell(table::NESTED_CLASS, low, 0)?;
        (found == inner).then(|| self.cell(table::NESTED_CLASS, low, 1))?
    }
}
