//! From a real process's stripped library to the name of an address in it.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::debug_elf::debug_file;
use crate::loopback::{Loopback, Reply};
use model::ProcessId;
use native_symbols::{
    Backing, DebugFolders, ElfImage, MappedLibrary, MemoryMap, Named, NativeNames, Symbols, mapped_libraries,
};
use symbol_server::{Cache, Fetcher, Limits, Outcome, Proxies, Server, Wanted};
use testbed::{Runtime, shared};

#[test]
fn what_was_fetched_names_code_of_a_real_process() {
    // 3.1 came with its own table.
    let runtime = Runtime::Net9;
    let target = shared().target("healthy-idle-service", runtime).start().unwrap();
    let map = MemoryMap::of_process(ProcessId(target.pid())).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = PathBuf::from(format!("/proc/{}/root", target.pid()));
    let folders = DebugFolders { root, cache: Some(folder.path().to_owned()) };
    let library = runtime_library(&map, &folders);
    assert!(matches!(library.symbols, Symbols::Missing { .. }), "{library:?}");

    // An address that has no name yet, and a debug file that gives it one.
    let image = ElfImage::parse(&std::fs::read(folders.inside(&library.path)).unwrap()).unwrap();
    let mapping = map
        .iter()
        .find(|mapping| mapping.executable && mapping.backing == Backing::File(library.path.clone()))
        .unwrap();
    let mut before = NativeNames::new(folders.clone());
    let address = (mapping.start..mapping.end)
        .step_by(16)
        .find(|address| before.frame(*address, mapping).is_some_and(|(_, named)| named == Named::Module))
        .expect("a stripped library has code without a name");
    let linked = image.address_of(address - mapping.start + mapping.offset).unwrap();
    let id = library.build_id.clone().unwrap();
    let file = debug_file(&id.0, &[("_ZN3WKS7gc_heap10mark_phaseEi", linked, 16)]);
    let key = format!("/_.debug/elf-buildid-sym-{id}/_.debug");
    let server = Loopback::start(move |path| match path == key {
        true => Reply::file(file.clone()),
        false => Reply::status(404),
    });

    let servers = vec![Server::parse(&server.url()).unwrap()];
    let mut fetcher = Fetcher::new(servers, Limits::default(), Proxies::None).unwrap();
    let cache = Cache::create(folder.path().to_owned()).unwrap();
    let wanted = Wanted { name: "libcoreclr.so".to_owned(), build_id: id };
    let outcome = fetcher.fetch(&wanted, &cache, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(matches!(outcome, Outcome::Fetched(_)), "{outcome:?} {:?}", server.asked());

    let symbols = runtime_library(&map, &folders).symbols;
    let file = wanted.build_id.in_cache(folder.path());
    assert_eq!(symbols, Symbols::DebugFile { file, functions: 1 });
    let (frame, named) = NativeNames::new(folders).frame(address, mapping).unwrap();
    assert_eq!((frame.name.as_str(), named), ("WKS::gc_heap::mark_phase", Named::Function), "{runtime}");
    assert!(target.is_alive());
}

fn runtime_library(map: &MemoryMap, folders: &DebugFolders) -> MappedLibrary {
    let libraries = mapped_libraries(map, folders);
    libraries.into_iter().find(|library| library.path.ends_with("libcoreclr.so")).expect("it is mapped")
}
