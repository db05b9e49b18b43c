//! Giving up what old turns can do without.

use std::{io::Write, str::FromStr};

use clap::Args;
use loreloom_core::{ids::TenantId, units::Timestamp};
use loreloom_ports::{Clock as _, Retained, Retention};

use super::serve::runtime;
use crate::{clock::SystemClock, plural::counted, store::StoreArguments};

/// Delete the prompts and verdicts of old turns to save space. Everything is kept unless you
/// say so here; messages, state and the books of turns are kept in any case.
#[derive(Debug, Args)]
pub(crate) struct Retain {
    /// Whose prompts and verdicts to keep: of the last days (`90d`), or of each chat's newest
    /// turns (`500`)
    #[arg(long, value_name = "DAYS|TURNS")]
    keep_reports: Option<Keep>,

    /// Also delete books that no turn was decided with; stop the server first
    #[arg(long)]
    unused_books: bool,

    /// Delete them; without this, only show what would be deleted
    #[arg(long)]
    yes: bool,

    /// Print JSON for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Days(u32),
    Turns(u64),
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let wrong = |_| format!("days are like `90d` and turns like `500`, found `{word}`");
        match word.strip_suffix('d') {
            Some(days) => days.parse().map(Self::Days).map_err(wrong),
            None => word.parse().map(Self::Turns).map_err(wrong),
        }
    }
}

impl Retain {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let day = 24 * 60 * 60 * 1000;
        let since = |days: u32| Timestamp(SystemClock.now().0 - i64::from(days) * day);
        let retention = Retention {
            newest: match self.keep_reports {
                Some(Keep::Turns(turns)) => Some(turns),
                Some(Keep::Days(_)) | None => None,
            },
            since: match self.keep_reports {
                Some(Keep::Days(days)) => Some(since(days)),
                Some(Keep::Turns(_)) | None => None,
            },
            unused_libraries: self.unused_books,
            dry_run: !self.yes,
        };
        let retained = runtime()?.block_on(async {
            let store = self.store.open().await?;
            anyhow::Ok(store.retain(&TenantId::local(), &retention).await?)
        })?;
        self.tell(&retained, out)
    }

    fn tell(&self, retained: &Retained, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(retained)?)?);
        }
        let Retained { turns, libraries, bytes } = retained;
        if (*turns, *libraries) == (0, 0) {
            return Ok(writeln!(out, "everything is kept")?);
        }
        let (gave, kilobytes) = (if self.yes { "gave up" } else { "would give up" }, bytes / 1000);
        writeln!(
            out,
            "{gave} the prompts and verdicts of {} and {} of books: {kilobytes} kB",
            counted(*turns, "turn", "turns"),
            counted(*libraries, "old version", "old versions"),
        )?;
        let next =
            if self.yes { "`loreloom vacuum` gives the space back" } else { "`--yes` does it" };
        Ok(writeln!(out, "{next}")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_turns_are_told_apart() {
        for (word, expected) in [
            ("90d", Some(Keep::Days(90))),
            ("500", Some(Keep::Turns(500))),
            ("0", Some(Keep::Turns(0))),
            ("d", None),
            ("-1", None),
            ("9 d", None),
        ] {
            assert_eq!(word.parse().ok(), expected, "{word}");
        }
    }
}
