//! A `dotnet` root for .NET 9, made out of a self-contained program.
//!
//! ```text
//! package/dist/azmcp.deps.json   names the files of both frameworks
//! package/dist/*                 those files, among the program's own
//!        |
//!        v
//! dotnet                                       the muxer of another package: it only calls the newest hostfxr
//! host/fxr/9.0.7/libhostfxr.so
//! shared/Microsoft.NETCore.App/9.0.7/          + .deps.json, without which hostfxr ignores the folder
//! shared/Microsoft.AspNetCore.App/9.0.7/       + .deps.json and .runtimeconfig.json
//! ```

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::cache::Staging;
use crate::error::TestbedError;
use crate::packages::Package;
use crate::parts::unexpected;
use crate::unpack::{make_runnable, unpack};

const CORE: &str = "Microsoft.NETCore.App";
const WEB: &str = "Microsoft.AspNetCore.App";

/// The files of one framework, as the program's `deps.json` lists them.
#[derive(Debug)]
struct Framework {
    name: String,
    version: String,
    managed: Map<String, Value>,
    native: Map<String, Value>,
}

/// Lays the root out in the staging area.
pub(crate) fn lay_out(
    package: &Package,
    archive: &Path,
    area: &Staging,
    muxer: &Path,
) -> Result<(), TestbedError> {
    let loose = area.scratch.join("dist");
    unpack(package, archive, &loose, |path| path.strip_prefix("package/dist").ok().map(Path::to_owned))?;
    let deps = loose.join("azmcp.deps.json");
    let text = fs::read_to_string(&deps).map_err(TestbedError::disk("read", &deps))?;
    let frameworks = frameworks(&text).map_err(|reason| unexpected(package, &reason))?;

    for framework in &frameworks {
        let folder = area.result.join("shared").join(&framework.name).join(&framework.version);
        create(&folder)?;
        for file in framework.managed.keys().chain(framework.native.keys()) {
            let name = Path::new(file)
                .file_name()
                .ok_or_else(|| unexpected(package, &format!("`{file}` is no file name")))?;
            rename(&loose.join(name), &folder.join(name))?;
        }
        write_json(&folder.join(format!("{}.deps.json", framework.name)), &framework.deps())?;
        if framework.name == CORE {
            make_runnable(&folder.join("createdump"))?;
            let host = area.result.join("host/fxr").join(&framework.version);
            create(&host)?;
            // Some lists name hostfxr among the framework's files; then it lies there by now.
            let from = [folder.join("libhostfxr.so"), loose.join("libhostfxr.so")]
                .into_iter()
                .find(|path| path.is_file())
                .ok_or_else(|| unexpected(package, "there is no libhostfxr.so in it"))?;
            copy(&from, &host.join("libhostfxr.so"))?;
        } else {
            // Without it hostfxr looks for hostpolicy in the wrong framework.
            write_json(
                &folder.join(format!("{}.runtimeconfig.json", framework.name)),
                &json!({"runtimeOptions": {
                    "tfm": "net9.0",
                    "framework": {"name": CORE, "version": framework.version},
                }}),
            )?;
        }
    }
    let program = area.result.join("dotnet");
    copy(muxer, &program)?;
    make_runnable(&program)
}

/// Finds both frameworks in the text of a self-contained program's `deps.json`.
fn frameworks(text: &str) -> Result<Vec<Framework>, String> {
    let deps: Value =
        serde_json::from_str(text).map_err(|error| format!("its deps.json is broken: {error}"))?;
    let targets = deps["targets"].as_object().ok_or("its deps.json has no targets")?;
    let mut found = Vec::new();
    for (key, entry) in targets.values().filter_map(Value::as_object).flatten() {
        // For example runtimepack.Microsoft.NETCore.App.Runtime.linux-x64/9.0.7
        let parsed = key
            .strip_prefix("runtimepack.")
            .and_then(|rest| rest.split_once(".Runtime."))
            .and_then(|(name, rest)| Some((name, rest.split_once('/')?.1)));
        if let Some((name, version)) = parsed {
            let files = |kind: &str| entry.get(kind).and_then(Value::as_object).cloned().unwrap_or_default();
            found.push(Framework {
                name: name.to_owned(),
                version: version.to_owned(),
                managed: files("runtime"),
                native: files("native"),
            });
        }
    }
    for name in [CORE, WEB] {
        if !found.iter().any(|framework| framework.name == name) {
            return Err(format!("its deps.json does not list {name}"));
        }
    }
    Ok(found)
}

impl Framework {
    fn deps(&self) -> Value {
        let target = ".NETCoreApp,Version=v9.0/linux-x64";
        let library = format!("{}/{}", self.name, self.version);
        json!({
            "runtimeTarget": {"name": target, "signature": ""},
            "targets": {target: {&library: {"runtime": self.managed, "native": self.native}}},
            "libraries": {&library: {"type": "package", "serviceable": true, "sha512": ""}},
        })
    }
}

fn create(folder: &Path) -> Result<(), TestbedError> {
    fs::create_dir_all(folder).map_err(TestbedError::disk("create", folder))
}

fn rename(from: &Path, to: &Path) -> Result<(), TestbedError> {
    fs::rename(from, to).map_err(TestbedError::disk("move", from))
}

fn copy(from: &Path, to: &Path) -> Result<(), TestbedError> {
    fs::copy(from, to).map(drop).map_err(TestbedError::disk("copy", from))
}

fn write_json(path: &Path, value: &Value) -> Result<(), TestbedError> {
    fs::write(path, value.to_string()).map_err(TestbedError::disk("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_frameworks_are_read_from_the_list_of_a_program() {
        let text = r#"{"targets": {
            ".NETCoreApp,Version=v9.0": {},
            ".NETCoreApp,Version=v9.0/linux-x64": {
                "App/1.0": {"runtime": {"App.dll": {}}},
                "runtimepack.Microsoft.NETCore.App.Runtime.linux-x64/9.0.7":
                    {"runtime": {"System.Runtime.dll": {"fileVersion": "9"}}, "native": {"libcoreclr.so": {}}},
                "runtimepack.Microsoft.AspNetCore.App.Runtime.linux-x64/9.0.7":
                    {"runtime": {"Microsoft.AspNetCore.dll": {}}}}}}"#;
        let found = frameworks(text).unwrap();
        let core = found.iter().find(|framework| framework.name == CORE).unwrap();
        assert_eq!((core.version.as_str(), core.managed.len(), core.native.len()), ("9.0.7", 1, 1));
        let deps = core.deps();
        assert_eq!(
            deps["targets"][".NETCoreApp,Version=v9.0/linux-x64"]["Microsoft.NETCore.App/9.0.7"]["native"]["libcoreclr.so"],
            json!({})
        );
        assert!(frameworks("{}").is_err() && frameworks(r#"{"targets": {}}"#).is_err());
    }
}
