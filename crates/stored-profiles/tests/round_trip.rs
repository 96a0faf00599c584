//! What is written can be read, and nothing else: cut, changed and hostile files are errors.

use std::time::{Duration, UNIX_EPOCH};

use model::{Frame, FrameKind};
use proptest::prelude::*;
use stacks::{FrameId, Profile, ProfileThread, Sample, StackKey, StackNode, ThreadSlot, Weight};
use stored_profiles::{Limits, ProcessName, ReadError, Recording, Side, read, read_within, write};

fn written(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, recording).expect("it can be written");
    bytes
}

fn frame() -> impl Strategy<Value = Frame> {
    let kinds =
        [FrameKind::Managed, FrameKind::Runtime, FrameKind::Native, FrameKind::Kernel, FrameKind::Stub];
    let text = || prop::option::of(".{0,12}");
    (prop::sample::select(kinds.to_vec()), ".{0,20}", text(), text(), prop::option::of(any::<u32>()))
        .prop_map(|(kind, name, module, file, line)| Frame { kind, name, module, file, line })
}

/// A profile whose references all lead somewhere.
fn profile() -> impl Strategy<Value = Profile> {
    let frames = prop::collection::vec(frame(), 1..8);
    let nodes = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()),
        0..20,
    );
    let threads = prop::collection::vec((any::<u64>(), prop::option::of(".{0,9}")), 1..5);
    let sample = (any::<u64>(), any::<u64>(), any::<prop::sample::Index>(), any::<prop::sample::Index>());
    let samples = prop::collection::vec(sample, 0..40);
    let head =
        (".{0,9}", 0..3_usize, prop::option::of(0..u64::MAX), any::<u64>(), prop::option::of(any::<u64>()));
    (head, frames, nodes, threads, samples).prop_map(|(head, frames, nodes, threads, samples)| {
        let (title, weight, started, duration_ns, process) = head;
        let nodes: Vec<StackNode> = (0_u32..)
            .zip(nodes)
            .map(|(place, (caller, frame, is_root))| {
                let is_root = is_root || place == 0;
                let caller =
                    (!is_root).then(|| StackKey(u32::try_from(caller.index(place as usize)).unwrap_or(0)));
                StackNode { caller, frame: FrameId(u32::try_from(frame.index(frames.len())).unwrap_or(0)) }
            })
            .collect();
        let samples = samples.into_iter().map(|(at_ns, weight, thread, stack)| Sample {
            at_ns,
            weight,
            thread: ThreadSlot(u32::try_from(thread.index(threads.len())).unwrap_or(0)),
            stack: u32::try_from(stack.index(nodes.len() + 1))
                .ok()
                .and_then(|stack| stack.checked_sub(1))
                .map(StackKey),
        });
        let samples = samples.collect();
        let threads = threads.into_iter().map(|(id, name)| ProfileThread { id, name }).collect();
        Profile {
            title,
            weight: [Weight::Nanoseconds, Weight::Bytes, Weight::Count][weight],
            started: started.map(|nanos| UNIX_EPOCH + Duration::from_nanos(nanos)),
            duration_ns,
            process,
            frames,
            nodes,
            threads,
            samples,
        }
    })
}

fn recording() -> impl Strategy<Value = Recording> {
    let processes = prop::collection::vec((any::<u64>(), ".{0,9}"), 0..4);
    let profiles = prop::collection::vec((0..3_usize, profile(), any::<bool>()), 0..4);
    (".{0,9}", ".{0,9}", prop::option::of(any::<u32>()), any::<u64>(), processes, profiles).prop_map(
        |(tool_version, name, rate_hz, duration_ns, processes, profiles)| {
            let mut kept: Vec<(Side, Profile)> = Vec::new();
            for (side, mut profile, is_on_the_same) in profiles {
                // As the sides of one process are.
                if let Some((_, before)) = kept.last()
                    && is_on_the_same
                {
                    profile = Profile { title: profile.title, ..before.clone() };
                }
                kept.push((Side::ALL[side], profile));
            }
            Recording {
                tool_version,
                name,
                started: Some(UNIX_EPOCH + Duration::from_secs(1_800_000_000)),
                duration_ns,
                rate_hz,
                processes: processes.into_iter().map(|(pid, name)| ProcessName { pid, name }).collect(),
                profiles: kept,
            }
        },
    )
}

/// One minute at 99 samples a second on two processors: deep stacks, many of them, on 30 threads.
fn busy_minute() -> Recording {
    let frames: Vec<Frame> = (0..3000)
        .map(|number| Frame {
            kind: FrameKind::Managed,
            name: format!("Shop.Module{}.Service{}.Method{number}Async", number % 7, number % 113),
            module: Some(format!("/app/Shop.Module{}.dll", number % 7)),
            file: Some(format!("/src/Shop.Module{}/Service{}.cs", number % 7, number % 113)),
            line: Some(number),
        })
        .collect();
    // Numbers that do not repeat soon, and are the same in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((state >> 33) % u64::from(below)).expect("a small number")
    };
    let mut nodes = Vec::new();
    let mut leaves = Vec::new();
    for _ in 0..4000 {
        let mut caller = nodes
            .len()
            .checked_sub(1)
            .map(|last| StackKey(next(u32::try_from(last + 1).expect("a small number"))));
        for _ in 0..10 {
            nodes.push(StackNode { caller, frame: FrameId(next(3000)) });
            caller = Some(StackKey(u32::try_from(nodes.len() - 1).expect("a small number")));
        }
        leaves.push(caller.expect("a stack"));
    }
    let threads = (0..30).map(|id| ProfileThread { id: 1000 + id, name: Some(".NET TP Worker".to_owned()) });
    let mut samples: Vec<Sample> = (0..60 * 99 * 2_u64)
        .map(|tick| Sample {
            at_ns: tick * 5_050_505 + u64::from(next(200_000)),
            weight: 10_101_010,
            thread: ThreadSlot(next(30)),
            stack: Some(leaves[next(4000) as usize]),
        })
        .collect();
    samples.sort_by_key(|sample| (sample.thread, sample.at_ns));
    let on_cpu = Profile {
        title: "time on the CPU".to_owned(),
        weight: Weight::Nanoseconds,
        started: None,
        duration_ns: 60_000_000_000,
        process: Some(42),
        frames,
        nodes,
        threads: threads.collect(),
        samples,
    };
    let off_cpu = on_cpu.clone();
    Recording { profiles: vec![(Side::OnCpu, on_cpu), (Side::OffCpu, off_cpu)], ..Recording::default() }
}

