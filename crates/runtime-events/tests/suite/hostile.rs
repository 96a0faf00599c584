//! Whatever the bytes: no panic, and an error that names the field.

use nettrace::{
    EventId, EventMetadata, EventVersion, Field, FieldType, Keywords, Layout, Level, MetadataId, Opcode,
    PayloadReader, PointerSize,
};
use proptest::prelude::*;
use runtime_events::{DecodeError, RuntimeEvent, decode_payload, provider};

const PROVIDERS: [&str; 7] = [
    provider::RUNTIME,
    provider::RUNDOWN,
    provider::FRAMEWORK,
    provider::SAMPLE_PROFILER,
    provider::EVENT_PIPE,
    provider::METRICS,
    "Any",
];
/// Larger than the id of any event.
const IDS: u32 = 310;
/// Larger than the version of any event.
const VERSIONS: u32 = 6;

fn metadata(provider: &str, event: u32, fields: Vec<Field>) -> EventMetadata {
    EventMetadata {
        id: MetadataId(1),
        provider: provider.into(),
        event: EventId(event),
        name: provider::EVENT_COUNTERS.into(),
        keywords: Keywords(0),
        version: EventVersion(0),
        level: Level(5),
        opcode: Opcode(0),
        layout: Layout::Fields(fields),
        provider_id: None,
        message_template: None,
        description: None,
        attributes: Vec::new(),
    }
}

fn counter_fields() -> Vec<Field> {
    let field = |name: &str, kind| Field { name: name.into(), kind };
    let inner = vec![
        field("Name", FieldType::Utf16Text),
        field("Increment", FieldType::F64),
        field("IntervalSec", FieldType::F32),
        field("Series", FieldType::Utf16Text),
    ];
    vec![field("", FieldType::Struct(vec![field("Payload", FieldType::Struct(inner))]))]
}

/// Decodes, looks at every part of the result, and says which event it was and how much of the payload it took.
fn read(
    metadata: &EventMetadata,
    version: u32,
    bytes: &[u8],
    size: PointerSize,
) -> Result<Option<(&'static str, usize)>, DecodeError> {
    let decoded = decode_payload(metadata, EventVersion(version), PayloadReader::new(bytes, size))?;
    let Some((event, rest)) = decoded else { return Ok(None) };
    let _ = format!("{event:?}");
    match &event {
        RuntimeEvent::Nodes(nodes) => assert_eq!(nodes.iter().count(), nodes.len()),
        RuntimeEvent::Edges(edges) => assert_eq!(edges.iter().count(), edges.len()),
        RuntimeEvent::Roots(roots) => assert_eq!(roots.iter().count(), roots.len()),
        RuntimeEvent::DependentRoots(roots) => assert_eq!(roots.iter().count(), roots.len()),
        RuntimeEvent::StaticRoots(roots) => assert_eq!(roots.iter().count(), roots.count as usize),
        RuntimeEvent::Types(types) => {
            assert_eq!(types.iter().count(), types.count as usize);
            let _ = types.iter().map(|info| info.parameters().count()).sum::<usize>();
        }
        RuntimeEvent::IlToNativeMap(map) => assert_eq!(map.entries().count(), map.len()),
        RuntimeEvent::GlobalHeapHistory(history) => {
            assert_eq!(history.times().count(), history.times().len())
        }
        RuntimeEvent::PerHeapHistory(history) => {
            assert_eq!(history.generations().count(), history.generations().len());
        }
        RuntimeEvent::HistogramValue(histogram) => drop(histogram.quantiles()),
        RuntimeEvent::AllocationSampled(sample) => assert!(sample.represented_bytes() >= 0.0),
        RuntimeEvent::EventCounter(counter) => assert!(counter.series_milliseconds() != Some(1)),
        _ => {}
    }
    Ok(Some((event.name(), bytes.len() - rest.len())))
}

