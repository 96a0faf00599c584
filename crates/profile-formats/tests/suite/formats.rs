//! Every format, on a small profile with hostile names, and on random ones.

use std::io::Read;

use crate::support::{Row, hostile, profile, random_rows};
use profile_formats::{FORMATS, Format, FormatError, Grouping, by_id};
use proptest::prelude::*;
use prost::Message;
use serde_json::Value;
use stacks::{Profile, Weight};

fn write(format: &Format, profile: &Profile, grouping: Grouping) -> Vec<u8> {
    let mut bytes = Vec::new();
    format.write(profile, grouping, &mut bytes).expect("it can be written and read back");
    bytes
}

fn text(id: &str, profile: &Profile, grouping: Grouping) -> String {
    String::from_utf8(write(by_id(id).expect("it can be written and read back"), profile, grouping))
        .expect("it can be written and read back")
}

fn json(id: &str, profile: &Profile, grouping: Grouping) -> Value {
    serde_json::from_str(&text(id, profile, grouping)).expect("it can be written and read back")
}

fn pprof(profile: &Profile, grouping: Grouping) -> profile_formats::pprof::PprofProfile {
    let bytes = write(by_id("pprof").expect("it can be written and read back"), profile, grouping);
    let mut message = Vec::new();
    flate2::read::GzDecoder::new(bytes.as_slice())
        .read_to_end(&mut message)
        .expect("it can be written and read back");
    Message::decode(message.as_slice()).expect("it can be written and read back")
}

fn sum(values: &Value) -> u64 {
    values
        .as_array()
        .expect("it can be written and read back")
        .iter()
        .map(|value| value.as_u64().expect("it can be written and read back"))
        .sum()
}

#[test]
fn formats_are_found_by_name_whatever_the_case() {
    assert_eq!(by_id("Speedscope").unwrap().extension, "speedscope.json");
    assert_eq!(by_id("CHROMIUM").unwrap().extension, "chromium.json");
    assert!(by_id("etlx").is_none());
}

#[test]
fn texts_look_as_they_did() {
    for (grouping, suffix) in [(Grouping::PerThread, "threads"), (Grouping::Merged, "merged")] {
        for (weight, unit) in [(Weight::Nanoseconds, "time"), (Weight::Bytes, "bytes")] {
            for id in ["speedscope", "chromium", "folded"] {
                let mut bytes = Vec::new();
                match by_id(id).unwrap().write(&hostile(weight), grouping, &mut bytes) {
                    Ok(()) => {}
                    Err(FormatError::NoMergedForm { .. }) if id == "chromium" => continue,
                    Err(error) => panic!("{id}: {error}"),
                }
                let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
                let extension = by_id(id).unwrap().extension;
                golden::check(
                    format!("{folder}/{unit}-{suffix}.{extension}"),
                    std::str::from_utf8(&bytes).unwrap(),
                );
            }
        }
    }
}

#[test]
fn json_reads_back_to_the_same_names() {
    let profile = hostile(Weight::Nanoseconds);
    let speedscope = json("speedscope", &profile, Grouping::PerThread);
    let names: Vec<&str> = speedscope["shared"]["frames"]
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| frame["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"<script>alert(\"1\")</script>&\u{1b}[2J;\n\u{202e}"), "{names:?}");
    let chromium = json("chromium", &profile, Grouping::PerThread);
    assert!(chromium.to_string().contains("<script>"));
    assert!(!text("chromium", &profile, Grouping::PerThread).contains('\u{1b}'));
}

#[test]
fn a_flame_graph_is_sound_xml_with_no_script_from_a_name() {
    for grouping in [Grouping::Merged, Grouping::PerThread] {
        let svg = text("flamegraph", &hostile(Weight::Nanoseconds), grouping);
        let mut reader = quick_xml::Reader::from_str(&svg);
        reader.config_mut().check_end_names = true;
        let (mut scripts, mut titles) = (0, Vec::new());
        let mut in_title = false;
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Eof => break,
                quick_xml::events::Event::Start(start) => {
                    scripts += usize::from(start.name().as_ref() == b"script");
                    in_title = start.name().as_ref() == b"title";
                }
                quick_xml::events::Event::Text(title) if in_title => {
                    titles.push(String::from_utf8(title.to_vec()).unwrap());
                }
                quick_xml::events::Event::End(_) => in_title = false,
                _ => {}
            }
        }
        assert_eq!(scripts, 1, "the viewer's own script and no other");
        assert!(titles.iter().any(|title| title.contains("Shop.Cart.Add")), "{titles:?}");
        assert!(!svg.contains('\u{1b}') && !svg.contains("<script>alert"), "names are escaped");
    }
}

#[test]
fn a_flame_graph_of_nothing_is_still_a_picture() {
    let svg = text("flamegraph", &profile(Weight::Count, &[]), Grouping::Merged);
    assert!(svg.contains("</svg>"));
}

