//! Servers, good and bad. Each is one of the test's own, on loopback.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use crate::debug_elf::debug_file;
use crate::loopback::{Loopback, Reply};
use native_symbols::BuildId;
use symbol_server::{
    Cache, Contents, FetchError, Fetcher, Limits, Outcome, Problem, Proxies, Server, Wanted,
};

const ID: [u8; 20] = [0xa5; 20];

fn wanted() -> Wanted {
    Wanted { name: "libcoreclr.so".to_owned(), build_id: BuildId(ID.to_vec()) }
}

fn good() -> Vec<u8> {
    debug_file(&ID, &[("a_function", 0x1000, 0x100)])
}

/// Nobody waits for long here; a good answer on loopback takes milliseconds.
fn limits() -> Limits {
    Limits { whole: Duration::from_secs(20), bytes: 1 << 20, ..Limits::default() }
}

fn fetcher(servers: &[&str], limits: Limits) -> Fetcher {
    let servers = servers.iter().map(|url| Server::parse(url).expect("an address")).collect();
    Fetcher::new(servers, limits, Proxies::None).expect("a fetcher")
}

fn go_on(_bytes: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn left_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("the folder").count()
}

/// What is wrong with the first address of a server that answers everything in this way; nothing is left on disk.
fn problem(limits: Limits, answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Problem {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::create(folder.path().to_owned()).expect("a cache");
    let server = Loopback::start(answer);
    let outcome = fetcher(&[&server.url()], limits).fetch(&wanted(), &cache, &mut go_on).expect("an outcome");
    assert_eq!(left_in(folder.path()), 0, "{outcome:?}");
    let Outcome::Missing(tries) = outcome else { panic!("{outcome:?}") };
    assert!(tries[0].address.ends_with("/_.debug"), "{tries:?}");
    tries[0].problem.clone()
}

#[test]
fn a_file_is_found_by_either_layout_and_kept() {
    for (part, asked) in [("elf-buildid-sym-", 1), ("/debuginfo", 2), ("/libcoreclr.so/elf-buildid-", 3)] {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::create(folder.path().to_owned()).unwrap();
        let server = Loopback::start(move |path| match path.contains(part) {
            true => Reply::file(good()),
            false => Reply::status(404),
        });
        let mut fetcher = fetcher(&[&format!("{}/", server.url())], limits());
        let mut seen = 0;
        let outcome = fetcher.fetch(&wanted(), &cache, &mut |bytes| {
            seen = bytes;
            ControlFlow::Continue(())
        });
        let Outcome::Fetched(fetched) = outcome.unwrap() else { panic!("{:?}", server.asked()) };
        assert_eq!((server.asked().len(), fetched.functions), (asked, 1), "{:?}", server.asked());
        assert_eq!(fetched.file, folder.path().join(format!("{}.debug", wanted().build_id)));
        assert_eq!(std::fs::read(&fetched.file).unwrap(), good());
        let bytes = good().len() as u64;
        assert_eq!((fetched.bytes, seen), (bytes, bytes));
        assert_eq!(Cache::contents(folder.path()), Contents { files: 1, bytes });
        assert_eq!(left_in(folder.path()), 1);
    }
}

#[test]
fn the_next_server_is_asked_when_one_has_not_got_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::create(folder.path().to_owned()).unwrap();
    let empty = Loopback::start(|_| Reply::status(404));
    let full = Loopback::start(|_| Reply::file(good()));
    let mut fetcher = fetcher(&[&empty.url(), &full.url()], limits());
    let outcome = fetcher.fetch(&wanted(), &cache, &mut go_on).unwrap();
    assert!(matches!(outcome, Outcome::Fetched(fetched) if fetched.address.starts_with(&full.url())));
}

#[test]
fn a_compressed_answer_is_unpacked_and_a_bomb_is_not() {
    let packed = |data: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(data).unwrap();
        Reply::Answer(200, vec!["Content-Encoding: gzip".to_owned()], gzip.finish().unwrap())
    };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::create(folder.path().to_owned()).unwrap();
    let server = Loopback::start(move |_| packed(&good()));
    let outcome = fetcher(&[&server.url()], limits()).fetch(&wanted(), &cache, &mut go_on).unwrap();
    assert!(matches!(outcome, Outcome::Fetched(_)), "{outcome:?}");
    let mut bomb = good();
    bomb.resize(8 << 20, 0);
    assert_eq!(problem(limits(), move |_| packed(&bomb)), Problem::TooLarge(1 << 20));
}

#[test]
fn files_that_are_not_the_right_one_are_refused() {
    let other = BuildId(vec![7; 20]);
    let data = debug_file(&other.0, &[("a_function", 0x1000, 0x100)]);
    assert_eq!(problem(limits(), move |_| Reply::file(data.clone())), Problem::OtherBuild(Some(other)));
    let page = "\n <html>sign in</html>";
    let seen = problem(limits(), move |_| Reply::file(page.into()));
    assert_eq!(seen, Problem::NotElf(" but a web page".to_owned()));
    assert!(matches!(problem(limits(), |_| Reply::file(Vec::new())), Problem::NotElf(_)));
    assert!(matches!(problem(limits(), |_| Reply::file(b"\x7fELF and then?".to_vec())), Problem::NotElf(_)));
    let stripped = debug_file(&ID, &[]);
    assert_eq!(problem(limits(), move |_| Reply::file(stripped.clone())), Problem::NoSymbols);
}