/// Bytes that are often zero, so that texts end and lists are short.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => Just(0_u8), 1 => 0..4_u8, 1 => any::<u8>()];
    prop::collection::vec(byte, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_for_every_event_and_version(bytes in payload()) {
        for name in PROVIDERS {
            for id in 0..IDS {
                let metadata = metadata(name, id, counter_fields());
                for version in 0..VERSIONS {
                    for size in [PointerSize::Four, PointerSize::Eight] {
                        if let Err(error) = read(&metadata, version, &bytes, size) {
                            prop_assert!(!error.to_string().is_empty());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_event_cut_at_every_byte_names_the_field_that_is_missing() {
    // Zeros are empty texts, empty lists and numbers.
    let zeros = [0; 400];
    let mut events = 0;
    for name in PROVIDERS {
        for id in 0..IDS {
            let metadata = metadata(name, id, counter_fields());
            for version in 1..VERSIONS {
                let whole = match read(&metadata, version, &zeros, PointerSize::Eight) {
                    Err(DecodeError::Version { .. }) => continue,
                    whole => whole.expect("zeros can be decoded"),
                };
                let Some((event, size)) = whole else { continue };
                events += 1;
                for cut in 0..size {
                    match read(&metadata, version, &zeros[..cut], PointerSize::Eight) {
                        Err(DecodeError::Field { event: found, field, at, .. }) => {
                            assert_eq!(found, event);
                            assert!(at <= cut && !field.is_empty(), "{event} cut at {cut}: {field} at {at}");
                        }
                        other => panic!("{event} version {version} of {size} bytes, cut at {cut}: {other:?}"),
                    }
                }
                // What comes behind the known fields does not matter.
                let exact = read(&metadata, version, &zeros[..size], PointerSize::Eight);
                assert_eq!(exact, Ok(Some((event, size))));
            }
        }
    }
    assert!(events > 100, "{events} events");
}

#[test]
fn a_version_before_nettrace_is_refused() {
    let error = read(&metadata(provider::RUNTIME, 1, Vec::new()), 0, &[0; 40], PointerSize::Eight);
    assert_eq!(error.unwrap_err().to_string(), "GcStart: version 0 is not known, only 1 and newer");
    let error = read(&metadata(provider::RUNTIME, 1, Vec::new()), 2, &[0; 20], PointerSize::Eight);
    let text =
        "GcStart (version 2): byte 18 of the payload: client_sequence: the payload ends before it does";
    assert_eq!(error.unwrap_err().to_string(), text);
}

#[test]
fn an_older_version_has_fewer_fields() {
    let tick = metadata(provider::RUNTIME, 10, Vec::new());
    let sizes = [(1, 10), (2, 32), (3, 40), (4, 48)];
    for (version, size) in sizes {
        let taken = read(&tick, version, &[0; 100], PointerSize::Eight);
        assert_eq!(taken, Ok(Some(("AllocationTick", size))), "version {version}");
    }
    let start = metadata(provider::RUNTIME, 81, Vec::new());
    for (version, size) in [(0, 0), (1, 3), (2, 27), (9, 27)] {
        let taken = read(&start, version, &[0; 100], PointerSize::Eight);
        assert_eq!(taken, Ok(Some(("ContentionStart", size))), "version {version}");
    }
}

#[test]
fn counters_that_do_not_describe_themselves_are_errors() {
    let plain = metadata("Any", 4, Vec::new());
    let error = read(&plain, 0, &[0; 40], PointerSize::Eight).unwrap_err().to_string();
    assert_eq!(
        error,
        "EventCounter (version 0): byte 0 of the payload: name: the event does not describe it"
    );
}

#[test]
fn a_list_cut_off_is_an_error_and_not_a_shorter_list() {
    let nodes = metadata(provider::RUNTIME, 18, Vec::new());
    for (size, record) in [(PointerSize::Four, 28), (PointerSize::Eight, 32)] {
        let mut bytes = vec![7, 0, 0, 0, 2, 0, 0, 0, 0, 0];
        bytes.extend((0..=255).take(2 * record));
        assert_eq!(read(&nodes, 0, &bytes, size), Ok(Some(("Nodes", 10 + 2 * record))));
        for cut in 10..bytes.len() {
            let error = read(&nodes, 0, &bytes[..cut], size).unwrap_err();
            assert!(
                matches!(error, DecodeError::Field { field: "nodes", at: 10, .. }),
                "cut at {cut}: {error}"
            );
        }
        let reader = PayloadReader::new(&bytes, size);
        let decoded = decode_payload(&nodes, EventVersion(0), reader).expect("it is whole");
        let Some((RuntimeEvent::Nodes(list), _)) = decoded else { panic!("{decoded:?}") };
        assert_eq!((list.index, list.len(), list.iter().len()), (7, 2, 2));
        let first = list.iter().next().expect("there are two");
        let address = if record == 28 { 0x0302_0100 } else { 0x0706_0504_0302_0100 };
        assert_eq!(first.address.0, address);
    }
    // A count that does not fit any payload.
    let bytes = [0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 1, 2, 3];
    assert!(read(&nodes, 0, &bytes, PointerSize::Eight).is_err());
}

#[test]
fn types_and_static_fields_are_iterated_in_place() {
    let text =
        |text: &str| -> Vec<u8> { text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect() };
    let mut bytes = vec![1, 0, 0, 0, 9, 0];
    bytes.extend([0x11; 8]);
    bytes.extend([0x22; 8]);
    bytes.extend([5, 0, 0, 2, 8, 2, 0, 0, 0x14]);
    bytes.extend(text("Shop.Order[,]"));
    bytes.extend([1, 0, 0, 0]);
    bytes.extend([0x33; 8]);
    let kind = metadata(provider::RUNTIME, 15, Vec::new());
    let reader = PayloadReader::new(&bytes, PointerSize::Eight);
    let Ok(Some((RuntimeEvent::Types(types), []))) = decode_payload(&kind, EventVersion(0), reader) else {
        panic!("these are types");
    };
    let info = types.iter().next().expect("there is one");
    assert!(info.name == "Shop.Order[,]" && info.flags.is_array() && !info.flags.is_delegate());
    assert_eq!((info.flags.array_rank(), info.token.to_string()), (2, "0x02000005".into()));
    assert_eq!(info.parameters().map(|id| id.0).collect::<Vec<_>>(), [0x3333_3333_3333_3333]);
    for cut in 0..bytes.len() {
        assert!(read(&kind, 0, &bytes[..cut], PointerSize::Eight).is_err(), "cut at {cut}");
    }
}

#[test]
fn quantiles_are_pairs_of_numbers() {
    let text =
        |text: &str| -> Vec<u8> { text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect() };
    let mut bytes = Vec::new();
    for part in ["ours", "M", "", "latency", "s", "route=/a", "0.5=0.25;0.95=2;x=1;0.99="] {
        bytes.extend(text(part));
    }
    let kind = metadata(provider::METRICS, 6, Vec::new());
    let reader = PayloadReader::new(&bytes, PointerSize::Eight);
    let Ok(Some((RuntimeEvent::HistogramValue(value), []))) = decode_payload(&kind, EventVersion(0), reader)
    else {
        panic!("this is a histogram");
    };
    assert_eq!(value.quantiles(), [(0.5, 0.25), (0.95, 2.0)]);
    assert!(value.tags == "route=/a" && value.count.is_none() && value.id.is_none());
}
