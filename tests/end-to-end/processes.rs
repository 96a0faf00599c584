//! `ps --json` and `info`.

use testbed::{Namespaces, Runtime, shared};

use crate::support::{User, eventually, skip, start_named};

#[test]
fn all_four_runtimes_are_listed_at_once_and_one_of_them_is_in_a_container() {
    let user = User::new();
    let old = shared().target("healthy-idle-service", Runtime::Net31).start().unwrap();
    let mut contained = shared().target("healthy-idle-service", Runtime::Net8);
    let is_contained = match Namespaces::available() {
        Ok(()) => true,
        Err(reason) => {
            skip(&format!("one in a container: {reason}"));
            false
        }
    };
    if is_contained {
        contained = contained.namespaces(Namespaces::PidAndMount { private_tmp: true });
    }
    let contained = contained.start().unwrap();
    let main = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let stranger = shared().stranger().start().unwrap();

    let pids = [old.pid(), contained.pid(), main.pid(), stranger.pid()];
    // On a busy machine one of them may miss the second that a list gives it.
    let list = eventually("all four answer", || {
        let said = user.says(&["ps", "--json"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        let list = said.json();
        let is_ready = |pid: &u32| {
            let rows = list["processes"].as_array();
            rows.is_some_and(|rows| rows.iter().any(|row| row["pid"] == *pid && row["status"] == "ready"))
        };
        pids.iter().all(is_ready).then_some(list)
    });
    assert_eq!(list["schema"], "drdotnet.ps/1");
    let row = |pid: u32| {
        let rows = list["processes"].as_array().unwrap();
        rows.iter().find(|row| row["pid"] == pid).unwrap_or_else(|| panic!("{pid} is not in {list:#}"))
    };
    for (pid, name, version) in [
        (old.pid(), "Patients", "3.1."),
        (contained.pid(), "", "8."),
        (main.pid(), "Patients", "9."),
        (stranger.pid(), "azmcp", "10."),
    ] {
        let row = row(pid);
        assert!(row["runtime_version"].as_str().unwrap().starts_with(version), "{row:#}");
        assert!(name.is_empty() || row["name"] == name, "{row:#}");
        assert_eq!(row["status"], "ready", "{row:#}");
        assert_eq!(row["architecture"], "x64", "{row:#}");
        assert_eq!(row["user_id"], rustix::process::geteuid().as_raw(), "{row:#}");
        assert!(row["uptime_seconds"].as_f64().unwrap() > 0.0, "{row:#}");
        assert!(row["memory_bytes"].as_u64().unwrap() > 1_000_000, "{row:#}");
        assert!(row["threads"].as_u64().unwrap() > 3, "{row:#}");
        assert!(row["cpu_percent_of_lifetime"].is_number(), "{row:#}");
        assert!(row["socket"].as_str().unwrap().contains("dotnet-diagnostic-"), "{row:#}");
    }
    assert!(row(main.pid())["command_line"].as_str().unwrap().ends_with("healthy-idle-service"));
    if is_contained {
        let row = row(contained.pid());
        assert_eq!(row["pid_in_namespace"], 1, "{row:#}");
        assert!(row["container"].is_string(), "{row:#}");
    }
}

#[test]
fn a_process_is_described_on_every_runtime() {
    let user = User::new();
    let mut targets: Vec<_> =
        Runtime::ALL.map(|runtime| shared().target("healthy-idle-service", runtime).start().unwrap()).into();
    targets.push(shared().stranger().start().unwrap());
    for target in &targets {
        let pid = target.pid().to_string();
        let said = user.says(&["info", "-p", &pid, "--json"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        let description = said.json();
        assert_eq!(description["schema"], "drdotnet.info/1");
        assert_eq!(description["process"]["pid"], target.pid());
        let version = description["process"]["runtime_version"].as_str().unwrap();
        assert!(version.starts_with(&format!("{}.", target.runtime())), "{version}");
        assert!(description["environment"]["PATH"].is_string(), "{description:#}");
        let access = description["access"].as_array().unwrap();
        let runtime = access.iter().find(|row| row["id"] == "runtime-events").unwrap();
        assert_eq!(runtime["ability"], "yes", "{description:#}");

        let said = user.says(&["info", "-p", &pid]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        for expected in
            [&format!("Process       {pid} "), &format!("Runtime       .NET {version}\n"), "\n  yes     "]
        {
            assert!(said.stdout.contains(expected), "{expected}: {}", said.stdout);
        }
        assert!(said.stdout.contains("\n  PATH"), "{}", said.stdout);
    }
}

#[test]
fn secrets_in_the_environment_are_hidden_unless_asked_for() {
    let user = User::new();
    let target = shared()
        .target("healthy-idle-service", Runtime::Net9)
        .env("SHOP_DB_PASSWORD", "hunter2")
        .env("QUEUE", "amqp://shop:hunter2@queue/")
        .env("SHOP_COLOUR", "green")
        .start()
        .unwrap();
    let pid = target.pid().to_string();
    for arguments in [vec!["info", "-p", &pid], vec!["info", "-p", &pid, "--json"]] {
        let hidden = user.says(&arguments).stdout;
        assert!(!hidden.contains("hunter2"), "{hidden}");
        assert!(hidden.contains("SHOP_DB_PASSWORD") && hidden.contains("green"), "{hidden}");
        let shown = user.says(&[&arguments[..], &["--show-secrets"]].concat()).stdout;
        assert_eq!(shown.matches("hunter2").count(), 2, "{shown}");
    }
}

#[test]
fn a_process_is_found_by_a_name_that_only_it_has() {
    let user = User::new();
    let name = format!("shop-{}", std::process::id());
    let program = start_named(&user, &name, &shared().stranger().command().unwrap());
    let said = eventually("the program is found by its name", || {
        let said = user.says(&["info", "-n", &name.to_uppercase(), "--json"]);
        (said.code == Some(0)).then_some(said)
    });
    assert_eq!(said.json()["process"]["pid"], program.pid());
    assert_eq!(said.json()["process"]["name"], "azmcp");
}

#[test]
fn a_bare_pid_or_name_is_enough() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    assert_eq!(user.says(&["info", &pid, "--json"]).json()["process"]["pid"], target.pid());
    let run = user.says(&["run", "threads", &pid, "-d", "0.1", "--json"]);
    assert_eq!(run.report().target.pid.0, target.pid());
    let nobody = user.says(&["info", "no-such-name-anywhere"]);
    assert_eq!(nobody.code, Some(14), "{}", nobody.stderr);
}