#[test]
fn pprof_reads_back() {
    let message = pprof(&hostile(Weight::Nanoseconds), Grouping::PerThread);
    let word = |number: i64| message.string_table[usize::try_from(number).unwrap()].as_str();
    assert_eq!(message.string_table[0], "");
    assert_eq!(
        (word(message.sample_type[0].r#type), word(message.sample_type[0].unit)),
        ("time", "nanoseconds")
    );
    assert_eq!(message.duration_nanos, 1_000);
    let function = |location: u64| {
        let location = message.location.iter().find(|row| row.id == location).unwrap();
        let function = message.function.iter().find(|row| row.id == location.line[0].function_id).unwrap();
        word(function.name)
    };
    let samples: Vec<(Vec<&str>, i64, &str)> = message
        .sample
        .iter()
        .map(|sample| {
            let stack = sample.location_id.iter().map(|location| function(*location)).collect();
            (stack, sample.value[0], word(sample.label[0].str))
        })
        .collect();
    assert!(
        samples.contains(&(vec!["Shop.Cart.Add", "Shop.Program.Main"], 300, "Thread (41)")),
        "{samples:?}"
    );
    assert!(message.mapping.iter().all(|mapping| mapping.has_functions));
    let merged = pprof(&hostile(Weight::Nanoseconds), Grouping::Merged);
    assert!(merged.sample.iter().all(|sample| sample.label.is_empty()));
}

#[test]
fn firefox_has_every_thread_and_all_the_time() {
    let rows: Vec<Row> =
        (0..10).map(|at| (vec![at % 3, 9], u32::try_from(at).unwrap() % 2, 12_345_678)).collect();
    let profile = profile(Weight::Nanoseconds, &rows);
    let value = json("firefox", &profile, Grouping::PerThread);
    let threads = value["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    let mut total = 0;
    for thread in threads {
        assert_eq!(thread["samples"]["weightType"], "tracing-ms");
        let samples = &thread["samples"];
        assert_eq!(samples["weight"].as_array().unwrap().len(), samples["stack"].as_array().unwrap().len());
        total += sum(&samples["weight"]);
    }
    // Ten times 12.3 ms, less what is below a millisecond at the end of each thread.
    assert_eq!(total, 122);
    assert_eq!(value["meta"]["symbolicated"], true);
}

#[test]
fn a_time_line_cannot_be_merged() {
    let error = by_id("chromium").unwrap();
    let mut bytes = Vec::new();
    let error = error.write(&hostile(Weight::Nanoseconds), Grouping::Merged, &mut bytes).unwrap_err();
    assert_eq!(error.to_string(), "Chromium shows each thread on its own line; it has no merged form");
}

/// The length of all spans of a thread, and that each frame that opens also closes, inside its callers.
fn evented_length(profile: &Value) -> u64 {
    let mut open: Vec<(u64, u64)> = Vec::new();
    let (mut last, mut total) = (0, 0);
    for event in profile["events"].as_array().expect("as written") {
        let (frame, at) =
            (event["frame"].as_u64().expect("as written"), event["at"].as_u64().expect("as written"));
        assert!(at >= last, "times go forward");
        last = at;
        match event["type"].as_str().expect("as written") {
            "O" => open.push((frame, at)),
            "C" => {
                let (opened, since) = open.pop().expect("something is open");
                assert_eq!(opened, frame, "the innermost closes first");
                total += if open.is_empty() { at - since } else { 0 };
            }
            other => panic!("{other}"),
        }
    }
    assert!(open.is_empty(), "everything closes");
    assert!(profile["startValue"].as_u64() <= profile["endValue"].as_u64());
    total
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_format_writes_every_profile(rows in random_rows(), weight in 0..3_u8) {
        let weight = [Weight::Nanoseconds, Weight::Bytes, Weight::Count][usize::from(weight)];
        let profile = profile(weight, &rows);
        for format in FORMATS {
            for grouping in [Grouping::PerThread, Grouping::Merged] {
                let mut bytes = Vec::new();
                match format.write(&profile, grouping, &mut bytes) {
                    Ok(()) | Err(FormatError::NoMergedForm { .. }) => {}
                    Err(error) => panic!("{}: {error}", format.id),
                }
                if format.extension.ends_with("json") && !bytes.is_empty() {
                    serde_json::from_slice::<Value>(&bytes).expect("as written");
                }
            }
        }
    }

    #[test]
    fn threads_add_up_to_the_whole_in_every_format(rows in random_rows()) {
        // Every sample has a stack: an evented profile says nothing of time without one.
        let rows: Vec<Row> = rows.into_iter().filter(|row| !row.0.is_empty()).collect();
        let time = profile(Weight::Nanoseconds, &rows);
        let total = time.total();
        for grouping in [Grouping::PerThread, Grouping::Merged] {
            let folded = text("folded", &time, grouping);
            let weights = folded.lines().map(|line| line.rsplit(' ').next().expect("as written").parse::<u64>().expect("as written"));
            prop_assert_eq!(weights.sum::<u64>(), total);
            let values = pprof(&time, grouping).sample.iter().map(|sample| sample.value[0]).sum::<i64>();
            prop_assert_eq!(u64::try_from(values).expect("as written"), total);
        }
        let threads = json("speedscope", &time, Grouping::PerThread);
        let lengths = threads["profiles"].as_array().expect("as written").iter().map(evented_length);
        prop_assert_eq!(lengths.sum::<u64>(), total);
        let merged = json("speedscope", &time, Grouping::Merged);
        prop_assert_eq!(sum(&merged["profiles"][0]["weights"]), total);
        let bytes = profile(Weight::Bytes, &rows);
        let sampled = json("speedscope", &bytes, Grouping::PerThread);
        let weights = sampled["profiles"].as_array().expect("as written").iter().map(|one| sum(&one["weights"]));
        prop_assert_eq!(weights.sum::<u64>(), total);
    }
}
