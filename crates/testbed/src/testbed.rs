//! The testbed itself: which runtime comes from where.

use std::path::{Path, PathBuf};

use crate::builder::{Subject, TargetBuilder};
use crate::cache::Cache;
use crate::compile::Tools;
use crate::error::TestbedError;
use crate::installed::{Installed, Places};
use crate::inventory::{self, Inventory};
use crate::newer_compiler;
use crate::parts::Part;
use crate::patient::{Assembly, Patient, patients};
use crate::process_wide;
use crate::runtime::Runtime;

/// The .NET version inside [`Part::Net9Root`].
const FETCHED_NET9: &str = "9.0.7";

/// The .NET version inside [`Part::Net31Root`].
const FETCHED_NET31: &str = "3.1.23";

/// The .NET version inside [`Part::Net10Root`].
const FETCHED_NET10: &str = "10.0.12";

/// Runtimes, compiler and patients. Everything is prepared when it is first needed.
#[derive(Debug)]
pub struct Testbed {
    cache: Cache,
    installed: Vec<Installed>,
    on_failure: OnFailure,
}

/// What follows a failed preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    ReturnError,
    EndProcess,
}

/// A folder with a `dotnet` program and the version in it that we use.
#[derive(Debug, Clone)]
pub(crate) struct DotnetRoot {
    pub(crate) root: PathBuf,
    pub(crate) version: String,
}

impl DotnetRoot {
    pub(crate) fn program(&self) -> PathBuf {
        self.root.join("dotnet")
    }
}

impl From<&Installed> for DotnetRoot {
    fn from(found: &Installed) -> DotnetRoot {
        DotnetRoot { root: found.root.clone(), version: found.version.clone() }
    }
}

/// What starts the patients on one runtime.
#[derive(Debug, Clone)]
pub(crate) enum Host {
    /// `dotnet exec`
    Dotnet(DotnetRoot),
    /// A stranger's single-file program that loads the patients by a start-up hook.
    SingleFile(PathBuf),
}

impl Testbed {
    /// Looks at the environment and for installed runtimes. Fetches nothing yet.
    pub fn open() -> Result<Testbed, TestbedError> {
        let places = Places::from_environment();
        Ok(Testbed {
            cache: Cache::from_environment()?,
            installed: Runtime::ALL.into_iter().filter_map(|runtime| places.search(runtime)).collect(),
            on_failure: OnFailure::ReturnError,
        })
    }

    /// For [`crate::shared`]: a failed preparation ends the process.
    pub(crate) fn ending_the_process(mut self) -> Testbed {
        self.on_failure = OnFailure::EndProcess;
        self
    }

    /// Whether it is that of [`crate::shared`].
    pub(crate) fn is_for_tests(&self) -> bool {
        self.on_failure == OnFailure::EndProcess
    }

    /// Prepares what the patients of these runtimes need, so that later starts are quick.
    pub fn prepare(&self, runtimes: &[Runtime]) -> Result<(), TestbedError> {
        self.ended_if_unusable(runtimes.iter().try_for_each(|runtime| self.prepare_one(*runtime)))
    }

    /// Prepares everything: all runtimes, all patients and the stranger.
    pub fn prepare_all(&self) -> Result<(), TestbedError> {
        self.prepare(&Runtime::ALL)?;
        self.ended_if_unusable(Part::Stranger.prepare(&self.cache).map(drop))
    }

    /// All patients, see [`crate::patients`].
    pub fn patients(&self) -> &[Patient] {
        patients()
    }

