//! `heap-composition` on real programs.

use crate::support::{finds_the_illness, ids, look, look_until, number, rows};
use model::{Cell, ProcessId, Report};
use profilers::by_id;
use profilers::kernel::is_granted;
use testbed::{Runtime, Target};

const RUNTIMES: [Runtime; 4] = Runtime::ALL;
const HEAP: &str = "managed heap";

fn bytes(report: &Report, row: &str, column: &str) -> f64 {
    number(report, "memory", row, column).unwrap_or_else(|| panic!("no {row}: {report:?}"))
}

#[test]
fn holes_in_the_large_object_heap_are_found_with_who_allocates_there() {
    finds_the_illness("heap-composition", "loh-fragmentation", 6.0, &["allow-pause=yes"]);
}

#[test]
fn pinned_buffers_are_found_with_who_pins_them() {
    // .NET 10 fills the gaps again, so how many there are depends on when its last collection was.
    let settings = ["allow-pause=yes", "holes=20", "hole-share=15"];
    finds_the_illness("heap-composition", "pinned-buffers", 3.0, &settings);
}

#[test]
fn native_memory_that_grows_is_found_with_who_touches_it() {
    for runtime in RUNTIMES {
        let target = testbed::shared().target("native-memory", runtime).start().unwrap();
        let granted = is_granted(ProcessId(target.pid()));
        let report = look_until("heap-composition", &target, 5.0, &["graph=no"], |report| {
            let culprit = report.findings.first().and_then(|found| found.culprit.as_ref());
            // Without rights the kernel does not say who touches memory.
            let refused = !granted && report.notes.iter().any(|note| note.contains("was not seen"));
            ids(report) == ["native-memory"]
                && (refused || culprit.is_some_and(|culprit| culprit.name == "Video.FrameStore.Keep"))
        });
        assert!(report.summary.contains("not the managed heap"), "{runtime}: {}", report.summary);
        assert_eq!(ids(&report), ["native-memory"], "{runtime}");
        assert!(bytes(&report, "malloc arenas", "resident") > 16e6, "{runtime}: {report:?}");
    }
}

/// A heap of known size: what the kernel says agrees with what the runtime says.
#[test]
fn the_managed_heap_is_found_among_all_memory() {
    for runtime in RUNTIMES {
        let target = testbed::shared().target("leak-static-collection", runtime).start().unwrap();
        let report =
            look_until("heap-composition", &target, 3.0, &["graph=yes", "allow-pause=yes"], |report| {
                number(report, "generations", "all", "bytes").is_some_and(|bytes| bytes > 16e6)
            });
        let told = number(&report, "generations", "all", "bytes").unwrap();
        let heap = bytes(&report, HEAP, "resident");
        // It grows between the looks, the kernel counts tables and what is not collected yet.
        assert!(
            heap > told * 0.5 && heap < told * 4.0 + 60e6,
            "{runtime}: {heap} against {told}: {report:#?}"
        );
        let resident: f64 = rows(&report, "memory")
            .iter()
            .map(|row| match row[1] {
                #[expect(clippy::cast_precision_loss, reason = "only to compare")]
                Cell::Number(number) => number as f64,
                _ => 0.0,
            })
            .sum();
        assert!(resident > heap, "{runtime}");
        assert!(bytes(&report, "thread stacks", "pieces") >= 5.0, "{runtime}: {report:?}");
        assert!(bytes(&report, "compiled code", "resident") > 0.0, "{runtime}");
        assert!(number(&report, "generations", "all", "holes").is_some(), "{runtime}: {:?}", report.notes);
    }
}

/// Each processor has a heap of its own; and a heap with a limit has less set aside.
#[test]
fn other_shapes_of_heaps_are_found_too() {
    for runtime in RUNTIMES {
        let prefix = if runtime == Runtime::Net31 { "COMPlus" } else { "DOTNET" };
        for (setting, value) in [("gcServer", "1"), ("GCHeapHardLimit", "C800000")] {
            let target = testbed::shared().target("leak-static-collection", runtime);
            let target = target.env(format!("{prefix}_{setting}"), value).start().unwrap();
            let report = look("heap-composition", &target, 1.0, &["graph=no"]);
            // 16 MB of orders are there from the start.
            let heap = bytes(&report, HEAP, "resident");
            let other = bytes(&report, "other anonymous", "resident");
            let maps = || std::fs::read_to_string(format!("/proc/{}/smaps", target.pid()));
            assert!(heap > 16e6 && other < 16e6, "{runtime} {setting}: {heap} {other} {:?}", maps());
        }
    }
}

/// As many stacks as threads; the runtime's own data may look like one.
#[test]
fn stacks_of_threads_are_counted() {
    for runtime in RUNTIMES {
        let target = testbed::shared().target("healthy-parked-pool", runtime).start().unwrap();
        let report = look("heap-composition", &target, 1.0, &["graph=no"]);
        let threads = std::fs::read_dir(format!("/proc/{}/task", target.pid())).unwrap().count();
        let stacks = bytes(&report, "thread stacks", "pieces");
        #[expect(clippy::cast_precision_loss, reason = "only to compare")]
        let threads = threads as f64;
        assert!(threads > 20.0 && (stacks - threads).abs() <= 10.0, "{runtime}: {stacks} of {threads}");
    }
}

/// On a target that other questions share.
pub fn a_strangers_program_is_told_too(target: &Target) {
    let report = look("heap-composition", target, 3.0, &["graph=yes", "allow-pause=yes"]);
    assert!(ids(&report).is_empty(), "{:?}", report.findings);
    assert!(bytes(&report, HEAP, "resident") > 1e6, "{report:?}");
    // No collection has to happen in it: what is used and committed is read from outside.
    for column in ["used", "committed"] {
        let read = number(&report, "generations", "all", column);
        assert!(read.is_some_and(|bytes| bytes > 1e6), "{column}: {report:?}");
    }
    assert!(target.is_alive());
}

#[test]
fn it_forces_nothing_unless_it_must() {
    let spec = by_id("heap-composition").unwrap().spec();
    assert!(spec.parameters.iter().any(|parameter| parameter.name == "allow-pause"));
    for runtime in RUNTIMES {
        let target = testbed::shared().target("healthy-idle-service", runtime).start().unwrap();
        let report = look("heap-composition", &target, 3.0, &[]);
        assert!(ids(&report).is_empty(), "{runtime}: {:?}", report.findings);
        assert_eq!(report.cost.pauses.count, 0, "{runtime}: {:?}", report.cost);
        let told = ["bytes", "used"].map(|column| number(&report, "generations", "all", column));
        assert!(told.iter().any(Option::is_some), "{runtime}: {:?}", report.notes);
    }
}