#[test]
fn errors_of_a_server_are_told() {
    assert_eq!(problem(limits(), |_| Reply::status(404)), Problem::NotThere);
    for status in [401, 403, 429, 500, 503] {
        assert_eq!(problem(limits(), move |_| Reply::status(status)), Problem::Status(status));
    }
}

#[test]
fn a_body_without_end_is_left_at_the_limit() {
    assert_eq!(problem(limits(), |_| Reply::Endless), Problem::TooLarge(1 << 20));
    // One that says so beforehand is not even begun.
    assert_eq!(problem(limits(), |_| Reply::Cut(1 << 40, Vec::new())), Problem::TooLarge(1 << 20));
}

#[test]
fn a_download_that_breaks_off_leaves_nothing() {
    let seen = problem(limits(), |_| Reply::Cut(good().len(), good()[..good().len() / 2].to_vec()));
    assert!(matches!(seen, Problem::Cut(_)), "{seen:?}");
}

#[test]
fn a_server_that_dawdles_is_left() {
    let hasty = Limits { whole: Duration::from_millis(500), ..limits() };
    assert_eq!(problem(hasty, |_| Reply::Drip), Problem::TooSlow);
    let hasty = Limits { silence: Duration::from_millis(300), ..limits() };
    assert_eq!(problem(hasty, |_| Reply::Silence), Problem::TooSlow);
}

#[test]
fn redirects_are_followed_but_not_for_ever() {
    let to = |place: &str| Reply::Answer(302, vec![format!("Location: {place}")], Vec::new());
    assert_eq!(problem(limits(), move |_| to("/again")), Problem::Redirects);
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::create(folder.path().to_owned()).unwrap();
    let server = Loopback::start(move |path| if path == "/blob" { Reply::file(good()) } else { to("/blob") });
    let outcome = fetcher(&[&server.url()], limits()).fetch(&wanted(), &cache, &mut go_on).unwrap();
    assert!(matches!(outcome, Outcome::Fetched(_)), "{outcome:?}");
}

#[test]
fn a_server_that_is_not_there_is_waited_for_once() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::create(folder.path().to_owned()).unwrap();
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut fetcher = fetcher(&[&format!("http://127.0.0.1:{port}")], limits());
    for _ in 0..2 {
        let Outcome::Missing(tries) = fetcher.fetch(&wanted(), &cache, &mut go_on).unwrap() else { panic!() };
        assert_eq!(tries.len(), 1, "{tries:?}");
        assert!(tries[0].problem.is_unreachable(), "{tries:?}");
    }
}

#[test]
fn a_server_that_does_not_speak_tls_is_not_reached() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::create(folder.path().to_owned()).unwrap();
    let server = Loopback::start(|_| Reply::file(good()));
    let address = server.url().replace("http://", "https://");
    let outcome = fetcher(&[&address], limits()).fetch(&wanted(), &cache, &mut go_on).unwrap();
    let Outcome::Missing(tries) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(tries[0].problem, Problem::Unreachable(_) | Problem::Cut(_)), "{tries:?}");
}

#[test]
fn a_server_that_only_fails_is_not_asked_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::create(folder.path().to_owned()).unwrap();
    let server = Loopback::start(|_| Reply::status(500));
    let mut fetcher = fetcher(&[&server.url()], limits());
    for _ in 0..10 {
        fetcher.fetch(&wanted(), &cache, &mut go_on).unwrap();
    }
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn the_user_can_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::create(folder.path().to_owned()).unwrap();
    let server = Loopback::start(|_| Reply::Endless);
    let mut fetcher = fetcher(&[&server.url()], limits());
    let outcome = fetcher.fetch(&wanted(), &cache, &mut |bytes| match bytes {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert!(matches!(outcome, Err(FetchError::Interrupted)));
    assert_eq!(left_in(folder.path()), 0);
}

#[test]
fn two_runs_at_once_give_one_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Loopback::start(|_| Reply::file(good()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let cache = Cache::create(folder.path().to_owned()).unwrap();
                let outcome = fetcher(&[&server.url()], limits()).fetch(&wanted(), &cache, &mut go_on);
                assert!(matches!(outcome, Ok(Outcome::Fetched(_))), "{outcome:?}");
            });
        }
    });
    assert_eq!(left_in(folder.path()), 1);
    assert_eq!(std::fs::read(wanted().build_id.in_cache(folder.path())).unwrap(), good());
}

#[test]
fn a_cache_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::create(folder.path().join("gone")).unwrap();
    std::fs::remove_dir(cache.folder()).unwrap();
    let server = Loopback::start(|_| Reply::file(good()));
    let outcome = fetcher(&[&server.url()], limits()).fetch(&wanted(), &cache, &mut go_on);
    assert!(matches!(outcome, Err(FetchError::Cache { .. })), "{outcome:?}");
}
