//! `drdotnet counters` on real programs.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use testbed::{Namespaces, Runtime, Target, shared};

use crate::support::{BINARY, Said, User, check_golden, eventually, said, send, skip, start};

const HEADER: &str = "Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n";

fn patient(id: &str, runtime: Runtime) -> Target {
    shared().target(id, runtime).start().expect("the target starts")
}

fn pid(target: &Target) -> String {
    target.pid().to_string()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The events of a file, which must be whole at every moment after its beginning.
fn events(path: &Path) -> Vec<Value> {
    let text = text(path);
    if text.is_empty() {
        return Vec::new();
    }
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    value["Events"].as_array().expect("a list").clone()
}

/// The error, with the process id and the folder of the test taken out.
fn error(said: &Said, user: &User, target: &Target) -> String {
    let (_, error) = said.stderr.split_once("error: ").unwrap_or_else(|| panic!("no error: {said:?}"));
    let error = error.replace(&format!("pid {}", target.pid()), "pid PID");
    let error = error.replace(user.folder().to_str().expect("a path"), "DIR");
    let words = error.split(' ').map(|word| if word.parse::<u64>().is_ok() { "N" } else { word });
    format!("exit code {}\nerror: {}", said.code.unwrap_or(-1), words.collect::<Vec<_>>().join(" "))
}

#[test]
fn csv_of_every_runtime_has_the_layout_that_scripts_know() {
    let user = User::new();
    let file = user.folder().join("out.csv");
    let targets = [
        (patient("allocation-pressure", Runtime::Net31), "Allocation Rate (B / 1 sec),Rate,"),
        (patient("allocation-pressure", Runtime::Net8), "Allocation Rate (B / 1 sec),Rate,"),
        (patient("allocation-pressure", Runtime::Net9), "dotnet.gc.heap.total_allocated (By / 1 sec),Rate,"),
        (shared().stranger().start().unwrap(), "dotnet.gc.heap.total_allocated (By / 1 sec),Rate,"),
    ];
    for (target, row) in targets {
        let run = user.starts(&["counters", "collect", "-p", &pid(&target), "-o", file.to_str().unwrap()]);
        eventually(row, || text(&file).contains(row).then_some(()));
        run.signal(Signal::INT);
        let said = run.ends();
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
        assert!(target.is_alive(), "{}", target.stderr_text());
        let text = text(&file);
        assert!(text.starts_with(HEADER) && text.ends_with('\n'), "{text}");
        assert!(text.lines().skip(1).all(|line| line.split(',').count() == 5), "{text}");
        assert!(text.lines().skip(1).all(|line| line.contains(",System.Runtime,")), "{text}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn sigterm_leaves_complete_json_and_so_does_a_kill() {
    let target = patient("healthy-metrics", Runtime::Net9);
    for signal in [Signal::TERM, Signal::KILL] {
        let user = User::new();
        // dotnet-counters adds the ending, and so do we.
        let (given, file) = (user.folder().join("out"), user.folder().join("out.json"));
        let arguments = [
            "counters",
            "collect",
            "-p",
            &pid(&target),
            "--format",
            "json",
            "--counters",
            "Box.Office",
            "-o",
        ];
        let run = user.starts(&[&arguments[..], &[given.to_str().unwrap()]].concat());
        eventually("two rounds", || (events(&file).len() > 30).then_some(()));
        run.signal(signal);
        let said = run.ends();
        assert_eq!(said.code, (signal == Signal::TERM).then_some(0), "{}", said.stderr);
        let all = events(&file);
        let prices = all.iter().filter(|event| event["name"] == "ticket.price (EUR)");
        let tags: Vec<&str> = prices.filter_map(|event| event["tags"].as_str()).collect();
        assert!(tags.contains(&"counter=0,Percentile=50"), "{tags:?}");
        let paid =
            |event: &&Value| event["tags"].as_str().is_some_and(|tags| tags.ends_with("later\u{1b}[31m"));
        let sold = all.iter().find(paid).expect("hostile tags are kept");
        assert_eq!((&sold["counterType"], &sold["meterTags"]), (&"Rate".into(), &"city=Gent".into()));
    }
}

#[test]
fn a_target_that_dies_leaves_a_complete_file_and_its_own_exit_code() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let user = User::new();
        let file = user.folder().join("out.json");
        let target = patient("healthy-idle-service", runtime);
        let run = user.starts(&[
            "counters",
            "collect",
            "-p",
            &pid(&target),
            "--format",
            "json",
            "-o",
            file.to_str().unwrap(),
        ]);
        eventually("values", || (events(&file).len() > 5).then_some(()));
        send(target.pid(), Signal::KILL);
        let said = run.ends();
        assert!(events(&file).len() > 5);
        check_golden("errors/counters-target-ended.txt", &error(&said, &user, &target));
    }
}

#[test]
fn a_target_that_stops_answering_leaves_a_complete_file_and_its_own_exit_code() {
    let user = User::new();
    let file = user.folder().join("out.csv");
    let target = patient("healthy-idle-service", Runtime::Net9);
    let run = user.starts(&["counters", "collect", "-p", &pid(&target), "-o", file.to_str().unwrap()]);
    eventually("values", || (text(&file).lines().count() > 5).then_some(()));
    send(target.pid(), Signal::STOP);
    run.signal(Signal::TERM);
    let said = run.ends();
    send(target.pid(), Signal::CONT);
    assert!(text(&file).ends_with('\n'));
    check_golden("errors/counters-no-answer.txt", &error(&said, &user, &target));
}

#[test]
fn several_processes_have_a_file_each_or_one_with_the_newest_values_of_all() {
    let user = User::new();
    let (old, new) = (patient("exception-storm", Runtime::Net31), patient("healthy-metrics", Runtime::Net9));
    let both = format!("{},{}", old.pid(), new.pid());
    let file = user.folder().join("out.csv");
    let run = user.starts(&["counters", "collect", "-p", &both, "-o", file.to_str().unwrap()]);
    let of = |target: &Target| user.folder().join(format!("out.{}.csv", target.pid()));
    eventually("values of both", || {
        let has = |target: &Target, name: &str| text(&of(target)).contains(name);
        (has(&old, "Exception Count (Count / 1 sec),Rate,") && has(&new, "dotnet.timer.count")).then_some(())
    });
    run.signal(Signal::TERM);
    let said = run.ends();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(!file.exists() && said.stderr.contains(of(&old).to_str().unwrap()), "{}", said.stderr);

    let file = user.folder().join("dotnet.prom");
    let counters = ["--counters", "System.Runtime,Box.Office", "--format", "prometheus"];
    let run = user.starts(
        &[&["counters", "collect", "-p", &both, "-o", file.to_str().unwrap()], &counters[..]].concat(),
    );
    let label = |target: &Target, process: &str| format!("{{process=\"{process}\",pid=\"{}\"", target.pid());
    let exceptions = format!("system_runtime_exception_count_total{}}} ", label(&old, "Patients"));
    let price = format!(
        "box_office_ticket_price{},city=\"Gent\",counter=\"1\",quantile=\"0.95\"}} ",
        label(&new, "Patients9")
    );
    eventually("the newest values of both", || {
        let text = text(&file);
        // Replaced in one step: whoever looks sees a whole one.
        assert!(text.is_empty() || text.ends_with('\n'), "{text}");
        (text.contains(&exceptions) && text.contains(&price)).then_some(())
    });
    send(old.pid(), Signal::KILL);
    let gone = format!("drdotnet_target_up{}}} 0\n", label(&old, "Patients"));
    eventually("one has gone, with its values", || {
        let text = text(&file);
        (text.contains(&gone) && !text.contains(&exceptions) && text.contains(&price)).then_some(())
    });
    run.signal(Signal::TERM);
    let said = run.ends();
    assert_eq!(said.code, Some(8), "{}", said.stderr);
    assert!(said.stderr.contains("has ended; the others go on\n"), "{}", said.stderr);
    assert!(
        user.folder()
            .read_dir()
            .unwrap()
            .flatten()
            .all(|file| !file.file_name().to_string_lossy().starts_with('.'))
    );
}

#[test]
fn what_cannot_be_asked_for_is_pointed_at() {
    let user = User::new();
    let target = patient("healthy-idle-service", Runtime::Net9);
    for (name, list) in [
        ("not-closed", "System.Runtime[cpu-usage"),
        ("no-provider", "System.Runtime,,Shop"),
        ("after-list", "System.Runtime[cpu-usage]x"),
    ] {
        let said = user.says(&["counters", "collect", "-p", &pid(&target), "--counters", list]);
        check_golden(
            &format!("errors/counters-{name}.txt"),
            &format!("exit code {}\n{}", said.code.unwrap(), said.stderr),
        );
    }
    let out = user.folder().join("out.csv");
    let said = user.says(&[
        "counters",
        "collect",
        "-p",
        &pid(&target),
        "--counters",
        "Shop.Api",
        "-d",
        "4",
        "-o",
        out.to_str().unwrap(),
    ]);
    assert_eq!(text(&out), HEADER);
    check_golden("errors/counters-none.txt", &error(&said, &user, &target));
    let said = user.says(&["counters", "collect", "-p", &pid(&target), "--refresh-interval", "10ms"]);
    assert_eq!(said.code, Some(12), "{}", said.stderr);
    let several = format!("{},{}", target.pid(), std::process::id());
    assert_ne!(user.says(&["counters", "collect", "-p", &several, "-o", "-"]).code, Some(0));
}

#[test]
fn meters_that_another_tool_has_with_other_settings_are_explained() {
    let user = User::new();
    let target = patient("healthy-metrics", Runtime::Net9);
    let out = user.folder().join("first.csv");
    let ask = |interval: &'static str, out: &Path| {
        let list = ["--counters", "Box.Office", "--refresh-interval", interval, "-d", "60"];
        let pid = pid(&target);
        user.starts(&[&["counters", "collect", "-p", &pid, "-o", out.to_str().unwrap()], &list[..]].concat())
    };
    let first = ask("1", &out);
    eventually("values", || (text(&out).lines().count() > 5).then_some(()));
    let second = ask("2", &user.folder().join("second.csv"));
    // Its first line is there when its session begins, and it says so when it is refused.
    eventually("the second has begun", || user.folder().join("second.csv").exists().then_some(()));
    let lines = text(&out).lines().count();
    eventually("the first goes on", || (text(&out).lines().count() > lines + 60).then_some(()));
    second.signal(Signal::TERM);
    check_golden("errors/counters-refused.txt", &error(&second.ends(), &user, &target));
    first.signal(Signal::TERM);
    assert_eq!(first.ends().code, Some(0));
}

