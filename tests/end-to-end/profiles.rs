//! Stored profiles: compared, converted, and in the archive of a session.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use model::{ProcessId, Report, Target, Timestamp};
use sessions::{MANIFEST_SCHEMA, Manifest, Store};
use stacks::{Profile, Sample, Weight};
use stored_profiles::{ProcessName, Recording, Side};
use testbed::Namespaces;

use crate::support::{BINARY, Said, User, check_golden, said, skip};

const MS: u64 = 1_000_000;

const BEFORE: &str = "\
Shop!Shop.Program.Main;Shop!Shop.Orders.Handle;Shop!Shop.Prices.Best 200
Shop!Shop.Program.Main;Shop!Shop.Orders.Handle;System.Linq!System.Linq.Enumerable.Sum 300
";
const AFTER: &str = "\
Shop!Shop.Program.Main;Shop!Shop.Orders.Handle;Shop!Shop.Prices.Best 800
Shop!Shop.Program.Main;Shop!Shop.Orders.Handle;System.Linq!System.Linq.Enumerable.Sum 290
";
const WAITING: &str = "Shop!Shop.Program.Main;System.Private.CoreLib!System.Threading.Monitor.Wait 500\n";

/// Ten seconds at 100 samples a second: the number of samples of each stack.
fn profile(title: &str, folded: &str) -> Profile {
    let mut profile = profile_formats::read_folded(folded.as_bytes()).expect("folded stacks");
    profile.weight = Weight::Nanoseconds;
    profile.title = title.to_owned();
    profile.process = Some(4242);
    profile.duration_ns = 10_000 * MS;
    let each = |sample: &Sample| {
        (0..sample.weight).map(|_| Sample { weight: 10 * MS, ..*sample }).collect::<Vec<_>>()
    };
    profile.samples = profile.samples.iter().flat_map(each).collect();
    profile
}

fn recording(folded: &str) -> Recording {
    Recording {
        tool_version: "0.0.0".to_owned(),
        name: "Shop".to_owned(),
        duration_ns: 10_000 * MS,
        rate_hz: Some(100),
        started: Some(UNIX_EPOCH + Duration::from_secs(1_800_000_000)),
        processes: vec![ProcessName { pid: 4242, name: "Shop".to_owned() }],
        profiles: vec![
            (Side::OnCpu, profile("time on the CPU", folded)),
            (Side::OffCpu, profile("time waiting", WAITING)),
        ],
    }
}

fn report() -> Report {
    let (before, after) = (recording(BEFORE), recording(AFTER));
    profile_diff::diff(&before, &after, Side::OnCpu, None).expect("samples").report(5, "0.0.0")
}

/// A finished session of this user, with a profile or without; its id.
fn session(user: &User, started_at: &str, profile: Option<&Recording>) -> String {
    let manifest = Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        tool_version: "0.0.0".to_owned(),
        profiler: "cpu".to_owned(),
        parameters: BTreeMap::new(),
        target: Target {
            pid: ProcessId(4242),
            name: "Shop".to_owned(),
            runtime_version: None,
            architecture: None,
            started_at: None,
            command_line: None,
        },
        started_at: started_at.parse::<Timestamp>().expect("a moment"),
        requested_ns: 10_000 * MS,
    };
    let running = Store::at(user.sessions()).begin(&manifest).expect("a session");
    if let Some(recording) = profile {
        running.keep_profile(|mut to| stored_profiles::write(&mut to, recording)).expect("a profile");
    }
    let id = running.folder().file_name().expect("a name").to_string_lossy().into_owned();
    running.finish(&report()).expect("it ends");
    id
}

fn two_sessions() -> (User, String, String) {
    let user = User::new();
    let before = session(&user, "2026-11-15T05:12:00Z", Some(&recording(BEFORE)));
    let after = session(&user, "2026-11-15T06:12:00Z", Some(&recording(AFTER)));
    (user, before, after)
}

