//! A trace that ends anywhere: what stands before the end is used, and nothing breaks.

use crate::stream::{Bytes, EVENT, ObjectStream, Row, event_block, metadata_row_v5, metadata_v5, stacks};
use profile_formats::FORMATS;
use trace_views::{Detail, EventName, Reading, Request, View, Wanted, read};

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// A small trace with events of every view and names at its end.
fn trace() -> Vec<u8> {
    let mut stream = ObjectStream::new();
    let kinds = [
        (1, "Microsoft-DotNETCore-SampleProfiler", 0, 0),
        (2, RUNTIME, 10, 4),
        (3, RUNTIME, 80, 1),
        (4, RUNTIME, 81, 1),
        (5, RUNTIME, 91, 1),
        (6, RUNDOWN, 144, 1),
        (7, RUNDOWN, 154, 1),
        (8, "My-Provider", 9, 0),
    ];
    for (id, provider, event, version) in kinds {
        // Like the function of the support file, with a version.
        let name = if provider == "My-Provider" { "Request" } else { "" };
        let mut row = metadata_v5(id, provider, event, name);
        let place = row.0.len() - 8;
        row.0[place..place + 4].copy_from_slice(&u32::to_le_bytes(version));
        stream.block("MetadataBlock", &metadata_row_v5(event_block(true), &row.u32(0)).0);
    }
    stream.block("StackBlock", &stacks(1, &[&[0x1010, 0x2010], &[0x3010, 0x2010], &[0x9999]]).0);
    let event = |block: Bytes, metadata: u32, stack: u32, payload: Bytes| {
        Row { metadata, stack, payload: &payload.0, ..EVENT }.v5(block)
    };
    let tick = Bytes::default()
        .u32(100_000)
        .u32(0)
        .u16(9)
        .u64(100_000)
        .u64(1)
        .utf16("Shop.Cart")
        .u32(0)
        .u64(1)
        .u64(32);
    let thrown =
        Bytes::default().utf16("Shop.Broken").utf16("no").u64(0x1010).u32(0x8013_1500).u16(16).u16(9);
    let sample = |kind: u32| Bytes::default().u32(kind);
    let mut block = event_block(true);
    for round in 0..4 {
        block = event(block, 1, 1 + round % 3, sample(1 + round % 2));
    }
    block = event(block, 2, 1, tick.clone());
    block = event(block, 3, 2, thrown);
    block = event(block, 4, 1, Bytes::default().u8(0).u16(9));
    block = event(block, 5, 1, Bytes::default().u8(0).u16(9).u64(7_500_000_f64.to_bits()));
    block = event(block, 8, 3, Bytes::default());
    stream.block("EventBlock", &block.0);
    stream.block("SPBlock", &Bytes::default().u64(200_000).u32(0).0);
    // The same numbers for other stacks.
    stream.block("StackBlock", &stacks(1, &[&[0x3020], &[0x1020]]).0);
    let mut block = event(event_block(true), 1, 1, sample(2));
    block = event(block, 1, 2, sample(2));
    block = event(block, 2, 2, tick);
    for (start, name) in [(0x1000_u64, "Add"), (0x2000, "Main"), (0x3000, "Pay")] {
        let method = Bytes::default().u64(start).u64(77).u64(start).u32(0x100).u32(0x600_0001).u32(8);
        block = event(block, 6, 0, method.utf16("Shop.Cart").utf16(name).utf16("void ()").u16(9));
    }
    let module = Bytes::default().u64(77).u64(1).u32(0).u32(0).utf16("/app/Shop.dll").utf16("").u16(9);
    block = event(block, 7, 0, module);
    stream.block("EventBlock", &block.0);
    stream.end()
}

fn requests() -> Vec<Request> {
    let views = View::ALL.iter().copied().map(Wanted::View);
    let event = EventName { provider: "my-provider".to_owned(), event: "request".to_owned() };
    let wanted = views.chain([Wanted::Best, Wanted::Event(event), Wanted::Summary]);
    wanted.map(|wanted| Request::new(wanted, Detail::TimeLine)).collect()
}