#[test]
fn a_disk_that_fills_up_keeps_what_is_written() {
    if let Err(reason) = Namespaces::available() {
        return skip(&reason.to_string());
    }
    let user = User::new();
    let target = patient("healthy-metrics", Runtime::Net9);
    let (disk, copy) = (user.folder().join("disk"), user.folder().join("copy.json"));
    std::fs::create_dir(&disk).unwrap();
    let script = "mount -t tmpfs -o size=16k tmpfs \"$1\" && cd \"$1\" && copy=$2 && shift 2 && \"$@\"; \
                  code=$?; cp counter.json \"$copy\"; exit $code";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&disk).arg(&copy).arg(BINARY);
    command.args([
        "counters",
        "collect",
        "-p",
        &pid(&target),
        "--format",
        "json",
        "--counters",
        "Box.Office",
    ]);
    user.prepare(&mut command);
    let said = said(&mut command);
    assert!(events(&copy).len() > 10, "{said:?}");
    check_golden("errors/counters-disk-full.txt", &error(&said, &user, &target));
}

#[test]
fn a_program_is_started_counted_and_stopped() {
    let user = User::new();
    let out = user.folder().join("out.openmetrics");
    let line = shared().target("healthy-metrics", Runtime::Net9).command().unwrap();
    let mut command = user.command(&["counters", "collect", "-d", "4", "--format", "openmetrics"]);
    command.args(["--counters", "Box.Office", "-o"]).arg(&out).arg("--").args(line.words());
    line.apply_environment(&mut command);
    let said = said(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("stopped the program that was started for this\n"), "{}", said.stderr);
    let text = text(&out);
    assert!(text.contains("# TYPE box_office_tickets_sold counter\n") && text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn without_a_terminal_monitor_prints_a_block_per_interval() {
    let user = User::new();
    let target = patient("exception-storm", Runtime::Net8);
    let counters = ["--counters", "System.Runtime[exception-count]", "--showDeltas", "-d", "5"];
    let said = user.says(&[&["counters", "monitor", &pid(&target)], &counters[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let rows = said.stdout.matches("  Exception Count (count / 1 s)  ").count();
    assert!(rows >= 1 && said.stdout.contains("\n[System.Runtime]\n"), "{}", said.stdout);
    assert!(!said.stdout.contains('\u{1b}'), "{}", said.stdout);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let user = User::new();
    let target = patient("healthy-metrics", Runtime::Net9);
    for format in ["csv", "prometheus"] {
        let script =
            format!("'{BINARY}' counters collect -p {} --format {format} -o - | head -n 3", target.pid());
        let mut command = Command::new("sh");
        user.prepare(command.args(["-c", &script]));
        let said = start(&mut command).ends();
        assert_eq!(said.stdout.lines().count(), 3, "{said:?}");
        assert!(!said.stderr.contains("error"), "{}", said.stderr);
    }
}

#[test]
fn known_providers_are_listed() {
    let said = User::new().says(&["counters", "list"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    check_golden("counters-list.txt", &said.stdout);
}
