//! `drdotnet symbols` on real programs, with servers of the test's own.

#[path = "../../crates/native-symbols/tests/suite/debug_elf/mod.rs"]
mod debug_elf;
#[expect(dead_code, reason = "servers that misbehave in other ways are tested where they are asked")]
#[path = "../../crates/symbol-server/tests/suite/loopback/mod.rs"]
mod loopback;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use debug_elf::debug_file;
use loopback::{Loopback, Reply};
use model::ProcessId;
use native_symbols::{Backing, DebugFolders, MemoryMap, NativeNames};
use rustix::process::Signal;
use serde_json::Value;
use testbed::{Namespaces, Runtime, Target, shared};

use crate::support::{Said, User, check_golden, copy_for_others, eventually, is_root, said, skip, start};

/// Where no server's address is to be replaced.
const NO_SERVER: &str = "http://no.server";
/// A name that no runtime has.
const NAME: &str = "a_function_of_the_test";

fn target() -> Target {
    shared().target("healthy-idle-service", Runtime::Net9).start().expect("a target")
}

/// A command of somebody who has fetched nothing yet and has no servers or proxies of their own.
fn command(user: &User, arguments: &[&str]) -> Command {
    let mut command = user.command(arguments);
    alone(&mut command, user);
    command
}

fn alone(command: &mut Command, user: &User) {
    command.env("XDG_CACHE_HOME", user.folder().join("cache"));
    for variable in [
        "DRDOTNET_SYMBOL_SERVERS",
        "DRDOTNET_SYMBOL_CACHE",
        "DEBUGINFOD_URLS",
        "SSL_CERT_FILE",
        "NO_PROXY",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "no_proxy",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ] {
        command.env_remove(variable);
    }
}

fn cache(user: &User) -> PathBuf {
    user.folder().join("cache/drdotnet/symbols")
}

/// What is said of a library in JSON.
fn library(answer: &Value, name: &str) -> Value {
    let libraries = answer["libraries"].as_array().expect("a list");
    let found = libraries.iter().find(|one| one["path"].as_str().is_some_and(|path| path.ends_with(name)));
    found.unwrap_or_else(|| panic!("{name}: {answer}")).clone()
}

