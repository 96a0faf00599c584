//! What the testbed fetches, and how each package is laid out on disk.

use std::path::{Path, PathBuf};

use crate::cache::{Cache, Staging};
use crate::error::TestbedError;
use crate::fetch::fetch;
use crate::net9_root;
use crate::packages::{self, Package};
use crate::unpack::{make_runnable, unpack};

/// Raised when the layout code below changes, so that older folders are not mistaken for new ones.
const LAYOUT: u32 = 1;

/// The folder of the reference assemblies inside [`Part::Compiler`].
pub(crate) const REFERENCES: &str = "packs/Microsoft.NETCore.App.Ref/3.1.0/ref/netcoreapp3.1";

/// The compiler inside [`Part::Compiler`].
pub(crate) const CSC: &str = "sdk/3.1.102/Roslyn/bincore/csc.dll";

/// The assemblies inside [`Part::Compiler12`]; what else they need, .NET 9 has.
pub(crate) const COMPILER12: [&str; 2] = ["Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"];

/// One thing that is fetched and laid out in a folder of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The C# compiler, its reference assemblies and a `dotnet` program.
    Compiler,
    /// The assemblies of a newer C# compiler, without a program.
    Compiler12,
    /// A `dotnet` root with .NET 9 and ASP.NET Core.
    Net9Root,
    /// A `dotnet` root with .NET Core 3.1.
    Net31Root,
    /// A single-file program with .NET 8 inside.
    Net8Host,
    /// A `dotnet` root with .NET 10, without ASP.NET Core.
    Net10Root,
    /// A trimmed single-file server with .NET 10 inside.
    Stranger,
}

impl Part {
    pub(crate) const ALL: [Part; 7] = [
        Part::Compiler,
        Part::Compiler12,
        Part::Net9Root,
        Part::Net31Root,
        Part::Net8Host,
        Part::Net10Root,
        Part::Stranger,
    ];

    pub(crate) fn package(self) -> &'static Package {
        match self {
            Part::Compiler => &packages::COMPILER,
            Part::Compiler12 => &packages::COMPILER12,
            Part::Net9Root => &packages::NET9,
            Part::Net31Root => &packages::NET31,
            Part::Net8Host => &packages::NET8,
            Part::Net10Root => &packages::NET10,
            Part::Stranger => &packages::STRANGER,
        }
    }

    /// The name of its folder in the cache.
    pub(crate) fn folder_name(self) -> String {
        let name = match self {
            Part::Compiler => "compiler-3.1.102",
            Part::Compiler12 => "compiler12-4.8",
            Part::Net9Root => "net9-9.0.7",
            Part::Net31Root => "net31-3.1.23",
            Part::Net8Host => "net8-8.0.30",
            Part::Net10Root => "net10-10.0.12",
            Part::Stranger => "stranger-10.0.9",
        };
        format!("{name}-layout{LAYOUT}")
    }

    /// The part's folder, fetched and laid out if this is the first time.
    pub(crate) fn prepare(self, cache: &Cache) -> Result<PathBuf, TestbedError> {
        let name = self.folder_name();
        if let Some(folder) = cache.find(&name) {
            return Ok(folder);
        }
        // Outside the lock below: nobody ever holds two locks, so nobody can wait in a circle.
        let muxer = match self {
            Part::Net9Root => Some(Part::Compiler.prepare(cache)?.join("dotnet")),
            _ => None,
        };
        let package = self.package();
        cache.prepare(&name, package.what, |area| {
            cache.announce();
            let archive = fetch(package, &area.scratch)?;
            self.lay_out(&archive, area, muxer.as_deref())
        })
    }

    fn lay_out(self, archive: &Path, area: &Staging, muxer: Option<&Path>) -> Result<(), TestbedError> {
        let package = self.package();
        let into = &area.result;
        let take = |place: fn(&Path) -> Option<PathBuf>| unpack(package, archive, into, place);
        let program = match self {
            Part::Net9Root => {
                let muxer = muxer.ok_or_else(|| unexpected(package, "no dotnet program to copy"))?;
                return net9_root::lay_out(package, archive, area, muxer);
            }
            Part::Compiler => {
                take(place_compiler)?;
                "dotnet"
            }
            Part::Compiler12 => {
                take(place_compiler12)?;
                let missing = COMPILER12.iter().find(|name| !into.join(name).is_file());
                return match missing {
                    Some(name) => Err(unexpected(package, &format!("there is no {name} in it"))),
                    None => Ok(()),
                };
            }
            Part::Net31Root => {
                take(|path| path.strip_prefix("dotnetcore2/bin").ok().map(Path::to_owned))?;
                "dotnet"
            }
            Part::Net10Root => {
                take(place_net10)?;
                // Arrives without its run bit, and then no dump can be written.
                make_runnable(&into.join("shared/Microsoft.NETCore.App/10.0.12/createdump"))?;
                "dotnet"
            }
            Part::Net8Host => {
                take(|path| keep_file(path, "package/Sarif.Multitool"))?;
                "Sarif.Multitool"
            }
            Part::Stranger => {
                take(|path| keep_file(path, "package/dist/azmcp"))?;
                "azmcp"
            }
        };
        if !into.join(program).is_file() {
            return Err(unexpected(package, &format!("there is no {program} in it")));
        }
        make_runnable(&into.join(program))
    }
}

