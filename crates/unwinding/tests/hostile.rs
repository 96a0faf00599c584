//! Stacks and files that are spoilt or made to do harm.

use std::sync::OnceLock;

use model::ProcessId;
use native_symbols::{Backing, DebugFolders, Mapping, MemoryMap};
use proptest::prelude::*;
use unwinding::{Modules, Reached, Registers, Snapshot, Unwinder};

/// Code of this process's own C library.
fn libc() -> &'static Mapping {
    static FOUND: OnceLock<Mapping> = OnceLock::new();
    FOUND.get_or_init(|| {
        let map = MemoryMap::of_process(ProcessId(std::process::id())).expect("our own map");
        let is_libc = |mapping: &&Mapping| {
            mapping.executable
                && matches!(&mapping.backing, Backing::File(path) if path.to_string_lossy().contains("libc.so"))
        };
        map.iter().find(is_libc).expect("the C library is mapped").clone()
    })
}

fn walk(modules: Modules, registers: Registers, stack: &[u8], chain: &[u64]) -> (Reached, Vec<u64>) {
    let mut unwinder = Unwinder::new(modules);
    let mut frames = Vec::new();
    let snapshot = Snapshot { registers, stack, chain, chain_cut: false };
    let reached = unwinder.walk(&snapshot, &mut frames);
    (reached, frames)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_stack_is_walked_to_an_end(
        inside in 0..1u64 << 20,
        top in any::<u64>(),
        frame in 0..4096u64,
        words in prop::collection::vec(prop_oneof![any::<u64>(), 0..1u64 << 20], 0..512),
        chain in prop::collection::vec(0..1u64 << 20, 0..200),
    ) {
        let mapping = libc();
        let mut modules = Modules::new(DebugFolders::default());
        modules.add(mapping);
        // Small numbers stand for places in the library and on the stack, so that the walk gets somewhere.
        let size = mapping.end - mapping.start;
        let bytes: Vec<u8> = words
            .iter()
            .enumerate()
            .map(|(number, word)| match word {
                word if *word >= 1 << 20 => *word,
                word if number % 2 == 0 => top.wrapping_add(word % 4096),
                word => mapping.start + word % size,
            })
            .flat_map(u64::to_le_bytes)
            .collect();
        let registers =
            Registers { instruction: mapping.start + inside % size, stack: top, frame: top.wrapping_add(frame) };
        let (_, frames) = walk(modules, registers, &bytes, &chain);
        prop_assert!(!frames.is_empty() && frames.len() <= 2 * 4096 + chain.len(), "{}", frames.len());
    }

    #[test]
    fn spoilt_tables_lead_nowhere_but_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<[u8; 8]>()), 1..20),
        in_head in any::<bool>(),
        cut in any::<prop::sample::Index>(),
        inside in 0..1u64 << 20,
    ) {
        let mapping = libc();
        let Backing::File(path) = &mapping.backing else { unreachable!("it is a file") };
        let mut file = std::fs::read(path).expect("it can be read");
        for (at, bytes) in changes {
            let room = if in_head { 1024 } else { file.len() - 8 };
            let at = at.index(room);
            file[at..at + 8].copy_from_slice(&bytes);
        }
        file.truncate(cut.index(file.len()) + file.len() / 2);
        let folder = tempfile::tempdir().expect("a temp folder");
        let spoilt = folder.path().join("libspoilt.so");
        std::fs::write(&spoilt, &file).expect("it can be written");
        let mapping = Mapping { backing: Backing::File(spoilt), ..mapping.clone() };
        let mut modules = Modules::new(DebugFolders::default());
        modules.add(&mapping);
        let at = mapping.start + inside % (mapping.end - mapping.start);
        let _ = (modules.covers(at), modules.function_start(at));
        let registers = Registers { instruction: at, stack: 0x1000, frame: 0x1010 };
        let (_, frames) = walk(modules, registers, &[0x10; 512], &[]);
        prop_assert!(!frames.is_empty());
    }
}

#[test]
fn functions_without_names_have_a_start() {
    let mapping = libc();
    let mut modules = Modules::new(DebugFolders::default());
    modules.add(mapping);
    let middle = mapping.start + (mapping.end - mapping.start) / 2;
    let start = modules.function_start(middle).expect("libc has tables");
    assert!(start <= middle && middle - start < 1 << 20);
    assert_eq!(modules.function_start(start), Some(start));
    assert!(modules.covers(middle) && !modules.covers(mapping.start - 1) && !modules.covers(mapping.end));
    // Something else comes to its place.
    modules.add(&Mapping { backing: Backing::Anonymous, ..mapping.clone() });
    assert!(!modules.covers(middle));
}
