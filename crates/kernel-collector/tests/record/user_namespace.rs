//! A target in user, pid and mount namespaces of its own, as containers without root have.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use kernel_collector::Request;
use model::ProcessId;
use perf_sampler::Collect;
use testbed::{Namespaces, Runtime};

use crate::{found, of, record_until, share};

/// `unshare`, which takes everything inside with it when it is killed.
struct Outer(Child);

impl Drop for Outer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_target_in_a_user_namespace_is_named_too() {
    if let Err(error) = Namespaces::available() {
        eprintln!("skipped: {error}");
        return;
    }
    let own = tempfile::tempdir().expect("a temp folder");
    let line = testbed::shared().target("hot-method", Runtime::Net9).tmpdir(own.path()).command();
    let line = line.expect("the patient is there");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]);
    command.arg("--").args(line.words());
    line.apply_environment(&mut command);
    let mut outer = Outer(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts"));
    let said = BufReader::new(outer.0.stdout.take().expect("its output"));
    if !said.lines().any(|line| line.is_ok_and(|line| line == "ready")) {
        eprintln!("skipped: this kernel gives no user namespaces");
        return;
    }
    let children = format!("/proc/{0}/task/{0}/children", outer.0.id());
    let children = std::fs::read_to_string(children).expect("the kernel tells of children");
    let pid: ProcessId = children.trim().parse().expect("one child");

    let mut request = Request::new(vec![found(pid)], Collect::Both);
    request.sampling.rate_hz = 499;
    let recorded = record_until(request, |so_far| so_far.counts().on_cpu >= 200);
    let process = of(&recorded, pid);
    assert_eq!(process.naming.failure, None);
    let quality = process.profiles.quality;
    assert!(share(&process.profiles.on_cpu, "Pricing.DiscountBook.FindBest") > 50.0);
    assert!(quality.named_percent() >= 99.0, "{quality:?}");
    assert!(quality.running_complete_percent() >= 98.0, "{quality:?}");
    assert!(quality.waits.complete_percent() >= 97.0, "{quality:?}");
}
