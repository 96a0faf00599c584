//! Compiling the patients. A folder named after the content's hash is the whole incremental build.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::cache::{Cache, Staging};
use crate::error::TestbedError;
use crate::fetch::hex;
use crate::parts::{CSC, REFERENCES};
use crate::patient::Assembly;
use crate::progress::say;
use crate::runtime::Runtime;
use crate::testbed::DotnetRoot;
use crate::{environment, packages, spawner};

/// Flags that all assemblies share. Overflow checks and the like stay at their defaults.
const FLAGS: &[&str] = &["-nologo", "-target:exe", "-optimize+", "-deterministic+", "-unsafe+"];

/// The framework that every program has.
pub(crate) const CORE: &str = "Microsoft.NETCore.App";
/// The one with ASP.NET Core.
const WEB: &str = "Microsoft.AspNetCore.App";

/// Compiled folders that are kept, newest first, so that switching between branches compiles nothing.
const FOLDERS_KEPT: usize = 8;

/// A folder used this recently is never removed: a target may run from it.
const RECENT: Duration = Duration::from_secs(6 * 60 * 60);

/// What the compiler needs.
pub(crate) struct Tools {
    /// The folder of the compiler package.
    pub(crate) compiler: PathBuf,
    /// .NET 9: it runs the compiler, and its assemblies are the references of what is compiled against it.
    pub(crate) net9: DotnetRoot,
}

impl Assembly {
    /// The file that the compiler writes.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Assembly::Portable => "Patients.dll",
            Assembly::Net9 => "Patients9.dll",
            Assembly::Aspnet => "PatientsAspnet.dll",
            Assembly::Modern => "PatientsModern.dll",
            Assembly::Embedded => "PatientsEmbedded.dll",
        }
    }

    fn folder_prefix(self) -> &'static str {
        match self {
            Assembly::Portable => "patients-",
            Assembly::Net9 => "patients9-",
            Assembly::Aspnet => "aspnet-",
            Assembly::Modern => "modern-",
            Assembly::Embedded => "embedded-",
        }
    }

    /// Where its symbols go.
    fn debug_flag(self) -> &'static str {
        match self {
            Assembly::Embedded => "-debug:embedded",
            _ => "-debug:portable",
        }
    }

    fn language_flag(self) -> &'static str {
        match self {
            Assembly::Modern => "-langversion:12.0",
            _ => "-langversion:8.0",
        }
    }

    /// The frameworks of .NET 9 that it is compiled against; none for what is compiled against 3.1.
    fn references_of_net9(self) -> &'static [&'static str] {
        match self {
            Assembly::Portable | Assembly::Embedded => &[],
            Assembly::Net9 | Assembly::Modern => &[CORE],
            Assembly::Aspnet => &[CORE, WEB],
        }
    }

    /// The compiled folder as it is, if these very sources were compiled before.
    pub(crate) fn find(self, cache: &Cache, net9_version: &str) -> Option<PathBuf> {
        let folder = cache.find(&self.folder_name(net9_version))?;
        // Only for the order in which old folders are removed, so a failure costs nothing.
        let _ = File::open(&folder).and_then(|folder| folder.set_modified(SystemTime::now()));
        Some(folder)
    }

    fn folder_name(self, net9_version: &str) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        };
        add(packages::COMPILER.sha256);
        if self == Assembly::Modern {
            add(packages::COMPILER12.sha256);
        }
        FLAGS.iter().for_each(|flag| add(flag));
        add(self.debug_flag());
        add(self.language_flag());
        if !self.references_of_net9().is_empty() {
            add(net9_version);
        }
        for (path, text) in self.sources() {
            add(path);
            add(text);
        }
        Runtime::ALL.iter().for_each(|runtime| add(&self.runtime_config(*runtime)));
        format!("{}{}", self.folder_prefix(), &hex(&hash.finalize())[..16])
    }

    /// The text of the `runtimeconfig.json` that starts this assembly on `runtime`, whatever its patch version.
    fn runtime_config(self, runtime: Runtime) -> String {
        let (major, minor) = runtime.major_minor();
        let framework = |name: &str| format!(r#"{{"name":"{name}","version":"{major}.{minor}.0"}}"#);
        let mut frameworks = vec![framework(CORE)];
        if self == Assembly::Aspnet {
            frameworks.push(framework(WEB));
        }
        format!(
            r#"{{"runtimeOptions":{{"tfm":"{}","rollForward":"LatestPatch","frameworks":[{}]}}}}"#,
            runtime.target_framework(),
            frameworks.join(",")
        )
    }

    /// Compiles the assembly, or finds it compiled, and returns its folder. `newer` is a compiler to take instead of that of the
    /// tools.
    pub(crate) fn compile(
        self,
        cache: &Cache,
        tools: &Tools,
        newer: Option<&Path>,
    ) -> Result<PathBuf, TestbedError> {
        let name = self.folder_name(&tools.net9.version);
        let folder = cache.prepare(&name, self.file_name(), |area| {
            cache.announce();
            say(&format!("compiling {}", self.file_name()));
            self.run_compiler(area, tools, newer)
        })?;
        remove_old_folders(cache, self.folder_prefix())?;
        Ok(folder)
    }

    fn run_compiler(self, area: &Staging, tools: &Tools, newer: Option<&Path>) -> Result<(), TestbedError> {
        let sources = area.scratch.join("patients");
        let mut response = String::new();
        let mut add =
            |flag: &str, value: &Path| response.push_str(&format!("{flag}\"{}\"\n", value.display()));
        for (path, text) in self.sources() {
            let file = sources.join(path);
            write(&file, text)?;
            add("", &file);
        }
        for reference in self.references(tools)? {
            add("-reference:", &reference);
        }
        add("-out:", &area.result.join(self.file_name()));
        // Symbol files must not depend on where the cache is: sources show as /patients/portable/X.cs.
        response.push_str(&format!("-pathmap:\"{}=/patients\"\n", sources.display()));
        if !self.references_of_net9().is_empty() {
            response.push_str("-nostdlib\n");
        }
        let flags = FLAGS.iter().copied().chain([self.debug_flag(), self.language_flag()]);
        flags.for_each(|flag| response.push_str(&format!("{flag}\n")));
        let compiler = newer.map_or_else(|| tools.compiler.join(CSC), Path::to_owned);
        tools.run(&compiler, &area.scratch, &response, self.file_name())?;
        for runtime in Runtime::ALL {
            write(&area.result.join(config_name(runtime)), &self.runtime_config(runtime))?;
        }
        Ok(())
    }

    fn references(self, tools: &Tools) -> Result<Vec<PathBuf>, TestbedError> {
        let names = self.references_of_net9();
        let mut folders: Vec<PathBuf> = names.iter().map(|name| tools.framework(name)).collect();
        if folders.is_empty() {
            folders.push(tools.compiler.join(REFERENCES));
        }
        assemblies_in(&folders)
    }
}

