//! From the runtime's id of a method to its names.

use std::collections::HashMap;
use std::sync::Arc;

use crate::memory::{Memory, Pages};
use crate::metadata::{DeclaredField, Metadata, TypeName};
use crate::offsets::Offsets;
use crate::signature;
use crate::type_names::TypeWriter;

/// Longest names and signatures of methods that are made at run time, and paths of modules, in letters.
const LONGEST_NAME: usize = 4096;
const LONGEST_SIGNATURE: u32 = 64 << 10;
const LONGEST_PATH: usize = 4096;
/// Modules whose metadata is known at the same time.
const MOST_MODULES: usize = 4096;

/// The lowest bits of a method's flags say what it is; this one was made at run time and has no metadata.
const KIND: u16 = 7;
const DYNAMIC: u16 = 7;
/// The module was made at run time.
const REFLECTION_EMIT: u32 = 0x40;
/// The pointer to a type's class leads to another type that has it.
const OTHER_TYPE: u64 = 1;

/// What a method is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MethodNames {
    pub(crate) module: u64,
    pub(crate) token: u32,
    pub(crate) is_dynamic: bool,
    pub(crate) type_name: String,
    pub(crate) name: String,
    pub(crate) signature: String,
}

/// Reads names.
pub(crate) struct Names<M> {
    pub(crate) memory: M,
    pub(crate) offsets: Offsets,
    pages: Pages,
    /// By module: where its image lies, and its metadata.
    modules: HashMap<u64, (u64, Option<Arc<Metadata>>)>,
}

impl<M: Memory> Names<M> {
    pub(crate) fn new(memory: M, offsets: Offsets) -> Names<M> {
        Names { memory, offsets, pages: Pages::default(), modules: HashMap::new() }
    }

    /// Forgets what was kept of modules.
    pub(crate) fn forget(&mut self) {
        self.pages.clear();
        self.modules.clear();
    }

    /// The names of a method.
    pub(crate) fn method(&mut self, method: u64) -> Option<MethodNames> {
        let at = |offset: u64| method.checked_add(offset);
        let flags = self.memory.u16(at(self.offsets.method_flags)?)?;
        let index = self.memory.u8(at(self.offsets.method_chunk_index)?)?;
        let before = u64::from(index).checked_mul(self.offsets.method_alignment)?;
        let chunk = method.checked_sub(before)?.checked_sub(self.offsets.chunk_size)?;
        let method_table = self.memory.pointer(chunk.checked_add(self.offsets.chunk_type)?)?;
        if !self.is_type(method_table)? {
            return None;
        }
        let module = self.memory.pointer(method_table.checked_add(self.offsets.type_module)?)?;
        if flags & KIND == DYNAMIC {
            return self.dynamic_method(method, module);
        }
        let upper = u32::from(self.memory.u16(chunk.checked_add(self.offsets.chunk_token)?)?);
        let lower = u32::from(self.memory.u16(at(self.offsets.method_token)?)?);
        let bits = self.offsets.token_bits;
        let row = (upper & ((1 << (24 - bits)) - 1)) << bits | lower & ((1 << bits) - 1);
        let type_name = TypeWriter::name(self, method_table)?;
        let metadata = self.metadata(module)?;
        let mut reader = metadata.with(&self.memory, &mut self.pages);
        let row_index = usize::try_from(row).ok()?;
        let name = reader.method_name(row_index)?;
        let signature = reader.method_signature(row_index).unwrap_or_default();
        let signature = signature::text(&mut reader, &signature);
        Some(MethodNames { module, token: 0x0600_0000 | row, is_dynamic: false, type_name, name, signature })
    }

    fn dynamic_method(&mut self, method: u64, module: u64) -> Option<MethodNames> {
        let at = |offset: u64| method.checked_add(offset);
        let name = self.memory.pointer(at(self.offsets.dynamic_method_name)?)?;
        // A method that was just freed may still be in the tables, while its name is somebody else's memory.
        let name = String::from_utf8(self.memory.text::<1>(name, LONGEST_NAME)?).ok()?;
        if name.is_empty() || name.contains(char::is_control) {
            return None;
        }
        let size = self.memory.u32(at(self.offsets.stored_signature_size)?)?.min(LONGEST_SIGNATURE);
        let signature = self.memory.u64(at(self.offsets.stored_signature)?)?;
        let signature = self.memory.up_to(signature, usize::try_from(size).ok()?);
        // Its types are given by address; only a few refer to metadata.
        let signature = match self.metadata(module) {
            Some(metadata) => signature::text(&mut metadata.with(&self.memory, &mut self.pages), &signature),
            None => String::new(),
        };
        let type_name = "dynamicClass".to_owned();
        Some(MethodNames { module, token: 0, is_dynamic: true, type_name, name, signature })
    }

