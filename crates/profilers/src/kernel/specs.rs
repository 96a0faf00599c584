//! What everybody may know of them.

use std::time::Duration;

use crate::profiler::{Engine, Pause, Spec};
use crate::{Kind, Parameter};

const TOP: Parameter = Parameter {
    name: "top",
    kind: Kind::Integer { min: 1, max: 10_000, default: 10 },
    help: "how many methods, paths, waits and threads to list at most",
};
const FRAMEWORK: Parameter = Parameter {
    name: "framework",
    kind: Kind::Choice { options: &["fold", "show"], default: "fold" },
    help: "whether the call tree shows the framework's inner methods",
};
const KERNEL: Parameter = Parameter {
    name: "kernel",
    kind: Kind::Choice { options: &["show", "hide"], default: "show" },
    help: "whether stacks go on into the kernel",
};
const IDLE: Parameter = Parameter {
    name: "idle",
    kind: Kind::Choice { options: &["fold", "show"], default: "fold" },
    help: "whether waits for work, for the next request or for a timer are listed",
};

pub(super) static CPU: Spec = Spec {
    id: "cpu",
    name: "CPU",
    question: "Which methods use the CPU, down into runtime and kernel?",
    engine: Engine::Kernel,
    parameters: &[
        TOP,
        Parameter {
            name: "hot",
            kind: Kind::Integer { min: 1, max: 100, default: 70 },
            help: "share of the CPU in per cent from which a method counts as hot",
        },
        FRAMEWORK,
        Parameter {
            name: "rate",
            kind: Kind::Integer { min: 1, max: 10_000, default: 99 },
            help: "samples per second of each running thread",
        },
        KERNEL,
        Parameter {
            name: "off-cpu",
            kind: Kind::Choice { options: &["leave-out", "show"], default: "leave-out" },
            help: "whether time without a processor is shown beside it",
        },
        IDLE,
    ],
    since: "3.1",
    pause: Pause::None,
    cost: "about 13 us for each sample; names of methods, once, in 0.05 to 0.5 s",
    duration: Duration::from_secs(10),
};

pub(super) static OFF_CPU: Spec = Spec {
    id: "off-cpu",
    name: "Off-CPU",
    question: "Where do threads wait, for what, and for how long?",
    engine: Engine::Kernel,
    parameters: &[TOP, FRAMEWORK, KERNEL, IDLE],
    since: "3.1",
    pause: Pause::None,
    cost: "a record per switch of threads, with a stack up to 2,000 times a second",
    duration: Duration::from_secs(10),
};
