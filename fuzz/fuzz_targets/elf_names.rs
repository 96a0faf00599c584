//! Whatever stands in an ELF file, a list of mappings, an index of unwind tables or an assembly, reading it does not panic, and
//! what is found lies inside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use native_symbols::{ElfImage, KernelNames, MemoryMap};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(image) = ElfImage::parse(bytes) {
        assert!(image.functions() <= bytes.len());
        for at in [0, 0x1000, u64::MAX] {
            if let Some(function) = image.address_of(at).and_then(|address| image.function(address)) {
                assert!(function.raw_name.len() <= bytes.len());
            }
        }
    }
    if let Ok(code) = ready_to_run::Precompiled::read(bytes) {
        assert!(code.methods() <= bytes.len());
        if let Some(row) = code.method_at(0x1000) {
            let _ = ready_to_run::MethodNames::read(bytes).and_then(|names| names.get(row.0 as usize));
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let mut map = MemoryMap::parse(text);
        let first = map.iter().next().cloned();
        if let Some(mapping) = first {
            assert!(map.find(mapping.start).is_some());
            map.insert(mapping);
        }
        if let Ok(kernel) = KernelNames::parse(text) {
            let _ = kernel.function(u64::MAX);
        }
    }
});
