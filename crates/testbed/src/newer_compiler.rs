//! A newer C# compiler: its assemblies, and a program of ours that calls them, compiled with the older one.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::cache::Cache;
use crate::compile::{CORE, Tools, assemblies_in, write};
use crate::error::TestbedError;
use crate::fetch::hex;
use crate::parts::{COMPILER12, CSC};

/// The program.
const DRIVER: &str = include_str!("compiler/Driver.cs");
/// Its assembly.
const PROGRAM: &str = "Driver.dll";

/// The compiler's program, ready to run. `assemblies` is the folder with what it calls.
pub(crate) fn prepare(cache: &Cache, tools: &Tools, assemblies: &Path) -> Result<PathBuf, TestbedError> {
    let mut hash = Sha256::new();
    hash.update(DRIVER);
    hash.update(&tools.net9.version);
    let name = format!("driver-{}", &hex(&hash.finalize())[..16]);
    let folder = cache.prepare(&name, "the driver of the C# 12 compiler", |area| {
        let source = area.scratch.join("Driver.cs");
        write(&source, DRIVER)?;
        let mut response =
            format!("\"{}\"\n-nologo\n-target:exe\n-langversion:8.0\n-nostdlib\n", source.display());
        let mut references = assemblies_in(&[tools.framework(CORE)])?;
        references.extend(COMPILER12.iter().map(|name| assemblies.join(name)));
        for reference in references {
            response.push_str(&format!("-reference:\"{}\"\n", reference.display()));
        }
        response.push_str(&format!("-out:\"{}\"\n", area.result.join(PROGRAM).display()));
        tools.run(&tools.compiler.join(CSC), &area.scratch, &response, PROGRAM)?;
        // The runtime looks for what a program calls beside it.
        for name in COMPILER12 {
            let from = assemblies.join(name);
            fs::copy(&from, area.result.join(name)).map_err(TestbedError::disk("copy", &from))?;
        }
        write(
            &area.result.join("Driver.runtimeconfig.json"),
            &format!(
                r#"{{"runtimeOptions":{{"tfm":"net9.0","framework":{{"name":"{CORE}","version":"{}"}}}}}}"#,
                tools.net9.version
            ),
        )
    })?;
    Ok(folder.join(PROGRAM))
}