#[test]
fn a_busy_minute_is_well_under_two_megabytes() {
    let recording = busy_minute();
    let bytes = written(&recording);
    println!("{} bytes", bytes.len());
    assert!(bytes.len() < 700_000, "{} bytes", bytes.len());
    assert_eq!(read(&bytes[..]).unwrap(), recording);
}

/// What the fixture holds.
fn small() -> Recording {
    let mut recording = busy_minute();
    for (_, profile) in &mut recording.profiles {
        profile.samples.truncate(20);
        profile.tidy();
    }
    Recording {
        tool_version: "0.1.0".to_owned(),
        name: "Shop".to_owned(),
        started: Some(UNIX_EPOCH + Duration::from_secs(1_800_000_000)),
        duration_ns: 60_000_000_000,
        rate_hz: Some(99),
        processes: vec![ProcessName { pid: 42, name: "Shop".to_owned() }],
        profiles: recording.profiles,
    }
}

#[test]
fn a_file_of_the_first_version_can_still_be_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/version-1.drprof");
    if !std::path::Path::new(path).exists() {
        std::fs::write(path, written(&small())).unwrap();
        panic!("{path} was not there and was made anew; it must never change");
    }
    assert_eq!(read(std::fs::File::open(path).unwrap()).unwrap(), small());
}

#[test]
fn every_cut_is_noticed() {
    let mut recording = busy_minute();
    for (_, profile) in &mut recording.profiles {
        profile.samples.truncate(3);
        profile.tidy();
    }
    let bytes = written(&recording);
    for length in 0..bytes.len() {
        match read(&bytes[..length]) {
            Err(ReadError::NotAProfile) => assert!(length < 8, "{length}"),
            Err(ReadError::Cut { .. }) => assert!(length >= 8, "{length}"),
            other => panic!("{length} of {}: {other:?}", bytes.len()),
        }
    }
}

#[test]
fn other_files_are_told_apart() {
    assert!(matches!(read(&b""[..]), Err(ReadError::NotAProfile)));
    assert!(matches!(read(&b"{\"schema\": 1, \"more\": 2}"[..]), Err(ReadError::NotAProfile)));
    let mut newer = written(&Recording::default());
    newer[7] = 9;
    let error = read(&newer[..]).unwrap_err();
    assert_eq!(error.to_string(), "it has version 9, this tool reads version 1");
}

#[test]
fn a_small_file_of_much_is_refused() {
    // The same tables a hundred times: next to nothing in the file, a lot in memory.
    let mut recording = busy_minute();
    recording.profiles[0].1.samples.truncate(1);
    recording.profiles.truncate(1);
    recording.profiles = vec![recording.profiles.remove(0); 100];
    let bytes = written(&recording);
    assert!(bytes.len() < 400_000, "{}", bytes.len());
    let limits = Limits { frames: 100_000, ..Limits::default() };
    let error = read_within(&bytes[..], limits).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 100000 frames");
    let limits = Limits { text_bytes: 1_000_000, ..Limits::default() };
    assert!(matches!(read_within(&bytes[..], limits), Err(ReadError::TooLarge { .. })));
}

#[test]
fn what_leads_nowhere_is_not_written() {
    let mut recording = busy_minute();
    recording.profiles[0].1.samples[0].thread = ThreadSlot(30);
    let error = write(&mut Vec::new(), &recording).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn a_very_long_name_is_cut() {
    let name = "ä".repeat(100_000);
    let bytes = written(&Recording { name: name.clone(), ..Recording::default() });
    let again = read(&bytes[..]).unwrap();
    assert_eq!(again.name.len(), 1 << 16);
    assert!(name.starts_with(&again.name));
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = write(&mut Full(50_000), &busy_minute()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read(recording in recording()) {
        let bytes = written(&recording);
        prop_assert_eq!(read(&bytes[..]).expect("as written"), recording);
    }

    #[test]
    fn a_changed_byte_is_an_error_and_never_a_panic(recording in recording(), at in any::<prop::sample::Index>(), bits in 1..=255_u8) {
        let mut bytes = written(&recording);
        let at = at.index(bytes.len());
        bytes[at] ^= bits;
        // The second byte of the compressed stream has bits that nobody reads; all others are covered by checksums.
        if let Ok(again) = read(&bytes[..]) {
            prop_assert_eq!(again, recording);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&body[..]);
        // Most bytes do not unpack; these do.
        let mut bytes = b"DRPROF\x1a\x01".to_vec();
        let mut packed = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &body).expect("memory");
        packed.finish().expect("memory");
        let _ = read(&bytes[..]);
    }
}
