//! Embeds the C# sources of the patients, so that a binary built from this crate needs no source tree.
//!
//! In: `patients/{program,portable,net9,aspnet,modern,embedded}/*.cs`. Out: `sources.rs`, one array of (path under `patients`, text).

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let patients = here.join("../../patients");
    let mut entries = Vec::new();
    for folder in ["program", "portable", "net9", "aspnet", "modern", "embedded"] {
        entries.extend(sources(&patients, folder)?);
    }
    entries.sort();

    let mut text = String::from("pub(crate) const SOURCES: &[(&str, &str)] = &[\n");
    for (name, path) in &entries {
        writeln!(text, "    ({name:?}, include_str!({path:?})),")?;
    }
    text.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fs::write(out.join("sources.rs"), text)?;
    Ok(())
}

/// The C# files of one folder. A missing folder is an empty one: the crate must build before the first patient exists.
fn sources(patients: &Path, folder: &str) -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    let path = patients.join(folder);
    println!("cargo::rerun-if-changed={}", path.display());
    let mut found = Vec::new();
    if !path.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(&path)? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "cs") {
            let name = file.file_name().ok_or("a file without a name")?.to_string_lossy().into_owned();
            println!("cargo::rerun-if-changed={}", file.display());
            found.push((format!("{folder}/{name}"), file.canonicalize()?));
        }
    }
    Ok(found)
}
