//! Debug files that do not exist elsewhere: a build id and a symbol table.

use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};

/// A debug file of a build, with functions: name, linked address, length.
pub fn debug_file(build_id: &[u8], functions: &[(&str, u64, u64)]) -> Vec<u8> {
    let mut file = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let note = file.add_section(Vec::new(), b".note.gnu.build-id".to_vec(), SectionKind::Note);
    let length = u32::try_from(build_id.len()).expect("a build id is short");
    let mut data: Vec<u8> = [4, length, 3].into_iter().flat_map(u32::to_le_bytes).collect();
    data.extend(b"GNU\0");
    data.extend(build_id);
    data.resize(data.len().next_multiple_of(4), 0);
    file.append_section_data(note, &data, 4);
    let code = file.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
    for (name, value, size) in functions {
        file.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: *value,
            size: *size,
            kind: SymbolKind::Text,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(code),
            flags: SymbolFlags::None,
        });
    }
    file.write().expect("a small file")
}
