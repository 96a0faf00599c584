//! What was typed, checked; nothing has been touched yet.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kernel_collector::{Request, Target};
use model::{ProcessId, parse_duration};
use perf_sampler::Children;
use profilers::Settings;
use profilers::kernel::{self, Picture};

use super::files::FileKind;
use crate::args::kernel::{CpuArgs, OffCpuArgs, RecordingArgs};
use crate::commands::keeping;
use crate::explain::Failure;
use crate::redaction;

/// What was typed, checked.
pub struct Plan {
    /// Which time of threads.
    pub picture: Picture,
    /// Of the profiler whose report it will be.
    pub settings: Settings,
    /// As typed, for the profiler that stands in when the kernel refuses.
    typed: Vec<String>,
    pub duration: Duration,
    pub children: Children,
    pub files: Vec<FileKind>,
    output: Option<PathBuf>,
    pub json: bool,
}

impl Plan {
    pub fn cpu(args: &CpuArgs) -> Result<Plan, Failure> {
        let mut options = vec![format!("rate={}", args.rate)];
        let picture = if args.with_off_cpu {
            options.push("off-cpu=show".to_owned());
            Picture::Both
        } else {
            Picture::Cpu
        };
        Plan::new(picture, options, &args.duration, &args.recording)
    }

    pub fn off_cpu(args: &OffCpuArgs) -> Result<Plan, Failure> {
        Plan::new(Picture::OffCpu, Vec::new(), &args.duration, &args.recording)
    }

    fn new(
        picture: Picture,
        options: Vec<String>,
        duration: &str,
        args: &RecordingArgs,
    ) -> Result<Plan, Failure> {
        keeping::check_folder(args.output.as_deref())?;
        let mut typed = options;
        if args.no_kernel {
            typed.push("kernel=hide".to_owned());
        }
        // What is set by name counts more than an option, which may be a default.
        typed.extend(args.settings.iter().cloned());
        let settings = Settings::new(picture.spec(), typed.iter().map(String::as_str))?
            .with_redaction(redaction::chosen());
        let picture = match settings.choice("off-cpu") {
            "show" if picture == Picture::Cpu => Picture::Both,
            _ => picture,
        };
        Ok(Plan {
            picture,
            settings,
            typed,
            duration: parse_duration(duration)?,
            children: if args.children { Children::Followed } else { Children::Ignored },
            files: FileKind::list(args.format.as_deref())?,
            output: args.output.clone(),
            json: args.json,
        })
    }

    /// What to record.
    pub fn request(&self, targets: Vec<Target>) -> Request {
        let mut request = kernel::request(self.picture, targets, &self.settings);
        request.sampling.children = self.children;
        request
    }

    /// Settings for another profiler, as far as it knows them.
    pub fn settings_for(&self, spec: &'static profilers::Spec) -> Result<Settings, Failure> {
        let knows = |text: &&String| Settings::new(spec, [text.as_str()]).is_ok();
        let settings = Settings::new(spec, self.typed.iter().filter(knows).map(String::as_str))?;
        Ok(settings.with_redaction(redaction::chosen()))
    }

    /// The folder for the session of a process, if one was chosen. Where there may be several, each has its own in it.
    pub fn folder(&self, pid: ProcessId, amount: Amount) -> Option<PathBuf> {
        self.output.as_ref().map(|folder| match amount {
            Amount::One => folder.clone(),
            Amount::Several => folder.join(pid.to_string()),
        })
    }

    /// The folder that was chosen.
    pub fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }
}

/// How many processes may be in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    One,
    Several,
}
