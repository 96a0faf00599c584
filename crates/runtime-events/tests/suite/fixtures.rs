//! What the recorded traces of four runtimes decode to.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use nettrace::{Item, Reader};
use runtime_events::{RuntimeEvent, decode_with_rest};

/// The first event of each kind, in a line.
fn describe(event: &RuntimeEvent<'_>) -> String {
    match event {
        RuntimeEvent::ExceptionThrown(e) => {
            format!("{}: {:?} {}", e.type_name, e.message.to_string(), e.hresult)
        }
        RuntimeEvent::CatchStart(e) => format!("{}", e.method_name),
        RuntimeEvent::GcStart(e) => format!("generation {} {:?} {:?}", e.generation, e.reason, e.kind),
        RuntimeEvent::GcEnd(e) => format!("generation {}", e.generation),
        RuntimeEvent::HeapStats(e) => format!(
            "{} {} {} bytes, {:?} pinned bytes, {} handles",
            e.gen0_bytes, e.gen1_bytes, e.gen2_bytes, e.pinned_bytes, e.handles
        ),
        RuntimeEvent::SuspendBegin(e) => format!("{:?}", e.reason),
        RuntimeEvent::CreateSegment(e) => format!("{:?} {} bytes", e.kind, e.bytes),
        RuntimeEvent::AllocationTick(e) => format!(
            "{} of {} bytes after {} bytes, {:?}",
            e.type_name.map_or_else(String::new, |name| name.to_string()),
            e.object_bytes.map_or("unknown".into(), |bytes| bytes.to_string()),
            e.allocated_bytes(),
            e.kind
        ),
        RuntimeEvent::PinObject(e) => format!("{} of {} bytes", e.type_name, e.bytes),
        RuntimeEvent::GcTriggered(e) => format!("{:?}", e.reason),
        RuntimeEvent::GcDynamic(e) => format!("{} of {} bytes", e.name, e.data.len()),
        RuntimeEvent::GlobalHeapHistory(e) => {
            let decision = e.decision;
            let times = e.times().len();
            format!("{:?} {:?} {} times", decision.reason, decision.pause_mode, times)
        }
        RuntimeEvent::PerHeapHistory(e) => {
            let sizes: Vec<String> = e.generations().map(|part| part.size_after.to_string()).collect();
            format!("heap {}: {} bytes", e.heap, sizes.join(" "))
        }
        RuntimeEvent::MethodLoad(e) => format!("{}.{} {:?}", e.namespace, e.name, e.flags.tier()),
        RuntimeEvent::JittingStarted(e) => format!("{}.{} {} bytes of IL", e.namespace, e.name, e.il_bytes),
        RuntimeEvent::JitMemory(e) => format!("{} of {} bytes hot", e.hot_bytes, e.allocated_bytes),
        RuntimeEvent::FinalizersEnd(e) => format!("{}", e.count),
        RuntimeEvent::IncreaseMemoryPressure(e) => format!("{} bytes", e.bytes),
        RuntimeEvent::Sample(e) => format!("{:?}", e.kind),
        RuntimeEvent::ProcessInfo(e) => {
            let [system, processor] =
                [e.operating_system, e.architecture].map(|text| text.map(|t| t.to_string()));
            format!("{system:?} {processor:?}")
        }
        RuntimeEvent::EventCounter(e) => {
            let units = e.display_units.map_or_else(String::new, |units| units.to_string());
            format!("{} {:?} {units} in {:.1} s", e.name, e.reading, e.interval_seconds)
        }
        _ => String::new(),
    }
}

fn summary(path: &Path) -> String {
    let file = std::fs::File::open(path).expect("the fixture can be opened");
    let mut reader = Reader::new(file);
    let mut seen = BTreeMap::<_, (u64, String)>::new();
    while let Some(item) = reader.next().expect("the fixture is sound") {
        let Item::Event(event) = item else { continue };
        let decoded = decode_with_rest(&event).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (key, first) = match &decoded {
            Some((decoded, rest)) => {
                assert!(rest.is_empty(), "{}: {rest:?} behind {decoded:?}", path.display());
                (format!("{} v{}", decoded.name(), event.version()), describe(decoded))
            }
            None => {
                (format!("not decoded: {} {}", event.metadata.provider, event.metadata.event), String::new())
            }
        };
        seen.entry(key).or_insert((0, first)).0 += 1;
    }
    let mut text = String::new();
    for (key, (count, first)) in seen {
        writeln!(text, "{}", format!("{count:6} {key}: {first}").trim_end_matches([' ', ':']))
            .expect("a string takes text");
    }
    text
}

#[test]
fn every_fixture_decodes_to_what_was_accepted() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in
        std::fs::read_dir(here.join("../nettrace/fixtures")).expect("the folder can be read").flatten()
    {
        let path = entry.path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "nettrace") && !name.starts_with("synthetic")
        {
            golden::check(here.join("golden").join(name).with_extension("txt"), &summary(&path));
            count += 1;
        }
    }
    assert!(count >= 8, "{count} fixtures");
}
