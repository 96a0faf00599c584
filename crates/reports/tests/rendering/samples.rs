//! The reports the tests render.

use std::collections::BTreeMap;

use model::{
    Body, Cell, Column, Confidence, Cost, Culprit, CulpritKind, Finding, Frame, FrameKind, HostCost, Line,
    Node, Pauses, Point, ProcessId, ProfilerInfo, REPORT_SCHEMA, Report, Section, Series, Severity, Stack,
    Stacks, Table, Target, Timestamp, Tree, Unit, Window, WindowEnd,
};

const SECOND: u64 = 1_000_000_000;

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time in RFC 3339")
}

/// A report without findings, sections and notes.
pub fn healthy() -> Report {
    Report {
        schema: REPORT_SCHEMA.to_owned(),
        tool_version: "0.1.0".to_owned(),
        profiler: ProfilerInfo {
            id: "threads".to_owned(),
            name: "Threads".to_owned(),
            question: "What is each thread doing?".to_owned(),
            parameters: BTreeMap::from([("duration".to_owned(), "10s".to_owned())]),
        },
        target: Target {
            pid: ProcessId(4242),
            name: "shop-api".to_owned(),
            runtime_version: Some("9.0.7".to_owned()),
            architecture: Some("x64".to_owned()),
            started_at: Some(time("2026-11-14T22:10:00Z")),
            command_line: Some("dotnet shop-api.dll --urls http://+:8080".to_owned()),
        },
        window: Window {
            started_at: time("2026-11-15T04:39:35Z"),
            requested_ns: 10 * SECOND,
            measured_ns: 10 * SECOND,
            end: WindowEnd::Completed,
        },
        outcome: None,
        summary: "24 threads, none of them blocked or busy.".to_owned(),
        findings: Vec::new(),
        sections: Vec::new(),
        notes: Vec::new(),
        cost: Cost {
            method: "read from /proc; nothing sent to the target".to_owned(),
            host: HostCost { cpu_ns: 12_300_000, peak_memory_bytes: 8_400_000 },
            ..Cost::default()
        },
    }
}

/// A report with every kind of body, several findings and a window the user ended.
pub fn full() -> Report {
    let mut report = healthy();
    report.window.measured_ns = 3_200_000_000;
    report.window.end = WindowEnd::Cancelled;
    report.summary =
        "Two threads wait for each other, 18 more wait behind them, and the thread pool is empty: \
                      the service answers no request."
            .to_owned();
    report.findings = findings();
    report.sections = vec![
        Section::new("threads", "Busiest threads", Body::Table(threads())),
        Section::new("calls", "Where the time goes", Body::Tree(calls())),
        Section::new("stacks", "Blocked stacks", Body::Stacks(stacks())),
        Section::new("heap", "Memory and load", Body::Series(series())),
        Section::new("collections", "Collections", Body::Table(collections())),
        Section::new(
            "crashed",
            "Threads that ended",
            Body::Table(Table::new([Column::new("id", "ID", Unit::Id)])),
        ),
    ];
    report.notes = vec![
        "Names of 3 native frames are missing: libshopcrypto.so was stripped.".to_owned(),
        "The window was cut short, so rare events are likely to be missing from this report; measure again for 10 s \
         or longer before you rule something out."
            .to_owned(),
    ];
    report.cost = Cost {
        method: "16 stack snapshots over the diagnostics socket".to_owned(),
        pauses: Pauses { count: 16, total_ns: 48_000_000, longest_ns: 5_100_000 },
        target_cpu_ns: Some(61_000_000),
        bytes: 4_321_000,
        events: 123_456,
        events_lost: 12,
        host: HostCost { cpu_ns: 212_000_000, peak_memory_bytes: 38_400_000 },
    };
    report
}

fn findings() -> Vec<Finding> {
    vec![
        Finding::new(
            "deadlock",
            Severity::Critical,
            Confidence::High,
            "Two threads wait for each other and will never go on",
        )
        .culprit(Culprit {
            kind: CulpritKind::Method,
            name: "Shop.Orders.OrderBook.Transfer(Account from, Account to)".to_owned(),
            file: Some("/src/Shop.Orders/OrderBook.cs".to_owned()),
            line: Some(42),
        })
        .evidence("Thread 17", "owns Account#1, waits for Account#2 for 3 m 20 s")
        .evidence("Thread 23", "owns Account#2, waits for Account#1 for 3 m 20 s")
        .evidence("Waiting behind", "18 threads")
        .advice("Take the two locks in one order everywhere, for example by account number.")
        .advice("Until then restart the process: a deadlock does not resolve itself."),
        Finding::new(
            "thread-pool-starved",
            Severity::Warning,
            Confidence::Medium,
            "The thread pool has no free thread, and 214 work items have been queued for up to 3 m 18 s",
        )
        .culprit(Culprit::new(CulpritKind::Method, "System.Threading.Tasks.Task.Wait()"))
        .evidence("Pool threads", "20 of 20 blocked")
        .advice("Await the task instead of calling Wait() or Result."),
        Finding::new("few-cores", Severity::Info, Confidence::Low, "The container may use 2 of 16 cores")
            .culprit(Culprit::new(CulpritKind::Setting, "cpu.max"))
            .evidence("cpu.max", "200000 100000"),
    ]
}

