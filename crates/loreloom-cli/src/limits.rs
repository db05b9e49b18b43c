//! How much of files is read: the defaults, and what the person sets over them.
//!
//! Every command reads files, most of them deep inside, so that the limits are kept for the
//! whole run of the program.

use std::{
    str::FromStr,
    sync::{OnceLock, PoisonError, RwLock},
};

use anyhow::Context as _;
use loreloom_formats::{FormatError, Limit, Limits};

/// Limits by name, separated by commas: what `--limit` says, for all runs.
const VARIABLE: &str = "LORELOOM_LIMITS";

/// What environment and arguments set.
static SET: OnceLock<Vec<LimitArgument>> = OnceLock::new();

/// What the settings of the command say.
static CONFIGURED: RwLock<Option<Limits>> = RwLock::new(None);

/// One limit: `text=64MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitArgument {
    limit: Limit,
    value: usize,
}

impl FromStr for LimitArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Limit::ALL.iter().map(|limit| limit.as_str()).collect::<Vec<_>>().join(", ");
        let (name, value) =
            text.split_once('=').ok_or_else(|| format!("must be NAME=VALUE, found `{text}`"))?;
        let limit = Limit::from_name(name.trim())
            .ok_or_else(|| format!("there is no limit `{name}`; the limits are: {}", names()))?;
        let value = amount(value.trim()).ok_or_else(|| {
            format!(
                "`{name}` must be a number from 1, with or without KB, MB or GB, found `{value}`"
            )
        })?;
        if limit == Limit::Nesting && value > MOST_NESTING {
            return Err(format!("`{name}` must be at most {MOST_NESTING}, found `{value}`"));
        }
        Ok(Self { limit, value })
    }
}

/// Lists in lists are read by functions that call themselves: more would not fit the stack.
const MOST_NESTING: usize = 512;

fn amount(text: &str) -> Option<usize> {
    let units = [("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)];
    let unit = |(name, size): (&str, usize)| {
        Some((text.to_uppercase().strip_suffix(name)?.trim().to_owned(), size))
    };
    let (digits, size) = units.into_iter().find_map(unit).unwrap_or_else(|| (text.to_owned(), 1));
    digits.parse::<usize>().ok()?.checked_mul(size).filter(|amount| *amount > 0)
}

/// Sets the limits for this run: what the environment says, and `arguments` over it.
pub(crate) fn set(arguments: &[LimitArgument]) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this is where the environment comes in")]
    let said = std::env::var(VARIABLE).unwrap_or_default();
    let said = said.split(',').map(str::trim).filter(|one| !one.is_empty());
    let said: Result<Vec<LimitArgument>, String> = said.map(str::parse).collect();
    let said = said.map_err(anyhow::Error::msg).context(VARIABLE)?;
    SET.get_or_init(|| said.into_iter().chain(arguments.iter().copied()).collect());
    Ok(())
}

/// Reads files with the limits of the settings from now on. What environment and `--limit` say
/// still wins.
pub(crate) fn configure(limits: Limits) {
    *CONFIGURED.write().unwrap_or_else(PoisonError::into_inner) = Some(limits);
}

/// The limits of this run.
pub(crate) fn limits() -> Limits {
    let configured = *CONFIGURED.read().unwrap_or_else(PoisonError::into_inner);
    let mut limits = configured.unwrap_or_default();
    for LimitArgument { limit, value } in SET.get().into_iter().flatten() {
        limits.set(*limit, *value);
    }
    limits
}

/// An error in words, with how to raise the limit that it is about.
pub(crate) fn error_text(error: &anyhow::Error) -> String {
    let limit = error.chain().find_map(|cause| cause.downcast_ref::<FormatError>()?.limit());
    match limit {
        Some(limit) => {
            let (name, now) = (limit.as_str(), limits().get(limit));
            format!("{error:#} (the limit `{name}` is {now}: `--limit {name}=VALUE` raises it)")
        }
        None => format!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_name_and_an_amount() {
        let setting = |limit, value| Ok(LimitArgument { limit, value });
        for (text, expected) in [
            ("entries=7", setting(Limit::Entries, 7)),
            ("text=64MB", setting(Limit::Text, 64 << 20)),
            (" chat = 2 kb ", setting(Limit::Chat, 2048)),
            ("nesting=512", setting(Limit::Nesting, 512)),
            ("nesting=513", Err("`nesting` must be at most 512, found `513`".to_owned())),
            ("text", Err("must be NAME=VALUE, found `text`".to_owned())),
            (
                "text=0",
                Err("`text` must be a number from 1, with or without KB, MB or GB, found `0`"
                    .to_owned()),
            ),
            (
                "text=-1MB",
                Err("`text` must be a number from 1, with or without KB, MB or GB, found `-1MB`"
                    .to_owned()),
            ),
        ] {
            assert_eq!(text.parse::<LimitArgument>(), expected, "{text}");
        }
        let error = "lines=3".parse::<LimitArgument>().unwrap_err();
        assert!(error.starts_with("there is no limit `lines`; the limits are: text, chat,"));
    }
}
