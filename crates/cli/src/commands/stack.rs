//! `drdotnet stack`: the friendly door to the profiler `merged-stacks`.

use super::run;
use crate::args::stack::{StackAction, StackArgs, StackOptions};
use crate::args::{OneTarget, RunArgs, RunTarget};
use crate::explain::Failure;
use crate::screen::Screen;

/// Shows what every thread does right now.
pub fn stack(args: StackArgs, screen: &Screen) -> Result<(), Failure> {
    let StackOptions { target, idle, framework, native, threads, top, output, json } = match args.action {
        Some(StackAction::Report(options)) => options,
        None => args.options,
    };
    let OneTarget { process, process_id, name } = target;
    let shown = |name: &str, is: bool| is.then(|| format!("{name}=show"));
    let settings = [
        shown("idle", idle),
        shown("framework", framework),
        shown("native", native),
        shown("threads", threads),
        Some(format!("top={top}")),
    ];
    let run = RunArgs {
        profiler: "merged-stacks".to_owned(),
        target: RunTarget { process, process_id, name, command: Vec::new() },
        duration: None,
        settings: settings.into_iter().flatten().collect(),
        allow_pause: false,
        output,
        json,
    };
    run::run_with_trees(&run, screen)
}
