//! Debug files beside a library and in the usual folders, in our file system and in another.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::debug_elf::debug_file;
use model::ProcessId;
use native_symbols::{
    Backing, DebugFolders, ElfImage, MemoryMap, Named, NativeNames, Symbols, mapped_libraries,
};
use testbed::{Namespaces, Runtime, shared};

const LIBRARY: &str = "/opt/net/libcoreclr.so";
const NAME: &str = "a_function_of_the_test";

/// The libcoreclr.so of a real runtime, which is stripped.
fn stripped() -> (Vec<u8>, ElfImage) {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().expect("it works");
    let map = MemoryMap::of_process(ProcessId(target.pid())).expect("it works");
    let path = map.iter().find_map(|mapping| match &mapping.backing {
        Backing::File(path) if path.ends_with("libcoreclr.so") => Some(path.clone()),
        _ => None,
    });
    let data = fs::read(path.expect("the runtime is mapped")).expect("it works");
    let image = ElfImage::parse(&data).expect("it works");
    assert!(!image.has_symbol_table, "Microsoft ships it stripped");
    (data, image)
}

/// A debug file that names the whole library.
fn debug_of(image: &ElfImage) -> Vec<u8> {
    let id = &image.build_id.as_ref().expect("it has one").0;
    debug_file(id, &[(NAME, 0, 1 << 30)])
}

fn put(root: &Path, path: &str, data: &[u8]) -> PathBuf {
    let file = root.join(path.trim_start_matches('/'));
    fs::create_dir_all(file.parent().expect("it works")).expect("it works");
    fs::write(&file, data).expect("it works");
    file
}

fn map() -> MemoryMap {
    MemoryMap::parse(&format!("7f0000000000-7f0000700000 r-xp 00000000 fd:00 77 {LIBRARY}\n"))
}

/// Where the symbols of the library come from, as seen in this root, and the name of an address in it.
fn found(root: &Path) -> (Symbols, String, Named) {
    let folders = DebugFolders { root: root.to_owned(), cache: None };
    let libraries = mapped_libraries(&map(), &folders);
    assert_eq!(libraries.len(), 1, "{libraries:?}");
    let mut names = NativeNames::new(folders);
    let (frame, named) =
        names.frame(0x7f00_0000_0000, map().iter().next().expect("it works")).expect("it works");
    (libraries[0].symbols.clone(), frame.name, named)
}

#[test]
fn debug_files_are_found_beside_and_in_the_usual_folders() {
    let (data, image) = stripped();
    let debug = debug_of(&image);
    let id = image.build_id.as_ref().unwrap().to_string();
    let link = image.debug_link.clone().expect("it says where its debug information is");
    let by_id = format!("/usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..]);
    for place in [
        "/opt/net/libcoreclr.so.dbg".to_owned(),
        "/opt/net/libcoreclr.so.debug".to_owned(),
        format!("/opt/net/.debug/{link}"),
        format!("/usr/lib/debug/opt/net/{link}"),
        by_id,
    ] {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), LIBRARY, &data);
        assert!(matches!(found(root.path()).0, Symbols::Missing { exported } if exported > 0));
        let file = put(root.path(), &place, &debug);
        let (symbols, name, named) = found(root.path());
        assert_eq!(symbols, Symbols::DebugFile { file: file.clone(), functions: 1 }, "{place}");
        assert_eq!((name.as_str(), named), (NAME, Named::Function), "{place}");
        // Names of another build are worse than none.
        fs::write(&file, debug_file(&[1; 20], &[(NAME, 0, 1 << 30)])).unwrap();
        let (symbols, name, _) = found(root.path());
        assert!(matches!(symbols, Symbols::Missing { .. }) && name != NAME, "{place}");
    }
}

#[test]
fn links_of_the_target_stay_in_its_file_system() {
    let (data, image) = stripped();
    let root = tempfile::tempdir().unwrap();
    put(root.path(), LIBRARY, &data);
    put(root.path(), "/srv/symbols/coreclr.debug", &debug_of(&image));
    symlink("/srv/symbols/coreclr.debug", root.path().join("opt/net/libcoreclr.so.dbg")).unwrap();
    assert_eq!(found(root.path()).1, NAME, "an absolute link counts from its own root");

    let outside = tempfile::tempdir().unwrap();
    let secret = put(outside.path(), "outside.debug", &debug_of(&image));
    fs::remove_file(root.path().join("opt/net/libcoreclr.so.dbg")).unwrap();
    symlink(secret, root.path().join("opt/net/libcoreclr.so.dbg")).unwrap();
    assert!(matches!(found(root.path()).0, Symbols::Missing { .. }), "and does not lead out of it");
}

#[test]
fn what_is_no_library_is_told_or_left_out() {
    let root = tempfile::tempdir().unwrap();
    let folders = DebugFolders { root: root.path().to_owned(), cache: None };
    let libraries = mapped_libraries(&map(), &folders);
    assert!(
        matches!(&libraries[0].symbols, Symbols::Unreadable { problem } if problem.contains("No such file"))
    );
    put(root.path(), LIBRARY, b"\x7fELF, but not for long");
    let libraries = mapped_libraries(&map(), &folders);
    assert!(matches!(&libraries[0].symbols, Symbols::Unreadable { problem } if problem.contains("ELF")));
    // A managed assembly is mapped as well.
    put(root.path(), LIBRARY, b"MZ\x90\0");
    assert_eq!(mapped_libraries(&map(), &folders), []);
    // A pipe that nobody writes to must not hold us.
    fs::remove_file(root.path().join("opt/net/libcoreclr.so")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.path().join("opt/net/libcoreclr.so")).status();
    assert!(made.unwrap().success());
    let libraries = mapped_libraries(&map(), &folders);
    assert!(matches!(&libraries[0].symbols, Symbols::Unreadable { .. }), "{libraries:?}");
}

#[test]
fn debug_files_in_another_mount_namespace_are_found() {
    if let Err(reason) = Namespaces::available() {
        println!("skipped: {reason}");
        return;
    }
    let (data, image) = stripped();
    let target = shared()
        .target("healthy-idle-service", Runtime::Net9)
        .namespaces(Namespaces::PidAndMount { private_tmp: true })
        .start()
        .unwrap();
    // Its /tmp is not ours.
    let root = PathBuf::from(format!("/proc/{}/root", target.pid()));
    let folder = format!("/tmp/debug-files-{}", std::process::id());
    put(&root, &format!("{folder}/libcoreclr.so"), &data);
    put(&root, &format!("{folder}/elsewhere/it"), &debug_of(&image));
    let beside = root.join(&folder[1..]).join("libcoreclr.so.dbg");
    symlink(format!("{folder}/elsewhere/it"), &beside).unwrap();
    assert!(!Path::new(&folder).exists());
    let map = MemoryMap::parse(&format!("1000-2000 r-xp 00000000 fd:00 77 {folder}/libcoreclr.so\n"));
    let folders = DebugFolders { root, cache: None };
    let libraries = mapped_libraries(&map, &folders);
    assert_eq!(libraries[0].symbols, Symbols::DebugFile { file: beside, functions: 1 });
    let (frame, _) = NativeNames::new(folders).frame(0x1000, map.iter().next().unwrap()).unwrap();
    assert_eq!(frame.name, NAME);
}