fn listed(user: &User, pid: &str) -> Value {
    let said = said(&mut command(user, &["symbols", "list", "-p", pid, "--json"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()
}

fn build_id(user: &User, pid: &str) -> String {
    let answer = listed(user, pid);
    let found = library(&answer, "/libcoreclr.so");
    assert_eq!(found["symbols"], "missing", "{found}");
    found["build_id"].as_str().expect("a build id").to_owned()
}

/// A debug file of a build, which names the whole library.
fn debug_file_of(id: &str) -> Vec<u8> {
    let digits = (0..id.len()).step_by(2).map(|at| &id[at..at + 2]);
    let bytes: Vec<u8> = digits.map(|two| u8::from_str_radix(two, 16).expect("two digits")).collect();
    debug_file(&bytes, &[(NAME, 0, 1 << 30)])
}

/// A server that has the debug file of one build.
fn server_of(id: &str) -> Loopback {
    let file = debug_file_of(id);
    let key = format!("/_.debug/elf-buildid-sym-{id}/_.debug");
    Loopback::start(move |path| match path == key {
        true => Reply::file(file.clone()),
        false => Reply::status(404),
    })
}

/// An address at which nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

/// The screen without what differs from machine to machine: libraries that are not the runtime's, widths, places.
fn plain(text: &str, user: &User, pid: &str, server: &str) -> String {
    let text = text.replace(cache(user).to_str().expect("a path"), "CACHE").replace(server, "SERVER");
    let text = text.replace(&format!("pid {pid}"), "pid PID").replace(&format!("-p {pid}"), "-p PID");
    let mut lines = Vec::new();
    let mut in_table = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
        let is_head = line.starts_with("Library ");
        in_table = is_head || (in_table && !line.is_empty());
        if in_table && !is_head && !["libcoreclr.so", "libclrjit.so"].contains(&words[0]) {
            continue;
        }
        lines.push(if in_table { words.join("  ") } else { line.to_owned() });
    }
    lines.join("\n") + "\n"
}

#[test]
fn what_a_server_has_is_fetched_once_and_names_code() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let screen = said(&mut command(&user, &["symbols", "list", &pid]));
    check_golden("symbols/list.txt", &plain(&screen.stdout, &user, &pid, NO_SERVER));
    let id = build_id(&user, &pid);
    assert!(!cache(&user).exists(), "looking makes nothing");

    let server = server_of(&id);
    let fetch = ["symbols", "fetch", "-p", &pid, "--server", &server.url()];
    let said_first = said(&mut command(&user, &fetch));
    assert_eq!(said_first.code, Some(0), "part of it is success: {said_first:?}");
    let screen = plain(&said_first.stdout, &user, &pid, &server.url());
    // The rest of the libraries is the machine's.
    let (screen, rest) = screen.split_once("\n! ").expect("a note on what is missing");
    check_golden("symbols/fetched.txt", &format!("{screen}\n"));
    assert!(rest.contains("libclrjit.so") && rest.ends_with(": no server has them\n"), "{rest}");
    let file = cache(&user).join(format!("{id}.debug"));
    assert_eq!(fs::read_dir(cache(&user)).expect("the cache").count(), 1);

    // The names are really there, with the folder that every command takes.
    let map = MemoryMap::of_process(ProcessId(target.pid())).expect("a map");
    let root = format!("/proc/{pid}/root").into();
    let mut names = NativeNames::new(DebugFolders { root, cache: Some(cache(&user)) });
    let mapping = map
        .iter()
        .find(|one| {
            one.executable && matches!(&one.backing, Backing::File(path) if path.ends_with("libcoreclr.so"))
        })
        .expect("the runtime");
    assert_eq!(names.frame(mapping.start + 64, mapping).expect("a frame").0.name, NAME);

    let found = library(&listed(&user, &pid), "/libcoreclr.so");
    assert_eq!((&found["symbols"], &found["file"]), (&"cached".into(), &file.to_str().into()), "{found}");
    // The second time only the others are asked for, and nobody who answers is needed.
    let before = server.asked().len();
    let again = said(&mut command(&user, &fetch));
    assert_eq!(again.code, Some(0), "{again:?}");
    let asked = server.asked();
    assert!(asked.len() > before && !asked[before..].iter().any(|path| path.contains(&id)), "{asked:?}");
    let offline = said(&mut command(&user, &["symbols", "fetch", "-p", &pid, "--server", &nobody()]));
    assert_eq!(offline.code, Some(0), "{offline:?}");
    assert!(target.is_alive());

    let path = said(&mut command(&user, &["symbols", "path"]));
    assert_eq!((path.code, path.stdout), (Some(0), format!("{}\n", cache(&user).display())));
    assert!(path.stderr.starts_with("1 file, "), "{}", path.stderr);
}

#[test]
fn the_list_fits_a_narrow_terminal() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let Some(screen) = user.sees(80, &["symbols", "list", &pid], &[("NO_COLOR", "1")]) else { return };
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(screen.contains("\nlibcoreclr.so "), "{screen}");
}

#[test]
fn json_tells_what_came_and_what_did_not() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let id = build_id(&user, &pid);
    let server = server_of(&id);
    let elsewhere = user.folder().join("elsewhere");
    let folder = elsewhere.to_str().expect("a path");
    let arguments = ["symbols", "fetch", "-p", &pid, "--server", &server.url(), "--cache", folder, "--json"];
    let answer = said(&mut command(&user, &arguments)).json();
    assert_eq!(answer["schema"], "drdotnet.symbols/1");
    assert_eq!(answer["servers"], serde_json::json!([server.url()]));
    let file = elsewhere.join(format!("{id}.debug"));
    let bytes = fs::metadata(&file).expect("the file").len();
    assert_eq!(answer["cache"], serde_json::json!({ "folder": folder, "files": 1, "bytes": bytes }));
    let came = library(&answer, "/libcoreclr.so");
    assert_eq!((&came["symbols"], &came["fetched_bytes"]), (&"fetched".into(), &bytes.into()), "{came}");
    assert_eq!(came["file"], file.to_str().expect("a path"));
    let missing = library(&answer, "/libclrjit.so");
    assert_eq!(missing["symbols"], "missing");
    assert_eq!(missing["tries"].as_array().map(Vec::len), Some(3), "{missing}");
    assert_eq!(missing["tries"][0]["problem"], "it has no such file");
    assert!(!cache(&user).exists(), "only the folder that was named is used");
}

