//! Describing a target before it is started.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::compile::config_name;
use crate::environment::{self, Changes};
use crate::error::TestbedError;
use crate::namespaces::Namespaces;
use crate::open_to_others;
use crate::patient;
use crate::runtime::Runtime;
use crate::target::Target;
use crate::testbed::{Host, Testbed};
use crate::watching;

/// How long a target has until it must be ready. A busy machine may start ten runtimes at once.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// What is to be started.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    Patient { id: String, runtime: Runtime },
    Stranger,
}

impl Subject {
    pub(crate) fn runtime(&self) -> Runtime {
        match self {
            Subject::Patient { runtime, .. } => *runtime,
            Subject::Stranger => Runtime::Net10,
        }
    }

    /// For error messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Subject::Patient { id, runtime } => format!("{id} on .NET {runtime}"),
            Subject::Stranger => "the stranger on .NET 10".to_owned(),
        }
    }
}

/// A command line with its environment, for tests that let something else start the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program to start.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables to set.
    pub env: Vec<(OsString, OsString)>,
    /// Variables of our own environment that the target must not see.
    pub env_removed: Vec<OsString>,
    /// The folder to start in, if not our own.
    pub working_dir: Option<PathBuf>,
}

impl CommandLine {
    /// Program and arguments in one list, as they follow `--` on another command line.
    pub fn words(&self) -> Vec<OsString> {
        std::iter::once(self.program.clone().into_os_string()).chain(self.args.iter().cloned()).collect()
    }

    /// A command that starts the target as described.
    pub fn to_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        self.apply_environment(&mut command);
        command
    }

    /// Gives another command the target's environment and folder, for a program that starts [`CommandLine::words`].
    pub fn apply_environment(&self, command: &mut Command) {
        for name in &self.env_removed {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.working_dir {
            command.current_dir(folder);
        }
    }
}

/// A target that is not started yet. Made by [`Testbed::target`] and [`Testbed::stranger`].
#[derive(Debug, Clone)]
#[must_use = "a target runs only after `start`"]
pub struct TargetBuilder<'a> {
    testbed: &'a Testbed,
    pub(crate) subject: Subject,
    args: Vec<OsString>,
    before: Vec<OsString>,
    env: Changes,
    working_dir: Option<PathBuf>,
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) ready_within: Duration,
    pub(crate) user: Option<(u32, u32)>,
}

impl<'a> TargetBuilder<'a> {
    pub(crate) fn new(testbed: &'a Testbed, subject: Subject) -> TargetBuilder<'a> {
        TargetBuilder {
            testbed,
            subject,
            args: Vec::new(),
            before: Vec::new(),
            env: Changes::new(),
            working_dir: None,
            namespaces: None,
            ready_within: READY_WITHIN,
            user: None,
        }
    }

    /// Adds an argument: `key=value` for a patient.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Starts the target by another program, which must become it: `taskset -c 0`, `sh -c 'ulimit -n 99; exec "$@"' sh`.
    pub fn behind(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.before = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    /// Sets a variable of the target's environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.insert(name.as_ref().to_owned(), Some(value.as_ref().to_owned()));
        self
    }

    /// Removes a variable of the target's environment.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.insert(name.as_ref().to_owned(), None);
        self
    }

    /// Sets `TMPDIR`, the folder where the runtime puts its diagnostics socket.
    pub fn tmpdir(self, folder: impl AsRef<Path>) -> Self {
        self.env("TMPDIR", folder.as_ref())
    }

