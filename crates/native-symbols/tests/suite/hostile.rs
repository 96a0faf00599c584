//! Files and maps that are cut, spoilt or made to do harm.

use std::sync::OnceLock;

use model::ProcessId;
use native_symbols::{Backing, DebugFolders, ElfImage, KernelNames, MemoryMap, Named, NativeNames};
use proptest::prelude::*;

fn own_map() -> MemoryMap {
    MemoryMap::of_process(ProcessId(std::process::id())).expect("our own map")
}

/// A real library, small enough to be spoilt often.
fn library() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let is_small = |path: &std::path::Path| path.to_string_lossy().contains("libgcc_s");
        let path = own_map().iter().find_map(|mapping| match &mapping.backing {
            Backing::File(path) if is_small(path) => Some(path.clone()),
            _ => None,
        });
        let path = path.unwrap_or_else(|| std::env::current_exe().expect("this test"));
        std::fs::read(path).expect("it can be read")
    })
}

/// Asks an image for everything that it can be asked for.
fn ask(image: &ElfImage) {
    for at in [0, 1, 0x1000, 0x1_0000, u64::MAX - 1, u64::MAX] {
        let _ = image.function(at).map(|function| function.raw_name.len());
        let _ = image.address_of(at).and_then(|address| image.function(address));
    }
    assert!(image.functions() < 1 << 22);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_spoilt_library_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<[u8; 8]>()), 1..12),
        in_head in any::<bool>(),
        end in any::<prop::sample::Index>(),
    ) {
        let mut file = library().to_vec();
        for (at, bytes) in changes {
            let room = if in_head { 1024 } else { file.len() - 8 };
            let at = at.index(room);
            file[at..at + 8].copy_from_slice(&bytes);
        }
        if let Ok(image) = ElfImage::parse(&file) {
            ask(&image);
        }
        if let Ok(image) = ElfImage::parse(&file[..end.index(file.len())]) {
            ask(&image);
        }
    }

    #[test]
    fn any_text_is_a_map(text in "(([0-9a-f]{1,17}-[0-9a-f]{1,17} r[w-]xp [0-9a-f]{1,17} 00:01 7 .{0,20})?\\n?){0,20}", at in any::<u64>()) {
        let map = MemoryMap::parse(&text);
        let all: Vec<_> = map.iter().cloned().collect();
        prop_assert!(all.iter().all(|mapping| mapping.start < mapping.end));
        let mut names = NativeNames::new(DebugFolders { root: "/nowhere".into(), cache: None });
        if let Some(mapping) = map.find(at) {
            let _ = names.frame(at, mapping);
        }
        // What was put in last takes the place of the rest: nothing overlaps.
        let mut built = MemoryMap::default();
        all.into_iter().for_each(|mapping| built.insert(mapping));
        let parts: Vec<_> = built.iter().map(|mapping| (mapping.start, mapping.end)).collect();
        prop_assert!(parts.windows(2).all(|two| two[0].1 <= two[1].0), "{parts:x?}");
    }

    #[test]
    fn any_text_is_a_list_of_the_kernels_functions(text in "([0-9a-f]{0,18} [tTdw] .{0,30}\\n){0,20}", at in any::<u64>()) {
        if let Ok(kernel) = KernelNames::parse(&text) {
            let _ = kernel.function(at).map(str::len);
        }
    }
}

#[test]
fn a_symbol_table_that_claims_to_be_huge_takes_no_memory() {
    let mut file = library().to_vec();
    // Every size of a section becomes 2^40: headers of 64 bytes from the offset that the file's head says.
    let head = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
    let sections = usize::try_from(head(40)).expect("an offset");
    let count = usize::from(u16::from_le_bytes([file[60], file[61]]));
    for section in (0..count).map(|number| sections + number * 64) {
        if let Some(size) = file.get_mut(section + 32..section + 40) {
            size.copy_from_slice(&(1u64 << 40).to_le_bytes());
        }
    }
    if let Ok(image) = ElfImage::parse(&file) {
        ask(&image);
    }
}

#[test]
fn the_vdso_has_names() {
    let map = own_map();
    let Some(mapping) = map.iter().find(|mapping| mapping.backing == Backing::Vdso) else {
        println!("this kernel has none");
        return;
    };
    let memory = std::fs::File::open("/proc/self/mem").expect("our own memory");
    let mut image = vec![0; usize::try_from(mapping.end - mapping.start).expect("a few pages")];
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut image, mapping.start).expect("it is mapped");
    let mut names = NativeNames::new(DebugFolders::default());
    let bare = names.frame(mapping.start + 0x800, mapping).expect("a frame");
    assert_eq!((bare.0.name.as_str(), bare.1), ("[vdso]", Named::Module));
    names.learn_vdso(&image);
    let named = (mapping.start..mapping.end)
        .step_by(16)
        .filter_map(|address| names.frame(address, mapping))
        .filter(|(_, named)| *named == Named::Function)
        .map(|(frame, _)| frame.name);
    assert!(named.into_iter().any(|name| name.ends_with("clock_gettime")));
}
