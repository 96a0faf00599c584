//! Which modules are loaded, and which types of each.
//!
//! ```text
//! application domain --> list of assemblies --> module --> map of types, by row of the metadata --> method tables
//! ```
//! .NET 10 says where the list stands; in .NET 9 it is looked for: the place whose entries lead to assemblies that
//! lead to modules that lead back.

use std::collections::HashSet;

use runtime_memory::{Memory, RuntimeMemory};

use crate::instances;

/// Most assemblies, blocks of their list, and types of one module and in all.
const MOST_ASSEMBLIES: u32 = 1 << 16;
const MOST_BLOCKS: usize = 4096;
const MOST_PARTS: usize = 1024;
const MOST_TYPES: usize = 1 << 20;
/// So much of an application domain and of an assembly is looked at.
const DOMAIN: u64 = 4096;
const ASSEMBLY: u64 = 256;
/// Where a list has its first block, and a block its count and its entries.
const FIRST_BLOCK: u64 = 8;
const BLOCK_SIZE: u64 = 8;
const BLOCK_ENTRIES: u64 = 16;

/// How to find modules and types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modules {
    /// The list of assemblies.
    list: u64,
    module_of_assembly: u64,
    assembly_of_module: u64,
    types: u64,
    table: u64,
    /// Where a module has its table of instances, if it was found.
    instances: Option<u64>,
}

impl Modules {
    pub(crate) fn find<M: Memory>(runtime: &RuntimeMemory<M>) -> Option<Modules> {
        let memory = runtime.memory();
        let domain = memory.pointer(runtime.global("AppDomain")?)?;
        let assembly_of_module = runtime.field("Module", "Assembly")?;
        let types = runtime.field("Module", "TypeDefToMethodTableMap")?;
        let table = runtime.field("ModuleLookupMap", "TableData")?;
        // The module that has `System.Object`, and its assembly.
        let object = memory.pointer(runtime.global("ObjectMethodTable")?)?;
        let module = runtime.module_of(object)?;
        let assembly = memory.pointer(module.checked_add(assembly_of_module)?)?;
        let points_back =
            |offset: &u64| assembly.checked_add(*offset).and_then(|at| memory.u64(at)) == Some(module);
        let module_of_assembly =
            runtime.field("Assembly", "Module").or_else(|| (0..ASSEMBLY).step_by(8).find(points_back))?;
        let instances = instances::find(runtime, module);
        let mut modules =
            Modules { list: 0, module_of_assembly, assembly_of_module, types, table, instances };
        let described = runtime.field("AppDomain", "DomainAssemblyList");
        let described = described.or_else(|| runtime.field("AppDomain", "AssemblyList"));
        // Other lists of the domain have some of the assemblies; the longest has all.
        let length = |offset: u64| {
            let list = domain.checked_add(offset)?;
            let found = Modules { list, ..modules }.list(memory);
            found.contains(&module).then_some((found.len(), offset))
        };
        let list = match described.and_then(length) {
            Some((_, offset)) => offset,
            None => (0..DOMAIN).step_by(8).filter_map(length).max()?.1,
        };
        modules.list = domain.checked_add(list)?;
        Some(modules)
    }

    /// The modules of all assemblies.
    pub(crate) fn list(&self, memory: &impl Memory) -> Vec<u64> {
        let count = memory.u32(self.list).filter(|count| (1..MOST_ASSEMBLIES).contains(count));
        let (Some(count), Some(mut block)) = (count, self.list.checked_add(FIRST_BLOCK)) else {
            return Vec::new();
        };
        let mut modules = Vec::new();
        let mut left = u64::from(count);
        for _ in 0..MOST_BLOCKS {
            let size = block.checked_add(BLOCK_SIZE).and_then(|at| memory.u32(at)).unwrap_or(0);
            for index in 0..u64::from(size).min(left) {
                modules.extend(self.module_at(memory, block, index));
                // No list of assemblies, whatever it is.
                if index > 64 && modules.is_empty() {
                    return modules;
                }
            }
            left = left.saturating_sub(u64::from(size));
            match memory.u64(block) {
                Some(next) if next != 0 && left > 0 && size > 0 => block = next,
                _ => break,
            }
        }
        modules
    }

    /// The module of an entry: of an assembly, or of what begins with the address of one.
    fn module_at(&self, memory: &impl Memory, block: u64, index: u64) -> Option<u64> {
        let entry = memory.pointer(block.checked_add(BLOCK_ENTRIES + 8 * index)?)?;
        let module_of = |assembly: u64| {
            let module = memory.pointer(assembly.checked_add(self.module_of_assembly)?)?;
            let back = memory.u64(module.checked_add(self.assembly_of_module)?)?;
            (back == assembly).then_some(module)
        };
        module_of(entry).or_else(|| module_of(memory.pointer(entry)?))
    }

    /// The method tables of all types of all modules that are loaded, instances of generic types among them.
    pub(crate) fn types(&self, memory: &impl Memory) -> Vec<u64> {
        let mut types = Vec::new();
        for module in self.list(memory) {
            self.types_of(memory, module, &mut types);
            if let Some(offset) = self.instances {
                let _ = instances::read(memory, module, offset, MOST_TYPES, &mut types);
            }
            if types.len() >= MOST_TYPES {
                break;
            }
        }
        types
    }

    fn types_of(&self, memory: &impl Memory, module: u64, types: &mut Vec<u64>) {
        let Some(mut map) = module.checked_add(self.types) else { return };
        let mut seen = HashSet::new();
        for _ in 0..MOST_PARTS {
            // The next part, the table, how many entries it has, and which bits of them are flags.
            let Some(head) = memory.array::<32>(map) else { return };
            let (words, _) = head.as_chunks::<8>();
            let Some(next) = words.first().map(|word| u64::from_le_bytes(*word)) else { return };
            let (Some(table), Some(flags)) = (
                map.checked_add(self.table).and_then(|at| memory.u64(at)),
                words.get(3).map(|word| u64::from_le_bytes(*word) & 7),
            ) else {
                return;
            };
            let count = words.get(2).map_or(0, |word| u64::from_le_bytes(*word) & 0xffff_ffff);
            let room = MOST_TYPES.saturating_sub(types.len());
            let count = usize::try_from(count).unwrap_or(0).min(room);
            let bytes = memory.up_to(table, 8 * count);
            let entries = bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight) & !flags);
            types.extend(entries.filter(|entry| *entry != 0));
            if next == 0 || !seen.insert(next) || room == 0 {
                return;
            }
            map = next;
        }
    }
}
