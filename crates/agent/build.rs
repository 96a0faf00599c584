//! Keeps the library in memory once it was loaded.

fn main() {
    // The runtime unloads a profiler's library after it was detached. A thread of ours that is about to end would then
    // run in memory that is gone; and attaching again would map one more copy.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