    /// A patient that is to be started on `runtime`; or several in one process, their ids joined by `+`. They share the
    /// arguments, but for those that are given as `id.key=value`.
    pub fn target(&self, patient: &str, runtime: Runtime) -> TargetBuilder<'_> {
        TargetBuilder::new(self, Subject::Patient { id: patient.to_owned(), runtime })
    }

    /// A program in which nothing is ours: a trimmed, single-file ASP.NET Core server on .NET 10.
    pub fn stranger(&self) -> TargetBuilder<'_> {
        TargetBuilder::new(self, Subject::Stranger)
    }

    /// Where everything fetched and compiled is kept.
    pub fn cache_dir(&self) -> &Path {
        self.cache.folder()
    }

    /// What is there: each thing, where it comes from, and its size.
    pub fn describe(&self) -> Inventory {
        inventory::take(self)
    }

    fn prepare_one(&self, runtime: Runtime) -> Result<(), TestbedError> {
        self.host(runtime)?;
        for assembly in Assembly::ALL {
            if patients().iter().any(|one| one.assembly == assembly && one.runtimes.contains(&runtime)) {
                self.assembly(assembly)?;
            }
        }
        Ok(())
    }

    /// What starts patients on `runtime`.
    pub(crate) fn host(&self, runtime: Runtime) -> Result<Host, TestbedError> {
        match runtime {
            Runtime::Net31 => self.root(runtime, Part::Net31Root, FETCHED_NET31).map(Host::Dotnet),
            Runtime::Net9 => self.net9().map(Host::Dotnet),
            Runtime::Net10 => self.root(runtime, Part::Net10Root, FETCHED_NET10).map(Host::Dotnet),
            Runtime::Net8 => match self.installed(runtime) {
                Some(found) => Ok(Host::Dotnet(DotnetRoot::from(found))),
                None => Ok(Host::SingleFile(Part::Net8Host.prepare(&self.cache)?.join("Sarif.Multitool"))),
            },
        }
    }

    /// A `dotnet` root: the installed one, else the one that is fetched.
    fn root(&self, runtime: Runtime, part: Part, version: &str) -> Result<DotnetRoot, TestbedError> {
        match self.installed(runtime) {
            Some(found) => Ok(DotnetRoot::from(found)),
            None => Ok(DotnetRoot { root: part.prepare(&self.cache)?, version: version.to_owned() }),
        }
    }

    /// .NET 9, which runs the compiler, too.
    fn net9(&self) -> Result<DotnetRoot, TestbedError> {
        self.root(Runtime::Net9, Part::Net9Root, FETCHED_NET9)
    }

    /// The folder with the compiled assembly.
    pub(crate) fn assembly(&self, assembly: Assembly) -> Result<PathBuf, TestbedError> {
        // When it is compiled already, neither the compiler nor .NET 9 has to be there.
        if let Some(folder) = assembly.find(&self.cache, &self.net9_version()) {
            return Ok(folder);
        }
        let tools = Tools { compiler: Part::Compiler.prepare(&self.cache)?, net9: self.net9()? };
        let newer = match assembly {
            Assembly::Modern => {
                let assemblies = Part::Compiler12.prepare(&self.cache)?;
                Some(newer_compiler::prepare(&self.cache, &tools, &assemblies)?)
            }
            _ => None,
        };
        assembly.compile(&self.cache, &tools, newer.as_deref())
    }

    pub(crate) fn net9_version(&self) -> String {
        self.installed(Runtime::Net9).map_or_else(|| FETCHED_NET9.to_owned(), |found| found.version.clone())
    }

    /// The program of [`Testbed::stranger`].
    pub(crate) fn stranger_program(&self) -> Result<PathBuf, TestbedError> {
        Ok(Part::Stranger.prepare(&self.cache)?.join("azmcp"))
    }

    pub(crate) fn installed(&self, runtime: Runtime) -> Option<&Installed> {
        self.installed.iter().find(|found| found.runtime == runtime)
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Passes a result on, unless this is the testbed of a whole test process and no later test could do better.
    pub(crate) fn ended_if_unusable<T>(&self, result: Result<T, TestbedError>) -> Result<T, TestbedError> {
        match result {
            Err(error) if self.on_failure == OnFailure::EndProcess && error.is_preparation() => {
                process_wide::end_process(&error)
            }
            other => other,
        }
    }
}
