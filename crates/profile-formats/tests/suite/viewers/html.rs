//! The page: what is in it, and what a browser makes of it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use crate::support::{Row, hostile, profile, profile_named};
use model::{Frame, FrameKind};
use profile_formats::html::{Page, PageSide, Sides, write_recording};
use profile_formats::{Grouping, by_id};
use stacks::{Profile, Weight};
use stored_profiles::{ProcessName, Recording, Side};
use testbed::Browser;

/// A page in a file, and the browser that shows it; none, with a loud word, where there is no browser.
struct Shown {
    folder: tempfile::TempDir,
    browser: &'static Browser,
}

impl Shown {
    fn new(page: &[u8]) -> Option<Shown> {
        let browser = match Browser::open() {
            Ok(browser) => browser,
            Err(reason) => {
                // Not `eprintln`, which the test harness hides for a test that passes.
                let _ = writeln!(std::io::stderr(), "skipped: the page was not looked at: {reason}");
                return None;
            }
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("page.html"), page).expect("it can be written");
        Some(Shown { folder, browser })
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("page.html")
    }

    /// The page after its scripts have run, without the scripts themselves.
    fn at(&self, address: &str) -> String {
        let elements = self.browser.elements(&self.path(), address).expect("the browser shows it");
        let body = elements.split_once("<body").map_or("", |(_, body)| body);
        let (shown, _) = body.split_once("<script").unwrap_or((body, ""));
        assert!(shown.contains("data-ready=\"1\""), "the script came to its end: {shown}");
        shown.to_owned()
    }
}

/// A copy of a page in which a hand moves: a script that the page's own policy would not let run.
fn with_hand(page: &[u8], script: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(page);
    let (start, rest) = text.split_once("<meta http-equiv=\"Content-Security-Policy\"").expect("a policy");
    let (_, rest) = rest.split_once('>').expect("its end");
    let hand = "
        const steps = [];
        const seen = (what) => { draw(state); steps.push(what()); };
        const path = () => byId('path').innerText.replace(/\\s+/g, ' ').trim();
        const press = (key) => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        const at = (type, row, part) => {
          const box = canvas.getBoundingClientRect();
          const place = { clientX: box.left + box.width * part, clientY: box.top + ROW * (row + 0.5), bubbles: true };
          canvas.dispatchEvent(type === 'click' ? new MouseEvent(type, place) : new PointerEvent(type, place));
        };";
    let done = "document.body.dataset.steps = steps.join('|');";
    let rest = rest.replace("</body>", &format!("<script>{hand}{script}{done}</script></body>"));
    format!("{start}<meta {rest}").into_bytes()
}

/// What the hand saw.
fn steps(shown: &str) -> Vec<String> {
    let (_, rest) =
        shown.split_once("data-steps=\"").unwrap_or_else(|| panic!("the hand got stuck: {shown}"));
    let text = rest.split('"').next().expect("an end");
    text.replace("&nbsp;", " ").split('|').map(str::to_owned).collect()
}