/// An error, with addresses that do not change from run to run.
fn error(said: &Said, user: &User, server: &str) -> String {
    let from = said.stderr.find("error: ").unwrap_or(0);
    let text = said.stderr[from..].replace(cache(user).to_str().expect("a path"), "CACHE");
    let mut text = text.replace(server, "SERVER");
    if let Some((_, id)) = text.clone().split_once("elf-buildid-sym-") {
        text = text.replace(id.split('/').next().unwrap_or_default(), "ID");
    }
    format!("exit code {}\n{text}", said.code.unwrap_or(-1))
}

#[test]
fn each_way_to_get_nothing_has_its_exit_code_and_advice() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let id = build_id(&user, &pid);
    let empty = Loopback::start(|_| Reply::status(404));
    let page = Loopback::start(|_| Reply::file(b"<html>Please sign in</html>".to_vec()));
    for (name, code, server) in
        [("unreachable", 37, nobody()), ("none-has-them", 38, empty.url()), ("refused", 39, page.url())]
    {
        let said = said(&mut command(&user, &["symbols", "fetch", "-p", &pid, "--server", &server]));
        assert_eq!(said.code, Some(code), "{said:?}");
        check_golden(&format!("errors/symbols-{name}.txt"), &error(&said, &user, &server));
        // What to do by hand is told for servers that nobody could ask.
        let key = format!("curl -fLo {id}.debug {server}/_.debug/elf-buildid-sym-{id}/_.debug");
        assert_eq!(said.stdout.contains(&key), code == 37, "{}", said.stdout);
        let place = format!("Put them into {}\n", cache(&user).display());
        assert_eq!(said.stdout.contains(&place), code == 37, "{}", said.stdout);
        assert_eq!(fs::read_dir(cache(&user)).expect("the cache").count(), 0, "{name}");
    }
    // Both at once: one server that is not there does not hide what another says.
    let both = ["symbols", "fetch", "-p", &pid, "--server", &nobody(), "--server", &empty.url()];
    assert_eq!(said(&mut command(&user, &both)).code, Some(38));
}

#[test]
fn a_file_that_was_downloaded_by_hand_is_used_and_a_wrong_one_is_told() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let id = build_id(&user, &pid);
    fs::create_dir_all(cache(&user)).expect("a folder");
    let file = cache(&user).join(format!("{id}.debug"));
    fs::write(&file, debug_file(&[1; 20], &[(NAME, 0, 1 << 30)])).expect("a file");
    let wrong = said(&mut command(&user, &["symbols", "list", "-p", &pid]));
    let note = format!("! libcoreclr.so: {} is there, but is not its debug file", file.display());
    assert!(wrong.stdout.contains(&note), "{}", wrong.stdout);
    let server = server_of(&id);
    let bytes = said(&mut command(&user, &["symbols", "fetch", "-p", &pid, "--server", &server.url()]));
    assert_eq!(bytes.code, Some(0), "a wrong one is replaced: {bytes:?}");
    assert_eq!(library(&listed(&user, &pid), "/libcoreclr.so")["symbols"], "cached");
}