    /// Starts the target in another folder.
    pub fn working_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.working_dir = Some(folder.as_ref().to_owned());
        self
    }

    /// Gives the target namespaces of its own. Needs root.
    pub fn namespaces(mut self, namespaces: Namespaces) -> Self {
        self.namespaces = Some(namespaces);
        self
    }

    /// How long [`TargetBuilder::start`] waits until the target is ready; 60 seconds unless told.
    pub fn ready_within(mut self, time: Duration) -> Self {
        self.ready_within = time;
        self
    }

    /// Starts the target as another user. Needs root.
    ///
    /// If that user cannot enter the cache folder, the target runs from links to it in `/var/tmp`.
    pub fn user(mut self, user: u32, group: u32) -> Self {
        self.user = Some((user, group));
        self
    }

    /// Prepares what is missing, starts the target and waits until it is ready.
    pub fn start(self) -> Result<Target, TestbedError> {
        let command = self.admitted()?;
        let target = Target::spawn(&self, &command)?;
        target.wait_ready(self.ready_within)
    }

    /// Like [`TargetBuilder::start`] without the wait, for a target that is told to suspend at its start.
    pub fn start_without_waiting(self) -> Result<Target, TestbedError> {
        let command = self.admitted()?;
        Target::spawn(&self, &command)
    }

    /// The command line, for a test that has said that it starts programs.
    fn admitted(&self) -> Result<CommandLine, TestbedError> {
        if self.testbed.is_for_tests() {
            watching::admit();
        }
        self.command()
    }

    /// Prepares what is missing and returns the command line, without user and namespaces.
    pub fn command(&self) -> Result<CommandLine, TestbedError> {
        self.testbed.ended_if_unusable(self.command_line())
    }

    fn command_line(&self) -> Result<CommandLine, TestbedError> {
        let mut changes = environment::changes();
        if self.namespaces.is_some_and(Namespaces::has_private_tmp) {
            // Our own TMPDIR would lead past the private folder.
            changes.insert("TMPDIR".into(), None);
        }
        let (program, mut args) = match &self.subject {
            Subject::Patient { id, runtime } => self.patient_command(id, *runtime, &mut changes)?,
            Subject::Stranger => {
                changes.insert("AZURE_MCP_COLLECT_TELEMETRY".into(), Some("false".into()));
                let program = self.reachable(self.testbed.stranger_program()?)?;
                (program, vec!["server".into(), "start".into()])
            }
        };
        if !changes.contains_key(OsStr::new("PATIENT")) {
            args.extend(self.args.iter().cloned());
        }
        changes.extend(self.env.clone());

        let mut words = self.before.iter().cloned().chain([program.into_os_string()]).chain(args);
        let mut command = CommandLine {
            program: words.next().unwrap_or_default().into(),
            args: words.collect(),
            env: Vec::new(),
            env_removed: Vec::new(),
            working_dir: self.working_dir.clone(),
        };
        for (name, value) in changes {
            match value {
                Some(value) => command.env.push((name, value)),
                None => command.env_removed.push(name),
            }
        }
        Ok(command)
    }

    fn patient_command(
        &self,
        id: &str,
        runtime: Runtime,
        changes: &mut Changes,
    ) -> Result<(PathBuf, Vec<OsString>), TestbedError> {
        let (holding, runtimes) = patient::together(id)?;
        if !runtimes.contains(&runtime) {
            return Err(TestbedError::RuntimeNotSupported {
                id: id.to_owned(),
                runtime,
                supported: runtimes.iter().map(|one| one.label()).collect::<Vec<_>>().join(", "),
            });
        }
        let host = self.testbed.host(runtime)?;
        let folder = self.reachable_folder(self.testbed.assembly(holding)?)?;
        let assembly = folder.join(holding.file_name());
        Ok(match host {
            Host::Dotnet(dotnet) => {
                let config = folder.join(config_name(runtime));
                let words: [&OsStr; 5] = [
                    "exec".as_ref(),
                    "--runtimeconfig".as_ref(),
                    config.as_ref(),
                    assembly.as_ref(),
                    id.as_ref(),
                ];
                (self.reachable(dotnet.program())?, words.map(OsString::from).to_vec())
            }
            Host::SingleFile(program) => {
                let mut words = OsString::from(id);
                for arg in &self.args {
                    words.push(" ");
                    words.push(arg);
                }
                changes.insert("DOTNET_STARTUP_HOOKS".into(), Some(assembly.into()));
                changes.insert("PATIENT".into(), Some(words));
                // Never reached: the hook does not return. It is there for the day it does.
                (self.reachable(program)?, vec!["--version".into()])
            }
        })
    }

    /// A program of the cache, or its double that the target's user can reach.
    fn reachable(&self, program: PathBuf) -> Result<PathBuf, TestbedError> {
        match (program.parent(), program.file_name()) {
            (Some(folder), Some(name)) => Ok(self.reachable_folder(folder.to_owned())?.join(name)),
            _ => Ok(program),
        }
    }

    fn reachable_folder(&self, folder: PathBuf) -> Result<PathBuf, TestbedError> {
        match self.user {
            Some(_) => open_to_others::reachable(self.testbed.cache(), &folder),
            None => Ok(folder),
        }
    }

    pub(crate) fn cache_dir(&self) -> &Path {
        self.testbed.cache_dir()
    }

    /// The folder where the target's runtime puts its socket, as seen from here; none if it cannot be seen.
    pub(crate) fn temporary_folder(&self, command: &CommandLine) -> Option<PathBuf> {
        if self.namespaces.is_some_and(Namespaces::has_private_tmp) {
            return None;
        }
        let set = command.env.iter().find(|(name, _)| name == "TMPDIR").map(|(_, value)| value.clone());
        let removed = command.env_removed.iter().any(|name| name == "TMPDIR");
        let value = set.or_else(|| if removed { None } else { env::var_os("TMPDIR") });
        Some(value.filter(|value| !value.is_empty()).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from))
    }
}
