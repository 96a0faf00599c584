//! The screen as it looks, against accepted ones.

use std::path::Path;
use std::time::{Duration, Instant};

use model::{Frame, FrameKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use stacks::{FrameId, Profile, ProfileThread, Sample, StackKey, StackNode, ThreadSlot, Weight};

use super::{Interval, Reaction, Side, State, Status, block, draw, react};

fn frame(kind: FrameKind, name: &str, module: &str) -> Frame {
    Frame { kind, name: name.to_owned(), module: Some(module.to_owned()), file: None, line: None }
}

/// Main calls Work calls Sort (framework) calls memmove; another thread waits in Main.
fn profile(weights: &[(u32, u32, u64)]) -> Profile {
    let frames = vec![
        frame(FrameKind::Managed, "Shop.Api.Main", "Shop"),
        frame(FrameKind::Managed, "Shop.Api.Work\u{1b}[2J", "Shop"),
        frame(FrameKind::Managed, "System.Array.Sort", "System.Private.CoreLib"),
        frame(FrameKind::Native, "__memmove_avx_unaligned", "libc.so.6"),
    ];
    let node = |caller: Option<u32>, frame| StackNode { caller: caller.map(StackKey), frame: FrameId(frame) };
    let nodes = vec![node(None, 0), node(Some(0), 1), node(Some(1), 2), node(Some(2), 3)];
    let thread = |id, name: &str| ProfileThread { id, name: Some(name.to_owned()) };
    let sample = |&(thread, stack, weight): &(u32, u32, u64)| Sample {
        at_ns: 0,
        weight: weight * 1_000_000,
        thread: ThreadSlot(thread),
        stack: Some(StackKey(stack)),
    };
    Profile {
        title: String::new(),
        weight: Weight::Nanoseconds,
        started: None,
        duration_ns: 1_000_000_000,
        process: Some(4242),
        frames,
        nodes,
        threads: vec![thread(4242, "dotnet"), thread(4250, ".NET TP Worker")],
        samples: weights.iter().map(sample).collect(),
    }
}

fn interval(step: u64) -> Interval {
    Interval {
        took: Duration::from_secs(1),
        on_cpu: profile(&[(0, 1, 300 + step * 50), (0, 3, 100), (1, 2, 200), (1, 1, 20)]),
        off_cpu: profile(&[(1, 0, 700)]),
        idle: Duration::from_secs(12),
        samples: 150,
        lost: 0,
    }
}

fn filled(now: Instant) -> State {
    let mut state = State::new("Shop.Api (pid 4242) .NET 9.0.7".to_owned(), now);
    (0..5).for_each(|step| state.take(interval(step)));
    state
}

fn press(state: &mut State, keys: &str) -> Reaction {
    let mut reaction = Reaction::None;
    for key in keys.chars() {
        let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
        reaction = react(state, &Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
    reaction
}

fn screen(state: &mut State, columns: u16, lines: u16, now: Instant) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, state, now)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..lines).map(|y| format!("{}\n", line(y).trim_end())).collect()
}

#[track_caller]
fn check(name: &str, text: &str) {
    golden::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui/top/golden").join(name), text);
}

#[test]
fn a_wide_screen_shows_methods_threads_and_trends() {
    let now = Instant::now();
    let mut state = filled(now);
    check("wide.txt", &screen(&mut state, 110, 20, now + Duration::from_secs(5)));
}

#[test]
fn framework_code_counts_as_its_callers_when_folded() {
    let now = Instant::now();
    let mut state = filled(now);
    press(&mut state, "fs");
    state.take(interval(1));
    check("folded-by-total.txt", &screen(&mut state, 80, 16, now));
}

#[test]
fn a_thread_is_picked_and_let_go() {
    let now = Instant::now();
    let mut state = filled(now);
    press(&mut state, "tj");
    check("picking.txt", &screen(&mut state, 80, 16, now));
    press(&mut state, "\n");
    check("picked.txt", &screen(&mut state, 80, 16, now));
    assert_eq!(state.picked.as_ref().map(|picked| picked.id), Some(4250));
    react(&mut state, &Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
    assert_eq!(state.picked, None);
}

#[test]
fn waits_and_what_is_left_out_of_them() {
    let now = Instant::now();
    let mut state = filled(now);
    state.notes.push("missing: time inside the kernel".to_owned());
    press(&mut state, "o");
    assert_eq!(state.side, Side::OffCpu);
    check("waiting.txt", &screen(&mut state, 80, 16, now));
    state.has_waits = false;
    assert_eq!(press(&mut state, "o"), Reaction::None);
}

#[test]
fn a_paused_screen_stands_still_and_an_ended_process_stays() {
    let now = Instant::now();
    let mut state = filled(now);
    press(&mut state, "p");
    let before = screen(&mut state, 80, 16, now);
    state.take(interval(9));
    assert_eq!(screen(&mut state, 80, 16, now).lines().nth(2), before.lines().nth(2));
    state.status = Status::Ended;
    press(&mut state, "p/sort\n");
    check("ended-filtered.txt", &screen(&mut state, 80, 16, now));
    assert_eq!(press(&mut state, "q"), Reaction::Quit);
}

#[test]
fn no_screen_is_too_small() {
    let now = Instant::now();
    for (columns, lines) in [(1, 1), (2, 3), (5, 2), (14, 4), (20, 5), (39, 9), (300, 100)] {
        let mut state = filled(now);
        press(&mut state, "t/x");
        screen(&mut state, columns, lines, now);
        screen(&mut State::new(String::new(), now), columns, lines, now);
    }
}

#[test]
fn without_a_terminal_there_are_plain_lines() {
    let mut state = filled(Instant::now());
    check("plain.txt", &block(&state, "12:00:00"));
    state.picked = Some(super::state::Picked { id: 1, name: String::new() });
    assert!(block(&state, "12:00:00").contains("this thread has none"));
}
