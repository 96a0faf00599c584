//! Names of real processes' native code.

use std::path::Path;

use model::{FrameKind, ProcessId};
use native_symbols::{Backing, DebugFolders, ElfImage, KernelNames, MemoryMap, Named, NativeNames};
use testbed::{Runtime, shared};

/// The address of the middle of each named function of a library, as the process has it mapped, and its name.
fn exported(map: &MemoryMap, root: &Path, library: &str) -> (u64, String) {
    let mapping = map
        .iter()
        .find(|mapping| {
            mapping.executable && matches!(&mapping.backing, Backing::File(path) if path.ends_with(library))
        })
        .expect("the library is mapped");
    let Backing::File(path) = &mapping.backing else { unreachable!("it is a file") };
    let data =
        std::fs::read(root.join(path.strip_prefix("/").expect("an absolute path"))).expect("it can be read");
    let image = ElfImage::parse(&data).expect("it is an ELF file");
    assert!(image.build_id.is_some() && image.functions() > 0);
    // Any place of the mapping that has a function.
    (mapping.start..mapping.end)
        .step_by(64)
        .find_map(|address| {
            let linked = image.address_of(address - mapping.start + mapping.offset)?;
            Some((address, image.function(linked)?.raw_name.to_owned()))
        })
        .expect("a function is mapped")
}

#[test]
fn the_runtime_and_libc_of_a_real_process_are_named() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let target = shared().target("healthy-idle-service", runtime).start().unwrap();
        let pid = ProcessId(target.pid());
        let map = MemoryMap::of_process(pid).unwrap();
        let root = format!("/proc/{pid}/root").into();
        let mut names = NativeNames::new(DebugFolders { root, cache: None });
        for (library, kind) in [("libcoreclr.so", FrameKind::Runtime), ("libc.so.6", FrameKind::Native)] {
            let (address, _) = exported(&map, Path::new(&format!("/proc/{pid}/root")), library);
            let mapping = map.find(address).unwrap();
            let (frame, named) = names.frame(address, mapping).unwrap();
            assert_eq!((frame.kind, named), (kind, Named::Function), "{runtime}: {frame:?}");
            assert_eq!(frame.module.as_deref(), Some(library));
            assert!(!frame.name.is_empty() && !frame.name.starts_with("_Z"), "{frame:?}");
        }
        // What has no function still has its library and the offset.
        let stripped: Vec<_> =
            names.without_symbols().map(|(path, id)| (path.to_owned(), id.cloned())).collect();
        println!("{runtime}: {stripped:?}");
    }
}

#[test]
fn a_debug_file_of_the_same_build_gives_its_names_and_another_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let me = std::env::current_exe().unwrap();
    let data = std::fs::read(&me).unwrap();
    let image = ElfImage::parse(&data).unwrap();
    let Some(id) = image.build_id.clone() else {
        println!("this toolchain writes no build id; nothing to compare");
        return;
    };
    std::fs::copy(&me, folder.path().join(format!("{id}.debug"))).unwrap();
    let folders = DebugFolders { root: "".into(), cache: Some(folder.path().to_owned()) };
    let found = folders.candidates(&me, Some(&id), None);
    assert!(found.iter().any(|path| path.exists()), "{found:?}");
}

#[test]
fn the_kernel_is_named_when_it_allows_it() {
    match KernelNames::of_this_machine() {
        Ok(kernel) => {
            let text = std::fs::read_to_string("/proc/kallsyms").unwrap();
            let line = text.lines().find(|line| line.contains(" T ")).unwrap();
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next().unwrap(), 16).unwrap();
            assert!(kernel.function(address + 1).is_some());
        }
        Err(error) => println!("not named here: {error}"),
    }
}

#[test]
fn no_file_that_is_cut_or_spoilt_makes_it_panic() {
    let libc = MemoryMap::of_process(ProcessId(std::process::id())).unwrap();
    let path = libc
        .iter()
        .find_map(|mapping| match &mapping.backing {
            Backing::File(path) if path.to_string_lossy().contains("libc.so") => Some(path.clone()),
            _ => None,
        })
        .expect("libc is mapped");
    let data = std::fs::read(path).unwrap();
    for end in (0..data.len()).step_by(data.len() / 200) {
        let _ = ElfImage::parse(&data[..end]);
    }
    for at in 0..64 {
        for value in [0, 1, 0x7f, 0xff] {
            let mut spoilt = data[..data.len().min(200_000)].to_vec();
            spoilt[at] = value;
            if let Ok(image) = ElfImage::parse(&spoilt) {
                let _ =
                    image.address_of(u64::MAX).and_then(|address| image.function(address).map(|f| f.offset));
            }
        }
    }
}
