//! Reading keys from where they are kept. A configuration never holds the key itself.

use std::path::Path;

use anyhow::Context as _;
use loreloom_llm::secret::Secret;
use loreloom_server::KeySource;

use super::keyring;
use crate::files;

/// The key that a source names.
pub(crate) fn read(source: &KeySource, folder: &Path) -> anyhow::Result<Secret> {
    let key = match source {
        #[expect(clippy::disallowed_methods, reason = "the user named this variable")]
        KeySource::Environment(name) => {
            // The error would show the bytes that are not text, and they may be the key.
            std::env::var(name).ok().with_context(|| format!("`{name}` is not set"))?
        }
        KeySource::File(file) => {
            let file = folder.join(file);
            let bytes = files::read_within(&file, 64 << 10)?;
            String::from_utf8(bytes)
                .ok()
                .with_context(|| format!("`{}` must be text", file.display()))?
        }
        KeySource::Keyring { service, user } => keyring::read(service, user)?,
    };
    let key = Secret::new(&key);
    anyhow::ensure!(!key.reveal().is_empty(), "the key of `{}` is empty", source.shown());
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_a_key_and_a_missing_key_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        #[expect(clippy::disallowed_methods, reason = "a fixture")]
        std::fs::write(folder.path().join("key"), "sk-1\n").unwrap();
        let read = |source: &str| read(&KeySource::parse(source).unwrap(), folder.path());
        assert_eq!(read("file:key").unwrap().reveal(), "sk-1");
        let missing = read("keyring:loreloom-test/nobody").unwrap_err().to_string();
        assert!(missing.contains("loreloom-test/nobody"), "{missing}");
        assert!(read("file:none").is_err());
    }
}
