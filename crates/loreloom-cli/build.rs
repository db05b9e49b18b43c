//! Has the linker lay side by side what every request runs.
//!
//! Some hundred kilobytes of code would lie scattered over more than thirty megabytes. A turn
//! that comes after a pause finds none of it in the processor's caches, and to look up where
//! some hundred pages are takes it as long as to fetch them. `turn-order.txt` names the functions
//! and is made by `./dev order`; names that the program no longer has are passed over, so that an
//! old list is only less of a help.

use std::{
    env,
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
};

const ORDER: &str = "turn-order.txt";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={ORDER}");
    let target = said("TARGET")?.to_uppercase().replace('-', "_");
    println!("cargo::rerun-if-env-changed=CARGO_TARGET_{target}_LINKER");
    let order = Path::new(&said("CARGO_MANIFEST_DIR")?).join(ORDER);
    let flags = [
        format!("-Wl,--symbol-ordering-file={}", order.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    if said("PROFILE")? == "release" && is_understood(&flags)? {
        for flag in flags {
            println!("cargo::rustc-link-arg-bin=loreloom={flag}");
        }
    }
    Ok(())
}

/// Whether the linker knows these flags: it is asked to link nothing with them. Only one of
/// several linkers does, and a build must not fail where there is another.
fn is_understood(flags: &[String]) -> Result<bool, Box<dyn Error>> {
    let folder = said("OUT_DIR")?;
    let (source, program) =
        (Path::new(&folder).join("nothing.rs"), Path::new(&folder).join("nothing"));
    #[expect(clippy::disallowed_methods, reason = "cargo made the folder for such files")]
    fs::write(&source, "fn main() {}")?;
    let mut rustc = Command::new(said("RUSTC")?);
    rustc.arg(source).arg("-o").arg(program).args(["--target", &said("TARGET")?]);
    let set = said("CARGO_ENCODED_RUSTFLAGS")?;
    rustc.args(set.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = said("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(flags.iter().map(|flag| format!("-Clink-arg={flag}")));
    Ok(rustc.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
}

/// What cargo says.
fn said(name: &str) -> Result<String, Box<dyn Error>> {
    let value = env::var_os(name).ok_or_else(|| format!("cargo says no {name}"))?;
    Ok(value.into_string().map_err(|_| format!("{name} is no text"))?)
}