#[test]
fn servers_are_chosen_by_variables_and_proxies_are_used() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let (ours, debuginfod) =
        (Loopback::start(|_| Reply::status(404)), Loopback::start(|_| Reply::status(404)));
    let fetch = ["symbols", "fetch", "-p", &pid];
    let mut asking = command(&user, &fetch);
    asking.env("DRDOTNET_SYMBOL_SERVERS", ours.url()).env("DEBUGINFOD_URLS", debuginfod.url());
    assert_eq!(said(&mut asking).code, Some(38));
    assert!(ours.asked().iter().any(|path| path.starts_with("/_.debug/elf-buildid-sym-")));
    let asked = debuginfod.asked();
    assert!(!asked.is_empty() && asked.iter().all(|path| path.starts_with("/buildid/")), "{asked:?}");

    let none = said(command(&user, &fetch).env("DRDOTNET_SYMBOL_SERVERS", ""));
    assert_eq!(none.code, Some(37), "{none:?}");
    assert!(none.stderr.contains("DRDOTNET_SYMBOL_SERVERS is set, and names none"), "{}", none.stderr);
    let bad = said(command(&user, &fetch).env("DRDOTNET_SYMBOL_SERVERS", "symbols.example"));
    assert_eq!((bad.code, bad.stdout.as_str()), (Some(11), ""), "{bad:?}");
    check_golden("errors/symbols-bad-server.txt", &error(&bad, &user, NO_SERVER));
    let bad = said(&mut command(&user, &["symbols", "fetch", "-p", &pid, "--server", "ftp://x"]));
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(bad.stderr.contains("it must begin with https:// or http://"), "{}", bad.stderr);
    let bad = said(command(&user, &fetch).env("SSL_CERT_FILE", "/dev/null"));
    assert_eq!(bad.code, Some(11), "{bad:?}");

    let proxy = Loopback::start(|_| Reply::status(403));
    let mut asking = command(&user, &["symbols", "fetch", "-p", &pid, "--server", "https://symbols.invalid"]);
    let through = said(asking.env("HTTPS_PROXY", proxy.url()));
    assert_eq!(through.code, Some(37), "{through:?}");
    assert_eq!(proxy.asked(), ["symbols.invalid:443"]);
}

#[test]
fn encrypted_servers_are_believed_when_their_authority_is() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let folder = user.folder().join("www");
    for library in listed(&user, &pid)["libraries"].as_array().expect("a list") {
        let id = library["build_id"].as_str().unwrap_or_default();
        let place = folder.join(format!("_.debug/elf-buildid-sym-{id}"));
        fs::create_dir_all(&place).expect("a folder");
        fs::write(place.join("_.debug"), debug_file_of(id)).expect("a file");
    }
    let mut make = Command::new("openssl");
    make.args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    make.args(["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=symbols"]);
    make.args(["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=IP:127.0.0.1"]);
    match make.current_dir(&folder).output() {
        Ok(made) if made.status.success() => {}
        other => return skip(&format!("openssl makes no certificate: {other:?}")),
    }
    let mut serve = Command::new("openssl");
    serve.args(["s_server", "-accept", "127.0.0.1:0", "-cert", "cert.pem", "-key", "key.pem", "-WWW"]);
    let mut running = start(serve.current_dir(&folder));
    let lines = BufReader::new(running.child().stdout.as_mut().expect("its output")).lines();
    let line = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
    let server = format!("https://{}", line.expect("the server listens"));
    let fetch = ["symbols", "fetch", "-p", &pid, "--server", &server];

    let stranger = said(&mut command(&user, &fetch));
    assert_eq!(stranger.code, Some(37), "{stranger:?}");
    assert!(stranger.stderr.to_lowercase().contains("certificate"), "{}", stranger.stderr);
    let known = said(command(&user, &fetch).env("SSL_CERT_FILE", folder.join("cert.pem")));
    assert_eq!(known.code, Some(0), "{known:?}");
    assert_eq!(library(&listed(&user, &pid), "/libcoreclr.so")["symbols"], "cached");
}

#[test]
fn a_dry_run_asks_nobody_and_makes_nothing() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let id = build_id(&user, &pid);
    let server = server_of(&id);
    let said = said(&mut command(&user, &["symbols", "fetch", &pid, "--dry-run", "--server", &server.url()]));
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.stdout.contains("\nIt would ask for these files. Put them into "), "{}", said.stdout);
    let line = said.stdout.lines().find(|line| line.contains(&id)).expect("the runtime's");
    check_golden(
        "symbols/by-hand.txt",
        &format!("{}\n", line.replace(&id, "ID").replace(&server.url(), "SERVER")),
    );
    assert_eq!(server.asked(), Vec::<String>::new());
    assert!(!cache(&user).exists());
}

