//! The operating system's keyring.
//!
//! On Linux that is the kernel's own, which every machine has, then the desktop's (Secret
//! Service, asked through `secret-tool`); on macOS the keychain, asked through `security`. A
//! library that speaks to all of them brings a message bus and a second async runtime for one
//! line of a configuration; the systems' own programs do the same, and ask the user for leave
//! in the way that the user knows.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use anyhow::Context as _;

/// A program that knows the keyring, and how it is asked.
type Asking = (&'static str, Vec<String>);

/// The key of a user of a service.
pub(super) fn read(service: &str, user: &str) -> anyhow::Result<String> {
    #[cfg(target_os = "linux")]
    if let Some(key) = kernel::read(&format!("{service}/{user}"))? {
        return Ok(key);
    }
    let (program, arguments) = asking(service, user).with_context(|| {
        format!("this system has no keyring that could be asked for `{service}/{user}`")
    })?;
    ask(program, &arguments).with_context(|| format!("the key `keyring:{service}/{user}`"))
}

/// Keeps a key in the desktop's keyring, and looks whether it is there. The kernel's keyring
/// forgets everything when the machine stops, so no key is kept there.
pub(super) fn keep(service: &str, user: &str, key: &str) -> anyhow::Result<()> {
    anyhow::ensure!(cfg!(target_os = "linux"), "keys are kept in the keyring on Linux only");
    let label = format!("--label=Loreloom: {user}");
    let mut command = Command::new("secret-tool");
    command.args(["store", &label, "service", service, "username", user]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = command.spawn().context("`secret-tool` cannot be started")?;
    // The key is no argument: everybody could read it there.
    let written = running.stdin.take().map(|mut input| input.write_all(key.as_bytes()));
    let status = running.wait()?;
    written.transpose()?;
    anyhow::ensure!(status.success(), "`secret-tool` does not keep the key: {status}");
    let (program, arguments) = asking(service, user).context("there is no keyring")?;
    anyhow::ensure!(ask(program, &arguments)? == key, "the keyring has another key");
    Ok(())
}

/// Deletes a key from the desktop's keyring.
pub(super) fn forget(service: &str, user: &str) -> anyhow::Result<()> {
    let mut command = Command::new("secret-tool");
    command.args(["clear", "service", service, "username", user]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().context("`secret-tool` cannot be started")?;
    anyhow::ensure!(status.success(), "`secret-tool` does not delete the key: {status}");
    Ok(())
}

fn asking(service: &str, user: &str) -> Option<Asking> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    if cfg!(target_os = "macos") {
        return Some((
            "security",
            words(&["find-generic-password", "-s", service, "-a", user, "-w"]),
        ));
    }
    cfg!(unix).then(|| ("secret-tool", words(&["lookup", "service", service, "username", user])))
}

fn ask(program: &str, arguments: &[String]) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).stdin(Stdio::null()).output().with_context(|| {
        format!("is not in the kernel's keyring, and `{program}` cannot be started")
    })?;
    // What it complained about may repeat what it was asked, never the key.
    let complaint = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(
        output.status.success() && !output.stdout.is_empty(),
        "`{program}` has no such key: {}",
        complaint.lines().next().unwrap_or("it said nothing")
    );
    let key = String::from_utf8(output.stdout).ok().context("the key must be text")?;
    Ok(key.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(target_os = "linux")]
mod kernel {
    use anyhow::Context as _;
    use linux_keyutils::{KeyError, KeyRing, KeyRingIdentifier};

    /// The keyrings that are looked in: the session's, which usually leads to the user's, and
    /// that one itself.
    const RINGS: [KeyRingIdentifier; 2] = [KeyRingIdentifier::Session, KeyRingIdentifier::User];

    /// The key of this description, if a keyring has it. A kernel without keyrings has none.
    pub(super) fn read(description: &str) -> anyhow::Result<Option<String>> {
        for ring in RINGS {
            let found = KeyRing::from_special_id(ring, false)
                .and_then(|ring| ring.search(description))
                .and_then(|key| key.read_to_vec());
            match found {
                Ok(bytes) => {
                    return String::from_utf8(bytes).ok().map(Some).context("the key must be text");
                }
                Err(KeyError::KeyExpired) => anyhow::bail!("the key `{description}` has expired"),
                Err(KeyError::KeyRevoked) => anyhow::bail!("the key `{description}` was revoked"),
                Err(_elsewhere) => {}
            }
        }
        Ok(None)
    }

    #[cfg(test)]
    mod tests {
        use std::io::Write as _;

        use super::*;

        #[test]
        fn a_key_of_the_kernels_keyring_is_read() {
            let description = format!("loreloom-test/{}", std::process::id());
            let session = KeyRing::from_special_id(KeyRingIdentifier::Session, true);
            let added = session
                .and_then(|ring| Ok((ring, ring.add_key(&description, b"sk-of-the-kernel")?)));
            let Ok((session, key)) = added else {
                // Containers often forbid these calls.
                drop(writeln!(std::io::stderr(), "skipped: the kernel's keyring is not to be had"));
                return;
            };
            assert_eq!(read(&description).unwrap().as_deref(), Some("sk-of-the-kernel"));
            // The kernel takes its time to clear away a key that is only made invalid.
            session.unlink_key(key).unwrap();
            assert_eq!(read(&description).unwrap(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_is_the_key_and_a_failure_is_told() {
        let ask = |program: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            ask(program, &words)
        };
        assert_eq!(ask("printf", &["sk-1\n"]).unwrap(), "sk-1");
        let none = ask("false", &[]).unwrap_err().to_string();
        assert_eq!(none, "`false` has no such key: it said nothing");
        let missing = ask("no-such-program-anywhere", &[]).unwrap_err();
        assert!(format!("{missing:#}").contains("cannot be started"), "{missing:#}");
    }
}