#[test]
fn clicks_and_keys_zoom_in_and_out() {
    let script = "
        draw(state);
        at('click', 3, 0.1); seen(path);
        press('Backspace'); seen(path);
        press('Escape'); seen(path);
        press('ArrowDown'); press('ArrowDown'); press('ArrowDown'); press('ArrowDown');
        seen(() => byId('details').firstChild.textContent);
        press('ArrowRight'); press('Enter'); seen(path);
        byId('path').firstChild.click(); seen(path);
        press('r'); draw(state); at('click', 1, 0.1); seen(path);
        press('s'); seen(() => byId('details').innerText);
        press('Escape'); press('r'); press('t'); press('t');
        seen(() => asked.group + ' ' + asked.side);
        at('pointermove', 1, 0.01); seen(() => byId('tip').hidden + ' ' + byId('tip').firstChild.textContent);
        byId('search').value = 'futex'; byId('search').dispatchEvent(new Event('input')); seen(() => byId('matches').textContent);
        seen(() => location.hash);
    ";
    let Some(page) = Shown::new(&with_hand(&page_of(&shop()), script)) else { return };
    let steps = steps(&page.at(""));
    let expected = [
        "all start_thread WorkerThread.Start Orders.Handle",
        "all start_thread WorkerThread.Start",
        "all",
        "Shop.Prices.Best",
        "all start_thread WorkerThread.Start Orders.Handle JIT_MonEnter",
        "all",
        "all Prices.Best",
        // The wait has no such frame; what is shown is everything.
        "all 700 ms, 100.0 % of all, 2 samples",
        "thread off-cpu",
        r"false fin;alizer\n (42)",
        "100.0 % matches",
        "#side=off-cpu&amp;group=thread&amp;search=futex",
    ];
    let steps: Vec<String> =
        steps.iter().map(|step| step.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(steps, expected);
}

/// The text of an element by its id, without the tags in it.
fn text_of(shown: &str, id: &str) -> String {
    let (_, rest) = shown.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}: {shown}"));
    let (_, rest) = rest.split_once('>').expect("a tag ends");
    let end = ["</div>", "</nav>", "</output>", "</tbody>", "</details>"]
        .iter()
        .filter_map(|tag| rest.find(tag))
        .min()
        .expect("an element ends");
    let mut text = String::new();
    let mut is_tag = false;
    for c in rest[..end].chars() {
        match c {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                text.push(' ');
            }
            c if !is_tag => text.push(c),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn frame(number: u64) -> Frame {
    let (kind, name, module) = match number {
        1 => (FrameKind::Native, "start_thread", Some("libc.so.6")),
        2 => (
            FrameKind::Managed,
            "System.Threading.PortableThreadPool.WorkerThread.Start",
            Some("System.Private.CoreLib"),
        ),
        3 => (FrameKind::Managed, "Shop.Orders.Handle", Some("/app/Shop.dll")),
        4 => (FrameKind::Managed, "Shop.Prices.Best", Some("/app/Shop.dll")),
        5 => (FrameKind::Managed, "System.Threading.Monitor.Wait", Some("System.Private.CoreLib")),
        6 => (FrameKind::Kernel, "futex_wait", None),
        _ => (FrameKind::Runtime, "JIT_MonEnter", Some("libcoreclr.so")),
    };
    let (file, line) = if number == 4 { (Some("/src/Prices.cs".to_owned()), Some(42)) } else { (None, None) };
    Frame { kind, name: name.to_owned(), module: module.map(str::to_owned), file, line }
}

const MS: u64 = 1_000_000;

/// Two workers: 300 ms on the CPU, 700 ms waiting.
fn shop() -> Recording {
    let on: Vec<Row> =
        vec![(vec![4, 3, 2, 1], 0, 200 * MS), (vec![3, 2, 1], 1, 60 * MS), (vec![7, 3, 2, 1], 1, 40 * MS)];
    let off: Vec<Row> = vec![(vec![6, 5, 3, 2, 1], 0, 100 * MS), (vec![6, 5, 2, 1], 1, 600 * MS)];
    Recording {
        name: "Shop <b>&amp;".to_owned(),
        duration_ns: 1000 * MS,
        rate_hz: Some(99),
        processes: vec![ProcessName { pid: 4242, name: "Shop".to_owned() }],
        profiles: vec![
            (Side::OnCpu, profile_named(Weight::Nanoseconds, &on, frame)),
            (Side::OffCpu, profile_named(Weight::Nanoseconds, &off, frame)),
        ],
        ..Recording::default()
    }
}

fn page_of(recording: &Recording) -> Vec<u8> {
    let mut page = Vec::new();
    write_recording(recording, &mut page).expect("memory");
    page
}

fn page_of_profile(profile: &Profile) -> Vec<u8> {
    let mut page = Vec::new();
    by_id("html").expect("it is there").write(profile, Grouping::Merged, &mut page).expect("memory");
    page
}

#[test]
fn a_page_fetches_nothing_and_runs_its_own_script_only() {
    let page = String::from_utf8(page_of(&shop())).unwrap();
    for foreign in ["http:", "https:", " src=", " href=", "@import", "url(", "import("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(
        page.contains("default-src 'none'") && page.contains("script-src 'sha256-"),
        "the policy is there"
    );
    assert!(!page.contains("innerHTML") && !page.contains("document.write") && !page.contains("eval("));
    assert_eq!(page, String::from_utf8(page_of(&shop())).unwrap(), "the same recording is the same page");
}

#[test]
fn hostile_names_stay_names() {
    let names = [
        "</script><script>document.body.dataset.pwned='1'</script>",
        "<img src=x onerror=\"document.body.dataset.pwned='1'\">",
        "\"];document.body.dataset.pwned='1';//",
        "<!--<script>",
        "\u{2028}\u{202e}evil\u{0}\u{1b}[2J",
    ];
    let rows: Vec<Row> =
        (0..5).map(|number| (vec![number, 9], u32::try_from(number).unwrap_or(0) % 4, 1000 * MS)).collect();
    let mut profile = profile_named(Weight::Nanoseconds, &rows, |number| Frame {
        name: names.get(usize::try_from(number).unwrap()).unwrap_or(&"Main").to_string(),
        module: Some(names[0].to_owned()),
        file: Some(names[1].to_owned()),
        ..frame(3)
    });
    profile.threads[0].name = Some(names[0].to_owned());
    profile.title = names[1].to_owned();
    let recording = Recording {
        name: names[0].to_owned(),
        processes: vec![ProcessName { pid: 4242, name: names[1].to_owned() }],
        ..Recording::of(Side::OnCpu, profile.clone())
    };
    for page in [page_of(&recording), page_of_profile(&profile)] {
        let text = String::from_utf8(page.clone()).unwrap();
        assert_eq!(text.matches("<script").count(), 2, "the data and the script of the page");
        assert_eq!(text.matches("</script").count(), 2);
        assert!(!text.contains("<img") && !text.contains('\u{1b}') && !text.contains('\u{202e}'));
        let Some(shown) = Shown::new(&page) else { return };
        for address in [
            "#top=1",
            "#top=1&group=thread&search=%3Cscript",
            "#reverse=1&search=%22%3E%3Cscript%3Edocument.body.dataset.pwned=1%3C/script%3E",
        ] {
            let shown = shown.at(address);
            assert!(!shown.contains("data-pwned"), "{shown}");
            assert!(!shown.contains("<img"), "{shown}");
        }
    }
}

#[test]
fn sides_can_be_switched_and_added() {
    let Some(page) = Shown::new(&page_of(&shop())) else { return };
    let details = |address: &str| text_of(&page.at(address), "details");
    assert!(details("").starts_with("all 300 ms, 100.0 % of all, 3 samples"), "{}", details(""));
    assert!(details("#side=off-cpu").starts_with("all 700 ms, 100.0 % of all, 2 samples"));
    let both = details("#side=both");
    assert!(both.starts_with("all 1 s, 100.0 % of all, 5 samples"), "{both}");
    assert!(both.contains("On-CPU 300 ms, Off-CPU 700 ms"), "{both}");
}

#[test]
fn a_search_says_how_much_it_found() {
    let Some(page) = Shown::new(&page_of(&shop())) else { return };
    let found = |address: &str| text_of(&page.at(address), "matches");
    assert_eq!(found("#search=Prices.best"), "66.7 % matches");
    assert_eq!(found("#search=libcoreclr"), "13.3 % matches");
    assert_eq!(found("#search=Monitor.Wait&side=off-cpu"), "100.0 % matches");
    assert_eq!(found("#search=Monitor.Wait&side=both"), "70.0 % matches");
    assert_eq!(found("#search=nothing"), "0.0 % matches");
    assert_eq!(found(""), "");
}

/// The number of a method in the zoom path, which the page itself writes: counted in the order of the names.
fn zoom_path(page: &Path, names: &[&str]) -> String {
    let text = std::fs::read_to_string(page).expect("it can be read");
    let (_, data) = text.split_once("id=\"data\">").expect("data");
    let data: serde_json::Value =
        serde_json::from_str(data.split_once("</script>").expect("an end").0).expect("JSON");
    let texts: Vec<&str> =
        data["texts"].as_array().expect("a list").iter().filter_map(|text| text.as_str()).collect();
    // Methods are written in the order of first use; in these tests each name is one method.
    let mut order: Vec<&str> = Vec::new();
    for text in texts {
        if !text.starts_with('/')
            && !["libc.so.6", "libc", "System.Private.CoreLib", "Shop", "libcoreclr"].contains(&text)
        {
            order.push(text);
        }
    }
    let place = |name: &&str| order.iter().position(|known| known == name).expect("a method").to_string();
    names.iter().map(place).collect::<Vec<_>>().join(".")
}

#[test]
fn zoom_shows_a_path_and_what_is_there() {
    let Some(page) = Shown::new(&page_of(&shop())) else { return };
    let path = zoom_path(
        &page.path(),
        &[
            "start_thread",
            "System.Threading.PortableThreadPool.WorkerThread.Start",
            "Shop.Orders.Handle",
            "Shop.Prices.Best",
        ],
    );
    let shown = page.at(&format!("#zoom={path}"));
    assert_eq!(text_of(&shown, "path"), "all start_thread WorkerThread.Start Orders.Handle Prices.Best");
    let details = text_of(&shown, "details");
    assert!(
        details.contains("200 ms, 66.7 % of all, 100.0 % of what is shown, 1 sample, 200 ms itself"),
        "{details}"
    );
    assert!(details.contains("own code · Shop · /src/Prices.cs:42"), "{details}");
}

#[test]
fn callers_are_shown_from_the_innermost_frame() {
    let Some(page) = Shown::new(&page_of(&shop())) else { return };
    let path = zoom_path(&page.path(), &["Shop.Prices.Best", "Shop.Orders.Handle"]);
    let shown = page.at(&format!("#reverse=1&zoom={path}"));
    assert_eq!(text_of(&shown, "path"), "all Prices.Best Orders.Handle");
    assert!(text_of(&shown, "details").contains("200 ms, 66.7 % of all"), "{shown}");
}

#[test]
fn threads_and_folding_change_the_tree() {
    let Some(page) = Shown::new(&page_of(&shop())) else { return };
    let frames = |address: &str| {
        let shown = page.at(address);
        let (_, rest) = shown.split_once("data-frames=\"").expect("it was drawn");
        rest.split('"').next().expect("a number").parse::<usize>().expect("a number")
    };
    // all, start_thread, Start, Handle, Best, JIT_MonEnter
    assert_eq!(frames(""), 6);
    // The same for each of two threads: Best on one, JIT_MonEnter on the other.
    assert_eq!(frames("#group=thread"), 1 + 2 * (1 + 3) + 2);
    // all, start_thread with Start in it, Handle, Best, JIT_MonEnter
    assert_eq!(frames("#fold=1"), 5);
    // Below Handle, the wait and the kernel are one frame, and so they are below the start.
    assert_eq!(frames("#fold=1&side=off-cpu"), 4);
}

#[test]
fn the_heaviest_methods_are_listed() {
    let Some(page) = Shown::new(&page_of(&shop())) else { return };
    let rows = text_of(&page.at("#top=1"), "rows");
    assert!(
        rows.starts_with(
            "200 ms 66.7 % 200 ms 66.7 % Shop.Prices.Best 60 ms 20.0 % 300 ms 100.0 % Shop.Orders.Handle"
        ),
        "{rows}"
    );
}

#[test]
fn several_processes_stand_beside_each_other() {
    let mut recording = shop();
    let mut other = recording.profiles[0].1.clone();
    other.process = Some(7);
    recording.profiles.push((Side::OnCpu, other));
    recording.processes.push(ProcessName { pid: 7, name: "Other".to_owned() });
    let Some(page) = Shown::new(&page_of(&recording)) else { return };
    let shown = page.at("");
    assert!(text_of(&shown, "details").starts_with("all 600 ms"), "{shown}");
    assert!(shown.contains("data-frames=\"13\""), "all, and twice a process with five frames: {shown}");
}

#[test]
fn a_comparison_tells_before_and_after() {
    let recording = shop();
    let profile = &recording.profiles[0].1;
    let mut page = Page::new("change", Weight::Nanoseconds, Sides::BeforeAndAfter);
    let before = page.side(PageSide { id: "before", title: "Before" });
    let after = page.side(PageSide { id: "after", title: "After" });
    page.add(before, profile, None, 0.5);
    page.add(after, profile, None, 1.0);
    let mut bytes = Vec::new();
    page.write(&mut bytes).unwrap();
    let Some(page) = Shown::new(&bytes) else { return };
    let details = text_of(&page.at(""), "details");
    assert!(details.contains("before 150 ms, after 300 ms: +50.0 % of all after"), "{details}");
    assert!(page.at("#side=before").contains("more than before"));
}

#[test]
fn a_page_of_nothing_is_a_page() {
    for page in [page_of(&Recording::default()), page_of_profile(&profile(Weight::Count, &[]))] {
        let Some(page) = Shown::new(&page) else { return };
        assert!(text_of(&page.at("#top=1&reverse=1&search=x"), "details").starts_with("all 0"));
    }
}

#[test]
fn fifty_thousand_stacks_are_a_small_page_that_is_shown() {
    // Every stack has frames of its own: 12 levels of four branches.
    let rows: Vec<Row> = (0..50_000_u64)
        .map(|number| {
            let mut stack = vec![100_000 + number % 5000];
            stack.extend((0..24).map(|level| 1000 * level + (number >> (level / 2)) % 400));
            (stack, u32::try_from(number % 4).unwrap_or(0), 10 * MS)
        })
        .collect();
    let profile = profile(Weight::Nanoseconds, &rows);
    let page = page_of_profile(&profile);
    println!("{} stacks, {} nodes, {} bytes", rows.len(), profile.nodes.len(), page.len());
    assert!(page.len() < 12_000_000, "{} bytes", page.len());
    let Some(page) = Shown::new(&page) else { return };
    for address in ["", "#group=thread", "#reverse=1", "#fold=1", "#search=Method1&top=1"] {
        let shown = page.at(address);
        assert!(
            text_of(&shown, "details").contains("500 s, 100.0 % of all, 50,000 samples"),
            "{address}: {shown}"
        );
    }
}

#[test]
fn hostile_profiles_of_other_tests_are_pages_too() {
    let mut words = String::new();
    for weight in [Weight::Nanoseconds, Weight::Bytes, Weight::Count] {
        let Some(page) = Shown::new(&page_of_profile(&hostile(weight))) else { return };
        let _ = write!(words, "{}; ", text_of(&page.at(""), "details"));
    }
    assert_eq!(
        words,
        "all 550 ns, 100.0 % of all, 5 samples; all 550 B, 100.0 % of all, 5 samples; all 550, 100.0 % of all, 5 samples; "
    );
}
