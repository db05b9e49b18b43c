//! What a caller of the API must not say about a connection, although a configuration may.

use loreloom_core::ids::TenantId;

use super::{ConnectionSettings, KeySource, ServerUrl, SettingsError, TokenizerSetting};

/// Variables whose names begin so may be named by a caller who administers the server with a key.
const OPEN_VARIABLES: &str = "LORELOOM_";
const NO_VARIABLE: &str =
    "must name a variable after `env:`: letters, digits and `_`, and no digit first";
const STRANGERS_KEY: &str = "must be `env:` and a variable whose name begins with `LORELOOM_`: \
                             other sources are for callers without a key, on the server's own \
                             machine";

const TENANTS_KEY: &str = "must not be said: the server's keys belong to the tenant `local`, and \
                           the front ends of other tenants send their own";

impl ConnectionSettings {
    /// Whether settings that came with a call may be written down: nothing in them can be a
    /// secret.
    pub(crate) fn check_called(&self) -> Result<(), SettingsError> {
        self.check()?;
        if let Some(url) = &self.url {
            ServerUrl::check_open(url.as_str())?;
        }
        if let Some(KeySource::Environment(name)) = &self.key
            && !is_variable(name)
        {
            return Err(SettingsError::new("key", NO_VARIABLE));
        }
        Ok(())
    }

    /// What somebody from elsewhere may say: else an administrator of a server that is shared
    /// could have its files and variables, or another tenant's keys, sent to an address of
    /// theirs.
    pub(crate) fn check_stranger(&self, tenant: &TenantId) -> Result<(), SettingsError> {
        let is_open = |name: &str| name.starts_with(OPEN_VARIABLES);
        match &self.key {
            None => {}
            Some(_) if *tenant != TenantId::local() => {
                return Err(SettingsError::new("key", TENANTS_KEY));
            }
            Some(KeySource::Environment(name)) if is_open(name) => {}
            Some(_) => return Err(SettingsError::new("key", STRANGERS_KEY)),
        }
        match self.tokenizer {
            TokenizerSetting::Named(_) => Ok(()),
            TokenizerSetting::File(_) => {
                let rule = "must be one of those with a name: files of the server's machine are \
                            for callers without a key, on that machine";
                Err(SettingsError::new("tokenizer", rule))
            }
        }
    }
}

/// Whether a text can be a variable's name. Most keys cannot.
fn is_variable(name: &str) -> bool {
    let fits = |one: char| one.is_ascii_alphanumeric() || one == '_';
    !name.starts_with(|one: char| one.is_ascii_digit()) && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<ConnectionSettings, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn what_may_be_a_secret_is_not_repeated() {
        for body in [
            json!({"key": "sk-canary"}),
            json!({"key": 771_177}),
            json!({"key": ["sk-canary"]}),
            json!({"key": {"value": "sk-canary"}}),
            json!({"url": "ftp://ann:sk-canary@h"}),
        ] {
            let error = read(body.clone()).unwrap_err();
            assert!(!error.contains("canary") && !error.contains("771177"), "{body}: {error}");
        }
        for body in [
            json!({"url": "http://ann:sk-canary@h/v1"}),
            json!({"url": "http://h/v1?key=sk-canary"}),
            json!({"url": "http://h/v1", "key": "env:sk-canary"}),
            json!({"url": "http://h/v1", "key": "env:7canary"}),
        ] {
            let error = read(body.clone()).unwrap().check_called().unwrap_err().to_string();
            assert!(!error.contains("canary"), "{body}: {error}");
        }
    }

    #[test]
    fn strangers_name_only_variables_that_are_meant_for_it() {
        for (body, fits) in [
            (json!({}), true),
            (json!({"key": "env:LORELOOM_CLOUD"}), true),
            (json!({"key": "env:HOME"}), false),
            (json!({"key": "env:MY_LORELOOM_KEY"}), false),
            (json!({"key": "env:loreloom_key"}), false),
            (json!({"key": "file:/etc/hostname"}), false),
            (json!({"key": "keyring:a/b"}), false),
            (json!({"tokenizer": "estimate"}), true),
            (json!({"tokenizer": {"file": "/etc/passwd"}}), false),
        ] {
            let settings = read(body.clone()).unwrap();
            assert_eq!(settings.check_stranger(&TenantId::local()).is_ok(), fits, "{body}");
            let elsewhere = settings.check_stranger(&TenantId::from("guild"));
            assert_eq!(elsewhere.is_ok(), fits && settings.key.is_none(), "{body}");
        }
    }
}