#[test]
fn a_download_can_be_stopped_and_leaves_nothing() {
    let (user, target) = (User::new(), target());
    let server = Loopback::start(|_| Reply::Drip);
    let pid = target.pid().to_string();
    let running = start(&mut command(&user, &["symbols", "fetch", "-p", &pid, "--server", &server.url()]));
    eventually("a download has begun", || {
        let drafts = fs::read_dir(cache(&user)).ok()?.flatten();
        drafts.into_iter().find(|draft| draft.metadata().is_ok_and(|file| file.len() > 0))
    });
    running.signal(Signal::INT);
    let said = running.ends();
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.stderr.contains("files that had come whole are kept"), "{}", said.stderr);
    assert_eq!(fs::read_dir(cache(&user)).expect("the cache").count(), 0);

    // Killed outright, it leaves a draft, which the next one sweeps away.
    let running = start(&mut command(&user, &["symbols", "fetch", "-p", &pid, "--server", &server.url()]));
    eventually("a download has begun", || fs::read_dir(cache(&user)).ok()?.flatten().next());
    running.signal(Signal::KILL);
    running.ends();
    let empty = Loopback::start(|_| Reply::status(404));
    assert_eq!(
        said_code(&mut command(&user, &["symbols", "fetch", "-p", &pid, "--server", &empty.url()])),
        Some(38)
    );
    assert_eq!(fs::read_dir(cache(&user)).expect("the cache").count(), 0);
}

fn said_code(command: &mut Command) -> Option<i32> {
    said(command).code
}

#[test]
fn places_that_cannot_be_written_are_told() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let server = Loopback::start(|_| Reply::status(404));
    let arguments = ["symbols", "fetch", "-p", &pid, "--server", &server.url(), "--cache", "/proc/symbols"];
    let no_place = said(&mut command(&user, &arguments));
    assert_eq!(no_place.code, Some(9), "{no_place:?}");
    check_golden("errors/symbols-cache.txt", &error(&no_place, &user, NO_SERVER));
    let mut homeless = command(&user, &["symbols", "path"]);
    let homeless = said(homeless.env_remove("XDG_CACHE_HOME").env_remove("HOME"));
    assert_eq!((homeless.code, homeless.stdout.as_str()), (Some(9), ""), "{homeless:?}");
    check_golden("errors/symbols-homeless.txt", &error(&homeless, &user, NO_SERVER));
    // Looking works all the same.
    let mut list = command(&user, &["symbols", "list", "-p", &pid]);
    assert_eq!(said(list.env_remove("XDG_CACHE_HOME").env_remove("HOME")).code, Some(0));
}

#[test]
fn a_target_with_its_own_file_system_is_seen_and_fetched_for() {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let user = User::new();
    let target = shared()
        .target("healthy-idle-service", Runtime::Net9)
        .namespaces(Namespaces::PidAndMount { private_tmp: true })
        .start()
        .expect("a target");
    let pid = target.pid().to_string();
    let id = build_id(&user, &pid);
    let server = server_of(&id);
    let fetched = said(&mut command(&user, &["symbols", "fetch", "-p", &pid, "--server", &server.url()]));
    assert_eq!(fetched.code, Some(0), "{fetched:?}");
    assert_eq!(library(&listed(&user, &pid), "/libcoreclr.so")["symbols"], "cached");
    assert!(Path::new(&cache(&user)).join(format!("{id}.debug")).is_file(), "in our file system, not in its");
}

#[test]
fn a_process_of_another_user_is_told() {
    if !is_root() {
        return;
    }
    let (user, target) = (User::new(), target());
    let (_folder, copy) = copy_for_others();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
    command.args(["symbols", "list", "-p", &target.pid().to_string()]);
    user.prepare(&mut command);
    alone(&mut command, &user);
    let said = said(&mut command);
    assert_eq!((said.code, said.stdout.as_str()), (Some(5), ""), "{said:?}");
    let text = error(&said, &user, NO_SERVER).replace(&target.pid().to_string(), "PID");
    check_golden("errors/symbols-other-user.txt", &text);
}