    /// The path of a module as the process sees it; of one without a file, the name of its assembly.
    pub(crate) fn module_path(&mut self, module: u64) -> Option<String> {
        let path = self.path(module).filter(|path| !path.is_empty());
        // Modules that lie within a single-file program have no path.
        path.or_else(|| self.metadata(module)?.with(&self.memory, &mut self.pages).assembly_name())
    }

    fn path(&self, module: u64) -> Option<String> {
        let text = self.memory.pointer(module.checked_add(self.offsets.module_path)?)?;
        let bytes = self.memory.text::<2>(text, 2 * LONGEST_PATH)?;
        let units = bytes.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two));
        Some(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }

    /// Whether there is a type: its class leads back to it, or to the type that shares its code.
    pub(crate) fn is_type(&self, method_table: u64) -> Option<bool> {
        let (owner, class) = self.class(method_table)?;
        Some(self.memory.u64(class.checked_add(self.offsets.class_type)?)? == owner)
    }

    /// The class of a type, with the type that owns it.
    pub(crate) fn class(&self, method_table: u64) -> Option<(u64, u64)> {
        let of = |method_table: u64| self.memory.pointer(method_table.checked_add(self.offsets.type_class)?);
        let class = of(method_table)?;
        if class & OTHER_TYPE == 0 {
            return Some((method_table, class));
        }
        let other = class & !OTHER_TYPE;
        let class = of(other)?;
        (class & OTHER_TYPE == 0).then_some((other, class))
    }

    pub(crate) fn type_flags(&self, method_table: u64) -> Option<u32> {
        self.memory.u32(method_table.checked_add(self.offsets.type_flags)?)
    }

    pub(crate) fn array_rank(&self, method_table: u64) -> Option<u8> {
        let (_, class) = self.class(method_table)?;
        self.memory.u8(class.checked_add(self.offsets.array_rank)?)
    }

    /// The names of a type and those around it.
    pub(crate) fn nest_of(&mut self, method_table: u64) -> Option<Vec<TypeName>> {
        let module = self.memory.pointer(method_table.checked_add(self.offsets.type_module)?)?;
        // The row of the type stands above the flags.
        let row = self.memory.u32(method_table.checked_add(self.offsets.type_flags2)?)? >> 8;
        let metadata = self.metadata(module)?;
        metadata.with(&self.memory, &mut self.pages).nest(usize::try_from(row).ok()?)
    }

    /// The fields that a type declares.
    pub(crate) fn declared_fields(&mut self, method_table: u64) -> Option<Vec<DeclaredField>> {
        let module = self.memory.pointer(method_table.checked_add(self.offsets.type_module)?)?;
        let row = self.memory.u32(method_table.checked_add(self.offsets.type_flags2)?)? >> 8;
        let metadata = self.metadata(module)?;
        metadata.with(&self.memory, &mut self.pages).fields_of(usize::try_from(row).ok()?)
    }

    pub(crate) fn type_parameter(&mut self, module: u64, token: u32) -> Option<String> {
        let row = usize::try_from(token & 0x00ff_ffff).ok()?;
        self.metadata(module)?.with(&self.memory, &mut self.pages).type_parameter(row)
    }

    /// The metadata of a module.
    fn metadata(&mut self, module: u64) -> Option<Arc<Metadata>> {
        let at = |offset: u64| module.checked_add(offset);
        let flags = self.memory.u32(at(self.offsets.module_flags)?)?;
        let dynamic = self.memory.u64(at(self.offsets.module_dynamic_metadata)?)?;
        let source = match dynamic {
            0 if flags & REFLECTION_EMIT != 0 => return None,
            0 => self.memory.pointer(at(self.offsets.module_base)?)?,
            saved => saved,
        };
        if self.modules.len() >= MOST_MODULES {
            self.forget();
        }
        // A module may be unloaded, and another one be made in its place.
        match self.modules.get(&module) {
            Some((known, metadata)) if *known == source => metadata.clone(),
            known => {
                if known.is_some() {
                    self.pages.clear();
                }
                let metadata = if dynamic == 0 {
                    Metadata::of_image(&self.memory, source)
                } else {
                    Metadata::at(&self.memory, source.checked_add(self.offsets.dynamic_metadata_data)?)
                };
                let metadata = metadata.map(Arc::new);
                self.modules.insert(module, (source, metadata.clone()));
                metadata
            }
        }
    }
}
