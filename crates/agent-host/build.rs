//! Builds the agent's library, which this crate carries inside.
//!
//! One `cargo build` must do on a clean clone, with a stable toolchain. Cargo cannot yet make one package's library an
//! input of another (artifact dependencies are unstable), so this runs cargo itself, with a folder of its own: the one
//! that builds us holds the lock of its folder. What the agent needs is part of the same lock file, so nothing is
//! resolved or fetched anew. `DRDOTNET_AGENT_LIBRARY` names a library that was built elsewhere and is taken instead.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let carried = out.join("drdotnet-agent.so");
    println!("cargo::rerun-if-env-changed=DRDOTNET_AGENT_LIBRARY");
    println!("cargo::rerun-if-changed=build.rs");
    let built = match env::var_os("DRDOTNET_AGENT_LIBRARY") {
        Some(library) => {
            println!("cargo::rerun-if-changed={}", library.display());
            PathBuf::from(library)
        }
        None => build(&out),
    };
    if let Err(error) = std::fs::copy(&built, &carried) {
        panic!("the agent's library {} cannot be copied: {error}", built.display());
    }
}

fn build(out: &Path) -> PathBuf {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = here.parent().expect("a folder of crates");
    let root = crates.parent().expect("the workspace");
    for part in ["agent/src", "agent/build.rs", "agent/Cargo.toml", "agent-wire/src", "clr-profiling/src"] {
        println!("cargo::rerun-if-changed={}", crates.join(part).display());
    }
    for part in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    let target = env::var("TARGET").expect("cargo sets it");
    let folder = out.join("agent");
    let status = Command::new(env::var_os("CARGO").expect("cargo sets it"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "agent",
            "--profile",
            "agent",
            "--target",
            &target,
        ])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        // What was said to the cargo that builds us is not meant for the library: clippy would replace the compiler,
        // flags of a sanitizer or for coverage would go into other people's processes.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET_DIR")
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "the agent's library could not be built: {status}");
    folder.join(target).join("agent").join("libdrdotnet_agent.so")
}
