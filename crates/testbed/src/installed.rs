//! Finding a `dotnet` that is already installed, so that nothing is fetched without need.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::runtime::Runtime;
use crate::search_path::{find_in, is_program};

/// Where to look. The order is that of [`Places::roots`].
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// `DOTNET_ROOT`
    pub(crate) dotnet_root: Option<PathBuf>,
    /// `PATH`
    pub(crate) path: Option<OsString>,
    /// The folders that installers use.
    pub(crate) customary: Vec<PathBuf>,
}

/// One version of one runtime under one `dotnet` root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) runtime: Runtime,
    /// The folder with the program `dotnet`.
    pub(crate) root: PathBuf,
    /// The full version, for example `9.0.7`.
    pub(crate) version: String,
}

impl Places {
    /// The places on this machine, or none if the user wants the fetched runtimes.
    pub(crate) fn from_environment() -> Places {
        if env::var_os("DRDOTNET_TESTBED_IGNORE_INSTALLED")
            .is_some_and(|value| !value.is_empty() && value != "0")
        {
            return Places::default();
        }
        let mut customary = vec![PathBuf::from("/usr/share/dotnet"), PathBuf::from("/usr/lib/dotnet")];
        customary.extend(env::var_os("HOME").map(|home| PathBuf::from(home).join(".dotnet")));
        Places {
            dotnet_root: env::var_os("DOTNET_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from),
            path: env::var_os("PATH"),
            customary,
        }
    }

    /// The `dotnet` roots, in the order in which they are preferred.
    fn roots(&self) -> Vec<PathBuf> {
        let mut roots = Vec::new();
        roots.extend(self.dotnet_root.clone());
        // The program in PATH is most often a link into the real root.
        let in_path = self.path.as_ref().and_then(|path| find_in(path, "dotnet"));
        roots.extend(
            in_path
                .and_then(|program| program.canonicalize().ok())
                .and_then(|program| program.parent().map(Path::to_owned)),
        );
        roots.extend(self.customary.iter().cloned());
        roots.retain(|root| is_program(&root.join("dotnet")));
        roots
    }

    /// The newest patch of `runtime` in the first root that has it.
    pub(crate) fn search(&self, runtime: Runtime) -> Option<Installed> {
        self.roots().into_iter().find_map(|root| {
            let version = newest(&root, runtime)?;
            let version = format!("{}.{}.{}", version.0, version.1, version.2);
            // .NET 9 without ASP.NET Core cannot run the patients that are web servers.
            let complete = runtime != Runtime::Net9
                || root.join("shared/Microsoft.AspNetCore.App").join(&version).is_dir();
            complete.then_some(Installed { runtime, root, version })
        })
    }
}

/// The newest released patch. Previews are left out: their version does not parse as three numbers.
fn newest(root: &Path, runtime: Runtime) -> Option<(u32, u32, u32)> {
    let folder = root.join("shared/Microsoft.NETCore.App");
    fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.path().join("libcoreclr.so").is_file())
        .filter_map(|entry| three_numbers(&entry.file_name().to_string_lossy()))
        .filter(|version| (version.0, version.1) == runtime.major_minor())
        .max()
}

fn three_numbers(text: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    let version = (numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A `dotnet` root with empty files: the search looks at names only.
    fn fake_root(at: &Path, core: &[&str], web: &[&str]) {
        for (framework, versions) in [("Microsoft.NETCore.App", core), ("Microsoft.AspNetCore.App", web)] {
            for version in versions {
                let folder = at.join("shared").join(framework).join(version);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("libcoreclr.so"), "").unwrap();
            }
        }
        fs::write(at.join("dotnet"), "").unwrap();
        fs::set_permissions(at.join("dotnet"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn dotnet_root_comes_before_path_and_path_before_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third, bin] = ["first", "second", "third", "bin"].map(|n| folder.path().join(n));
        fake_root_in(&first, &["8.0.4"]);
        fake_root_in(&second, &["8.0.9", "3.1.32"]);
        fake_root_in(&third, &["8.0.30", "3.1.0", "10.0.1"]);
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(second.join("dotnet"), bin.join("dotnet")).unwrap();

        let places = Places {
            dotnet_root: Some(first.clone()),
            path: Some(bin.into_os_string()),
            customary: vec![third.clone()],
        };
        let found = |runtime| places.search(runtime).map(|found| (found.root, found.version));
        assert_eq!(found(Runtime::Net8), Some((first, "8.0.4".to_owned())));
        assert_eq!(found(Runtime::Net31), Some((second.canonicalize().unwrap(), "3.1.32".to_owned())));
        assert_eq!(found(Runtime::Net10), Some((third, "10.0.1".to_owned())));
        assert_eq!(found(Runtime::Net9), None);
    }

    fn fake_root_in(at: &Path, core: &[&str]) {
        fake_root(at, core, &[]);
    }

    #[test]
    fn the_newest_patch_is_compared_by_number_and_previews_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        fake_root(folder.path(), &["8.0.9", "8.0.10", "8.1.0", "10.0.0-rc.1.25451.107"], &[]);
        let places = Places { dotnet_root: Some(folder.path().to_owned()), ..Places::default() };
        assert_eq!(places.search(Runtime::Net8).unwrap().version, "8.0.10");
        assert_eq!(places.search(Runtime::Net10), None);
    }

    #[test]
    fn net9_needs_the_web_framework_of_the_same_version() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { dotnet_root: Some(folder.path().to_owned()), ..Places::default() };
        fake_root(folder.path(), &["9.0.8"], &["9.0.6"]);
        assert_eq!(places.search(Runtime::Net9), None);
        fake_root(folder.path(), &[], &["9.0.8"]);
        assert_eq!(places.search(Runtime::Net9).unwrap().version, "9.0.8");
    }

    #[test]
    fn a_root_without_a_program_is_no_root() {
        let folder = tempfile::tempdir().unwrap();
        fake_root(folder.path(), &["8.0.9"], &[]);
        fs::remove_file(folder.path().join("dotnet")).unwrap();
        let places = Places { dotnet_root: Some(folder.path().to_owned()), ..Places::default() };
        assert_eq!(places.search(Runtime::Net8), None);
    }
}