fn file(user: &User, name: &str) -> PathBuf {
    user.folder().join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// Compares exit code and error with the accepted ones, without the user's folder.
#[track_caller]
fn check(user: &User, name: &str, said: &Said) {
    let folder = format!("{}/", user.folder().display());
    let text = format!("exit code {}\n{}", said.code.expect("no signal ended it"), said.stderr);
    check_golden(&format!("errors/{name}.txt"), &text.replace(&folder, ""));
}

#[test]
fn what_got_slower_between_two_sessions_is_told_and_drawn() {
    let (user, before, after) = two_sessions();
    let said = user.says(&["cpu", "diff", &before, "last"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    // What it cost is never the same.
    let (shown, _) = said.stdout.split_once("\nCost ").expect("the cost stands at the end");
    check_golden("cpu-diff.txt", shown);
    let json = user.says(&["cpu", "diff", &before, &after, "--json", "--by", "total"]).report();
    assert_eq!(json.profiler.parameters["by"], "total");

    for (name, beginning) in
        [("d.html", "<!DOCTYPE html>"), ("d.svg", "<?xml"), ("d.md", "# Profile"), ("d.json", "{")]
    {
        let path = file(&user, name);
        let said = user.says(&["cpu", "diff", &before, &after, "-o", text(&path)]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
        assert!(fs::read_to_string(&path).expect("it was written").starts_with(beginning), "{name}");
    }
}

#[test]
fn files_are_compared_too() {
    let (user, before, _) = two_sessions();
    let (folded, stored) = (file(&user, "new.folded"), file(&user, "old.drprof"));
    fs::write(&folded, AFTER).expect("it can be written");
    fs::copy(user.sessions().join(&before).join("profile.drprof"), &stored).expect("it can be copied");
    let report = user.says(&["cpu", "diff", text(&stored), text(&folded), "--json"]).report();
    assert_eq!(report.profiler.parameters["by"], "total");
    assert_eq!(report.findings[0].culprit.as_ref().expect("a method").name, "Shop.Prices.Best");
    let said = user.says(&["cpu", "diff", &before, text(&folded), "--by", "time"]);
    check(&user, "cpu-diff-no-times", &said);
}

#[test]
fn what_cannot_be_compared_is_explained() {
    let (user, before, after) = two_sessions();
    let bare = session(&user, "2026-11-15T07:12:00Z", None);
    let diff = |first: &str, second: &str, options: &[&str]| {
        user.says(&[&["cpu", "diff", first, second], options].concat())
    };
    check(&user, "cpu-diff-no-profile", &diff(&before, &bare, &[]));
    check(&user, "cpu-diff-nothing-there", &diff(&before, "gone.drprof", &[]));
    check(&user, "cpu-diff-no-side", &diff(&before, &after, &["--side", "ready"]));
    check(&user, "cpu-diff-unknown-side", &diff(&before, &after, &["--side", "up"]));
    check(&user, "cpu-diff-unclear-file", &diff(&before, &after, &["-o", "change.pdf"]));
    let (cut, noise, trace) =
        (file(&user, "cut.drprof"), file(&user, "noise.txt"), file(&user, "t.nettrace"));
    let bytes = fs::read(user.sessions().join(&before).join("profile.drprof")).expect("it can be read");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("it can be written");
    check(&user, "cpu-diff-cut", &diff(&before, text(&cut), &[]));
    fs::write(&noise, "what is this supposed to be?\n").expect("it can be written");
    check(&user, "cpu-diff-noise", &diff(text(&noise), &after, &[]));
    fs::write(&trace, b"Nettrace\x14\0\0\0!FastSerialization.1").expect("it can be written");
    check(&user, "cpu-diff-trace", &diff(text(&trace), &after, &[]));
}

/// The names and contents of an archive.
fn unpacked(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(fs::File::open(path).expect("an archive")).expect("an archive");
    (0..archive.len())
        .map(|place| {
            let mut entry = archive.by_index(place).expect("a file");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("it can be unpacked");
            (entry.name().expect("a name").into_owned(), bytes)
        })
        .collect()
}

#[test]
fn a_session_becomes_one_archive_of_everything() {
    let (user, _, after) = two_sessions();
    fs::write(user.sessions().join(&after).join("notes.txt"), "mine").expect("it can be written");
    let path = user.folder().join(format!("{after}.zip"));
    let export = || said(user.command(&["sessions", "export", &after]).current_dir(user.folder()));
    let exported = export();
    assert_eq!((exported.code, exported.stdout.as_str()), (Some(0), ""), "{}", exported.stderr);
    assert!(exported.stderr.starts_with(&format!("wrote {after}.zip (21 files, ")), "{}", exported.stderr);
    let files = unpacked(&path);
    let names: Vec<String> = files.keys().map(|name| name.replace(&after, "ID") + "\n").collect();
    check_golden("archive.txt", &names.concat());
    let content = |name: &str| &files[&format!("{after}/{name}")];
    assert_eq!(
        Report::from_json(&String::from_utf8_lossy(content("report.json"))).expect("a report"),
        report()
    );
    assert_eq!(stored_profiles::read(&content("profile.drprof")[..]).expect("a profile"), recording(AFTER));
    assert_eq!(content("notes.txt"), b"mine");
    assert!(String::from_utf8_lossy(content("flame-graph.html")).contains("off-cpu"));
    assert!(content("profiles/off-cpu.folded").starts_with(b"Shop!Shop.Program.Main;"));

    check(&user, "archive-exists", &Said { stderr: export().stderr.replace(&after, "ID"), ..export() });
    check(
        &user,
        "archive-no-session",
        &Said {
            stderr: user.says(&["sessions", "export", "gone"]).stderr.replace(text(&user.sessions()), "DIR"),
            ..user.says(&["sessions", "export", "gone"])
        },
    );
    let missing = user.says(&["sessions", "export", &after, "-o", text(&file(&user, "no/such/x.zip"))]);
    check(&user, "archive-no-folder", &missing);
    let left: Vec<_> =
        fs::read_dir(user.folder()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "the sessions and the archive: {left:?}");
}

#[test]
fn a_damaged_profile_does_not_keep_the_rest_from_the_archive() {
    let (user, _, after) = two_sessions();
    let profile = user.sessions().join(&after).join("profile.drprof");
    let bytes = fs::read(&profile).expect("it can be read");
    fs::write(&profile, &bytes[..bytes.len() - 10]).expect("it can be written");
    let path = file(&user, "all.zip");
    let said = user.says(&["sessions", "export", &after, "-o", text(&path)]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stderr.starts_with("its profile is in no other format: ") && said.stderr.contains("cut off"),
        "{}",
        said.stderr
    );
    let files = unpacked(&path);
    assert!(
        files.contains_key(&format!("{after}/report.html"))
            && files.contains_key(&format!("{after}/profile.drprof"))
    );
}

#[test]
fn a_full_disk_leaves_no_half_of_an_archive() {
    if let Err(reason) = Namespaces::available() {
        return skip(&reason.to_string());
    }
    let (user, _, after) = two_sessions();
    let place = file(&user, "small");
    fs::create_dir(&place).expect("a mount point");
    let script = "mount -t tmpfs -o size=8k tmpfs \"$1\"; shift; \"$@\"; code=$?; ls -A \"$0\"; exit $code";
    let mut command = Command::new("unshare");
    command.args([
        "-m",
        "sh",
        "-c",
        script,
        text(&place),
        text(&place),
        BINARY,
        "sessions",
        "export",
        &after,
        "-o",
    ]);
    command.arg(place.join("all.zip"));
    user.prepare(&mut command);
    let said = said(&mut command);
    assert_eq!(said.stdout, "", "nothing is left on the disk");
    check(&user, "archive-disk-full", &said);
}

#[test]
fn a_stored_profile_becomes_every_format() {
    let (user, _, after) = two_sessions();
    let stored = file(&user, "app.drprof");
    fs::copy(user.sessions().join(&after).join("profile.drprof"), &stored).expect("it can be copied");
    for format in profile_formats::FORMATS {
        let said = user.says(&["trace", "convert", text(&stored), "--format", format.id]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
        assert!(file(&user, &format!("app.{}", format.extension)).exists(), "{}", said.stderr);
    }
    check(&user, "stored-converted", &user.says(&["trace", "convert", text(&stored), "--format", "folded"]));
    let convert = |options: &[&str]| {
        user.says(&[&["trace", "convert", text(&stored), "--format", "folded", "-o", "-"], options].concat())
    };
    assert!(convert(&[]).stdout.contains("Shop!Shop.Prices.Best 8000000000\n"));
    assert!(convert(&["--view", "off-cpu"]).stdout.ends_with("System.Threading.Monitor.Wait 5000000000\n"));
    check(&user, "stored-no-side", &convert(&["--view", "ready"]));
    check(&user, "stored-event", &convert(&["--event", "A/B"]));
    assert_eq!(convert(&["--thread", "7"]).code, Some(35));
    let json = user.says(&["trace", "convert", text(&stored), "--format", "html", "--json"]).json();
    assert_eq!(json["sides"], serde_json::json!(["on-cpu", "off-cpu"]));
}
