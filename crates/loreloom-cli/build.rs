//! Flags of the linker for shipped binaries.

use std::env;

#[expect(clippy::disallowed_methods, reason = "cargo gives build scripts their facts this way")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // Only `dist` is optimised for size.
    if is("OPT_LEVEL", "s")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