fn threads() -> Table {
    let mut table = Table::new([
        Column::new("id", "ID", Unit::Id),
        Column::new("name", "Name", Unit::Text),
        Column::new("cpu", "CPU", Unit::Nanoseconds),
        Column::new("share", "Share", Unit::Percent),
        Column::new("switches", "Switches", Unit::Count),
        Column::new("allocated", "Allocated", Unit::Bytes),
        Column::new("top", "Innermost method", Unit::Text),
    ]);
    for (id, name, cpu, share, switches, allocated, top) in [
        (
            4250u32,
            ".NET TP Worker",
            2_950_000_000u64,
            92.2,
            1_234_567u64,
            Some(1_234_567_890u64),
            "Shop.Pricing.Rules.RuleEngine.Evaluate",
        ),
        (4251, ".NET TP Worker", 201_000_000, 6.3, 20_412, Some(45_600_000), "System.Threading.Monitor.Wait"),
        (4243, ".NET SigHandler", 40_000, 0.01, 3, None, "read"),
        (4242, "shop-api", 0, 0.0, 0, None, "-"),
    ] {
        table.push([
            Cell::from(id),
            Cell::from(name),
            Cell::from(cpu),
            Cell::from(share),
            Cell::from(switches),
            Cell::from(allocated),
            Cell::from(top),
        ]);
    }
    table.omitted_rows = 20;
    table
}

fn collections() -> Table {
    let mut table = Table::new([
        Column::new("at", "At", Unit::Time),
        Column::new("kind", "Kind", Unit::Text),
        Column::new("pause", "Pause", Unit::Nanoseconds),
    ]);
    table.push([
        Cell::from("2026-11-15T04:39:36.123Z"),
        Cell::from("generation 2"),
        Cell::from(12_345_678u64),
    ]);
    table.push([Cell::from("2026-11-15T04:39:37Z"), Cell::from("generation 0"), Cell::Missing]);
    table
}

fn node(label: &str, share: f64, cpu: u64, children: Vec<Node>) -> Node {
    Node { label: label.to_owned(), values: vec![Cell::from(share), Cell::from(cpu)], children }
}

fn calls() -> Tree {
    let mut deep = node(
        "System.Text.RegularExpressions.RegexInterpreter.TryMatchAtCurrentPosition",
        30.0,
        960_000_000,
        vec![],
    );
    for level in (1..14).rev() {
        deep = node(
            &format!("Shop.Pricing.Rules.Expression.Visit(Node level{level})"),
            30.0,
            960_000_000,
            vec![deep],
        );
    }
    let engine = node(
        "Shop.Pricing.Rules.RuleEngine.Evaluate(Rule)",
        92.2,
        2_950_000_000,
        vec![deep, node("Shop.Pricing.Rules.Cache.Get", 12.5, 400_000_000, vec![])],
    );
    let main = node(
        "Shop.Api.Program.Main",
        98.4,
        3_150_000_000,
        vec![
            engine,
            node(
                "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequests",
                6.2,
                198_000_000,
                vec![],
            ),
        ],
    );
    Tree {
        columns: vec![
            Column::new("share", "Share", Unit::Percent),
            Column::new("cpu", "CPU", Unit::Nanoseconds),
        ],
        roots: vec![main, node("[runtime] background GC", 1.6, 51_000_000, vec![])],
    }
}

fn frame(kind: FrameKind, module: Option<&str>, name: &str, place: Option<(&str, u32)>) -> Frame {
    Frame {
        kind,
        name: name.to_owned(),
        module: module.map(str::to_owned),
        file: place.map(|(file, _)| file.to_owned()),
        line: place.map(|(_, line)| line),
    }
}

fn stacks() -> Stacks {
    let blocked = vec![
        frame(FrameKind::Kernel, None, "futex_wait", None),
        frame(FrameKind::Runtime, Some("libcoreclr.so"), "CLREvent::Wait", None),
        frame(
            FrameKind::Managed,
            Some("System.Private.CoreLib"),
            "System.Threading.Monitor.Enter(Object)",
            None,
        ),
        frame(
            FrameKind::Managed,
            Some("Shop.Orders"),
            "Shop.Orders.OrderBook.Transfer(Account from, Account to)",
            Some(("/src/Shop.Orders/OrderBook.cs", 42)),
        ),
        frame(
            FrameKind::Managed,
            Some("Shop.Api"),
            "Shop.Api.Controllers.AccountTransferController.PostTransferAsync(TransferRequest request)",
            Some((r"C:\build\Shop.Api\Controllers\AccountTransferController.cs", 118)),
        ),
    ];
    let mut long: Vec<Frame> = (0..40)
        .map(|level| frame(FrameKind::Managed, Some("Shop.Api"), &format!("Middleware{level}.Invoke"), None))
        .collect();
    long.insert(0, frame(FrameKind::Stub, None, "InlinedCallFrame", None));
    Stacks {
        unit: Unit::Count,
        stacks: vec![
            Stack {
                weight: 1_204,
                threads: (0..6).map(|index| format!(".NET TP Worker {}", 4250 + index)).collect(),
                frames: blocked,
            },
            Stack { weight: 3, threads: vec!["4242".to_owned()], frames: long },
        ],
    }
}

