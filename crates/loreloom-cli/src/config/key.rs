//! Where a key comes from. A configuration never holds the key itself.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use loreloom_llm::secret::Secret;
use serde::{Deserialize, Deserializer, de};

use super::keyring;
use crate::files;

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// An environment variable.
    Environment(String),
    /// A file that holds nothing else.
    File(PathBuf),
    /// The keyring of the operating system.
    Keyring { service: String, user: String },
}

impl KeySource {
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        if rest.is_empty() {
            return None;
        }
        match kind {
            "env" => Some(Self::Environment(rest.to_owned())),
            "file" => Some(Self::File(PathBuf::from(rest))),
            "keyring" => {
                let (service, user) = rest.split_once('/')?;
                Some(Self::Keyring { service: service.to_owned(), user: user.to_owned() })
            }
            _ => None,
        }
    }

    /// The key.
    pub(crate) fn read(&self, folder: &Path) -> anyhow::Result<Secret> {
        let key = match self {
            #[expect(clippy::disallowed_methods, reason = "the user named this variable")]
            Self::Environment(name) => {
                std::env::var(name).with_context(|| format!("`{name}` is not set"))?
            }
            Self::File(file) => {
                let file = folder.join(file);
                let bytes = files::read_within(&file, 64 << 10)?;
                String::from_utf8(bytes)
                    .ok()
                    .with_context(|| format!("`{}` must be text", file.display()))?
            }
            Self::Keyring { service, user } => keyring::read(service, user)?,
        };
        let key = Secret::new(&key);
        anyhow::ensure!(!key.reveal().is_empty(), "the key of `{}` is empty", self.shown());
        Ok(key)
    }

    /// The source, which is no secret.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Environment(name) => format!("env:{name}"),
            Self::File(file) => format!("file:{}", file.display()),
            Self::Keyring { service, user } => format!("keyring:{service}/{user}"),
        }
    }
}

impl<'de> Deserialize<'de> for KeySource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // What was written may be the key itself, so it is not repeated.
        Self::parse(&text).ok_or_else(|| {
            de::Error::custom(
                "a key is named by its source: `env:NAME`, `file:PATH` or `keyring:SERVICE/USER`",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_and_a_key_is_none() {
        for (text, expected) in [
            ("env:A_KEY", Some(KeySource::Environment("A_KEY".to_owned()))),
            ("file:keys/a", Some(KeySource::File("keys/a".into()))),
            (
                "keyring:loreloom/ann",
                Some(KeySource::Keyring { service: "loreloom".to_owned(), user: "ann".to_owned() }),
            ),
            ("keyring:loreloom", None),
            ("env:", None),
            ("sk-12345", None),
        ] {
            assert_eq!(KeySource::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_file_holds_a_key_and_what_no_keyring_has_is_told() {
        let folder = tempfile::tempdir().unwrap();
        #[expect(clippy::disallowed_methods, reason = "a fixture")]
        std::fs::write(folder.path().join("key"), "sk-1\n").unwrap();
        let read = |source: &str| KeySource::parse(source).unwrap().read(folder.path());
        assert_eq!(read("file:key").unwrap().reveal(), "sk-1");
        let missing = read("keyring:loreloom-test/nobody").unwrap_err().to_string();
        assert!(missing.contains("loreloom-test/nobody"), "{missing}");
        assert!(read("file:none").is_err());
    }
}