fn weight(reading: &Reading) -> u64 {
    reading.profile.as_ref().map_or(0, |profile| profile.total())
}

#[test]
fn the_whole_trace_has_every_view() {
    let trace = trace();
    for view in View::ALL.iter().copied().filter(|view| *view != View::Waits) {
        let reading = read(trace.as_slice(), &Request::new(Wanted::View(view), Detail::TimeLine)).unwrap();
        assert!(
            reading.summary.damage.is_none() && reading.summary.undecodable == 0,
            "{:?}",
            reading.summary
        );
        let profile = reading.profile.unwrap_or_else(|| panic!("{view:?}: {:?}", reading.summary));
        let names: Vec<&str> = profile.frames.iter().map(|frame| frame.name.as_str()).collect();
        assert!(names.contains(&"Shop.Cart.Add") || names.contains(&"Shop.Cart.Pay"), "{view:?}: {names:?}");
    }
    let allocations = Request::new(Wanted::View(View::Allocations), Detail::Totals);
    let reading = read(trace.as_slice(), &allocations).unwrap();
    assert_eq!(weight(&reading), 200_000);
    // What the runtime says of the wait is better than the time between two events.
    let contention = Request::new(Wanted::View(View::Contention), Detail::Totals);
    assert_eq!(weight(&read(trace.as_slice(), &contention).unwrap()), 7_500_000);
}

#[test]
fn a_trace_cut_at_any_byte_gives_what_stands_before() {
    let trace = trace();
    for request in requests() {
        let (mut events, mut total) = (0, 0);
        for length in 0..=trace.len() {
            let Ok(reading) = read(&trace[..length], &request) else {
                assert_eq!(events, 0, "once there are events, there are events");
                continue;
            };
            assert_eq!(reading.summary.damage.is_some(), length < trace.len(), "{length}");
            assert!(reading.summary.events >= events, "{length}: {request:?}");
            events = reading.summary.events;
            if matches!(request.wanted, Wanted::View(View::Allocations | View::Exceptions) | Wanted::Event(_))
            {
                assert!(weight(&reading) >= total, "{length}: {request:?}");
                total = weight(&reading);
            }
            let Some(profile) = reading.profile else { continue };
            for format in FORMATS.iter().filter(|_| length % 97 == 0 || length == trace.len()) {
                format.write(&profile, format.usual_grouping(), &mut std::io::sink()).unwrap();
            }
        }
        assert_eq!(events, 16);
    }
}

#[test]
fn a_trace_with_any_byte_changed_does_no_harm() {
    let trace = trace();
    let request = Request::new(Wanted::Best, Detail::TimeLine);
    for place in 0..trace.len() {
        let mut damaged = trace.clone();
        damaged[place] ^= 0xA5;
        if let Ok(Reading { profile: Some(profile), .. }) = read(damaged.as_slice(), &request) {
            let format = &FORMATS[place % FORMATS.len()];
            format.write(&profile, format.usual_grouping(), &mut std::io::sink()).unwrap();
        }
    }
}

#[test]
fn real_traces_cut_anywhere_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../nettrace/fixtures");
    for name in ["net31-exceptions-samples", "net9-allocations", "net10-stranger-samples"] {
        let trace = std::fs::read(format!("{folder}/{name}.nettrace")).unwrap();
        let mut events = 0;
        for length in (0..trace.len()).step_by(997) {
            let Ok(reading) = read(&trace[..length], &Request::new(Wanted::Best, Detail::TimeLine)) else {
                continue;
            };
            assert!(reading.summary.events >= events, "{name}: {length}");
            events = reading.summary.events;
        }
        assert!(events > 100, "{name}: {events}");
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    for bytes in [&b""[..], b"{\"a\":1}", b"Nettrac", b"Nettrace"] {
        assert!(read(bytes, &Request::new(Wanted::Best, Detail::Totals)).is_err(), "{bytes:?}");
    }
}