fn series() -> Series {
    let line = |label: &str, value: &dyn Fn(f64) -> f64| Line {
        label: label.to_owned(),
        points: (0..64u32)
            .map(|step| Point { at_ns: u64::from(step) * 50_000_000, value: value(f64::from(step)) })
            .collect(),
    };
    Series {
        unit: Unit::Bytes,
        lines: vec![
            line("GC heap", &|step| 40e6 + step * 1.2e6 - (step % 16.0) * 0.9e6),
            line("Resident memory", &|step| 180e6 + step.sqrt() * 9e6),
            line("Pinned", &|_| 65_536.0),
        ],
    }
}

/// Strings that try to leave their place, one trick each.
pub fn tricks() -> Vec<String> {
    [
        "\u{1b}[2J\u{1b}[31mred\u{1b}]0;title\u{7}",
        "\u{1b}]8;;http://evil.example/\u{1b}\\link\u{1b}]8;;\u{1b}\\",
        "\u{9b}31m\u{90}q\u{7f}\u{8}\u{8}",
        "<script>alert(1)</script>",
        "</style></title><img src=x onerror=alert(1)>",
        "\"><svg onload='alert(1)'>&lt;&#60;",
        "[click](http://evil.example/) ![x](https://evil.example/x.png)",
        "a | b || c \\| d \\",
        "`code` ``` **bold** _it_ ~~gone~~ <!-- hidden",
        "www.evil.example http://evil.example me@evil.example @admin #1",
        "user\u{202e}txt.exe\u{2066}\u{200f}\u{61c}",
        "zero\u{200b}width\u{feff}\u{e0041}",
        "line one\nline two\r\n# heading\n\n| a | b |\n| - | - |",
        "para\u{2028}graph\u{2029}tab\tend",
        "注文の処理スレッド 🦀🚀 👩\u{200d}💻",
        "Z\u{351}\u{352}\u{353}\u{354}\u{355}\u{356}algo",
        "    - indented\n1. item",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(["Very.Long.".repeat(300)])
    .collect()
}

/// A report in which every string of the target is one of `names`, in turn.
pub fn named_by(names: &[String]) -> Report {
    let mut turn = names.iter().cycle();
    let mut next = move || turn.next().cloned().unwrap_or_default();
    let mut report = full();
    report.profiler.name = next();
    report.profiler.question = next();
    report.profiler.parameters = BTreeMap::from([(next(), next())]);
    report.target.name = next();
    report.target.runtime_version = Some(next());
    report.target.architecture = Some(next());
    report.target.command_line = Some(next());
    report.summary = next();
    report.notes = (0..names.len()).map(|_| next()).collect();
    report.cost.method = next();
    report.findings = names
        .iter()
        .map(|name| {
            let culprit =
                Culprit { kind: CulpritKind::Type, name: next(), file: Some(next()), line: Some(7) };
            Finding::new(next(), Severity::Warning, Confidence::Low, name.clone())
                .culprit(culprit)
                .evidence(next(), next())
                .advice(next())
        })
        .collect();
    let columns = || [Unit::Text, Unit::Count, Unit::Time].map(|unit| Column::new("column", &names[0], unit));
    let mut table = Table::new(columns());
    names
        .iter()
        .for_each(|name| table.push([Cell::from(name.clone()), Cell::from(next()), Cell::from(next())]));
    let mut tree = Tree { columns: columns().to_vec(), roots: Vec::new() };
    for name in names {
        let values = || vec![Cell::from(name.clone()), Cell::Number(5), Cell::Missing];
        let child = Node { label: next(), values: values(), children: Vec::new() };
        tree.roots.push(Node { label: name.clone(), values: values(), children: vec![child] });
    }
    let frames = |name: &str| {
        vec![
            frame(FrameKind::Managed, Some(name), name, Some((name, 1))),
            frame(FrameKind::Native, None, name, None),
        ]
    };
    let stacks = names.iter().map(|name| Stack {
        weight: 1,
        threads: vec![name.clone(), next()],
        frames: frames(name),
    });
    let stacks = Stacks { unit: Unit::Count, stacks: stacks.collect() };
    let lines =
        names.iter().map(|name| Line { label: name.clone(), points: vec![Point { at_ns: 0, value: 1.0 }] });
    let series = Series { unit: Unit::Bytes, lines: lines.collect() };
    let bodies = [Body::Table(table), Body::Tree(tree), Body::Stacks(stacks), Body::Series(series)];
    report.sections = bodies.into_iter().map(|body| Section::new("section", &next(), body)).collect();
    report
}

/// A report whose every string is a trick.
pub fn hostile() -> Report {
    named_by(&tricks())
}