impl Tools {
    /// The folder with the assemblies of a framework of .NET 9.
    pub(crate) fn framework(&self, name: &str) -> PathBuf {
        self.net9.root.join("shared").join(name).join(&self.net9.version)
    }

    /// Runs a compiler with these lines as its arguments.
    pub(crate) fn run(
        &self,
        compiler: &Path,
        scratch: &Path,
        response: &str,
        assembly: &'static str,
    ) -> Result<(), TestbedError> {
        let response_file = scratch.join("csc.rsp");
        write(&response_file, response)?;
        let mut command = Command::new(self.net9.program());
        environment::clean(&mut command);
        command
            .args(["exec", "--fx-version", &self.net9.version])
            .arg(compiler)
            .arg("-noconfig")
            .arg(format!("@{}", response_file.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = spawner::spawn(command)
            .and_then(|child| child.wait_with_output())
            .map_err(TestbedError::disk("run the compiler with", &self.net9.program()))?;
        if output.status.success() {
            return Ok(());
        }
        let diagnostics = errors_of(&output.stdout, &output.stderr);
        Err(TestbedError::CompileFailed { assembly, diagnostics })
    }
}

/// The assemblies in some folders, by name.
pub(crate) fn assemblies_in(folders: &[PathBuf]) -> Result<Vec<PathBuf>, TestbedError> {
    let mut found = Vec::new();
    for folder in folders {
        let entries = fs::read_dir(folder).map_err(TestbedError::disk("list", folder))?;
        let files = entries.flatten().map(|entry| entry.path());
        found.extend(files.filter(|file| file.extension().is_some_and(|kind| kind == "dll")));
    }
    found.sort();
    Ok(found)
}

/// The file beside the assembly that chooses `runtime`.
pub(crate) fn config_name(runtime: Runtime) -> String {
    format!("{}.runtimeconfig.json", runtime.target_framework())
}

/// The errors without the warnings, or everything if the compiler itself fell.
fn errors_of(stdout: &[u8], stderr: &[u8]) -> String {
    let text = format!("{}{}", String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("error ")).collect();
    if errors.is_empty() { text.trim_end().to_owned() } else { errors.join("\n") }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), TestbedError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(TestbedError::disk("create", folder))?;
    }
    fs::write(path, text).map_err(TestbedError::disk("write", path))
}

fn remove_old_folders(cache: &Cache, prefix: &str) -> Result<(), TestbedError> {
    let mut folders: Vec<(SystemTime, PathBuf)> = cache
        .names()?
        .into_iter()
        .filter(|name| name.starts_with(prefix))
        .map(|name| cache.folder().join(name))
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    folders.sort_by(|one, other| other.cmp(one));
    for (used, path) in folders.into_iter().skip(FOLDERS_KEPT) {
        if used.elapsed().is_ok_and(|age| age > RECENT) {
            // Another process may remove the same folder at this moment.
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_config_names_the_frameworks_of_its_assembly() {
        let portable = Assembly::Portable.runtime_config(Runtime::Net31);
        assert_eq!(
            portable,
            r#"{"runtimeOptions":{"tfm":"netcoreapp3.1","rollForward":"LatestPatch","frameworks":[{"name":"Microsoft.NETCore.App","version":"3.1.0"}]}}"#
        );
        assert!(Assembly::Aspnet.runtime_config(Runtime::Net9).contains("Microsoft.AspNetCore.App"));
        assert!(!Assembly::Net9.runtime_config(Runtime::Net10).contains("Microsoft.AspNetCore.App"));
    }

    #[test]
    fn another_reference_version_gives_another_folder_for_net9_alone() {
        let name = |assembly: Assembly, version| assembly.folder_name(version);
        assert_ne!(name(Assembly::Net9, "9.0.7"), name(Assembly::Net9, "9.0.8"));
        assert_eq!(name(Assembly::Portable, "9.0.7"), name(Assembly::Portable, "9.0.8"));
    }

    #[test]
    fn old_folders_go_and_recent_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        for number in 0..20u64 {
            let path = folder.path().join(format!("patients-{number:02}"));
            fs::create_dir(&path).unwrap();
            let age = Duration::from_secs(60 * 60 * number);
            File::open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        }
        remove_old_folders(&cache, "patients-").unwrap();
        assert_eq!(cache.names().unwrap().len(), FOLDERS_KEPT);
    }
}