/// The SDK has 318 MB; the compiler, the references and the muxer are a sixth of that.
fn place_compiler(path: &Path) -> Option<PathBuf> {
    let path = path.strip_prefix("package").ok()?;
    let is_compiler = Path::new(CSC).parent().is_some_and(|folder| path.parent() == Some(folder));
    let is_reference = path.starts_with(REFERENCES) && path.extension().is_some_and(|kind| kind == "dll");
    (path == Path::new("dotnet") || is_compiler || is_reference).then(|| path.to_owned())
}

/// The compiler lies there once for each runtime; any of them will do.
fn place_compiler12(path: &Path) -> Option<PathBuf> {
    let name = path.strip_prefix("package/dist/generator").ok()?;
    COMPILER12.iter().any(|wanted| name == Path::new(wanted)).then(|| name.to_owned())
}

/// The runtime lies in a folder of its own, below one that is named after the package's version.
fn place_net10(path: &Path) -> Option<PathBuf> {
    let parts: Vec<_> = path.components().collect();
    let at = parts
        .windows(2)
        .position(|two| two[0].as_os_str() == "_native" && two[1].as_os_str() == "dotnet_runtime")?;
    Some(parts[at + 2..].iter().collect())
}

fn keep_file(path: &Path, wanted: &str) -> Option<PathBuf> {
    if path != Path::new(wanted) {
        return None;
    }
    path.file_name().map(PathBuf::from)
}

/// The error for a package whose content is not what the layout code knows.
pub(crate) fn unexpected(package: &Package, reason: &str) -> TestbedError {
    TestbedError::UnexpectedLayout { package: package.spelled(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_compiler_needs_is_kept() {
        let kept = |path: &str| place_compiler(Path::new(path)).is_some();
        assert!(kept("package/dotnet"));
        assert!(kept("package/sdk/3.1.102/Roslyn/bincore/csc.dll"));
        assert!(kept("package/packs/Microsoft.NETCore.App.Ref/3.1.0/ref/netcoreapp3.1/System.Runtime.dll"));
        assert!(!kept("package/packs/Microsoft.NETCore.App.Ref/3.1.0/ref/netcoreapp3.1/System.Runtime.xml"));
        assert!(!kept("package/sdk/3.1.102/Roslyn/bincore/de/Microsoft.CodeAnalysis.resources.dll"));
        assert!(!kept("package/sdk/3.1.102/FSharp/fsc.exe"));
    }

    #[test]
    fn of_the_package_with_net10_only_the_runtime_is_kept() {
        let below = "aspose_slides-26.10.0.data/purelib/asposeslides/_native";
        let path = format!("{below}/dotnet_runtime/host/fxr/10.0.12/libhostfxr.so");
        assert_eq!(place_net10(Path::new(&path)), Some("host/fxr/10.0.12/libhostfxr.so".into()));
        assert_eq!(place_net10(Path::new(&format!("{below}/other.so"))), None);
    }

    #[test]
    fn folder_names_and_packages_are_distinct() {
        for (index, part) in Part::ALL.iter().enumerate() {
            for other in &Part::ALL[index + 1..] {
                assert_ne!(part.folder_name(), other.folder_name());
                assert_ne!(part.package().sha256, other.package().sha256);
            }
        }
    }
}
