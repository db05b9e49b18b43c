//! What is remembered of one person, place or thing, in order.

use std::io::Write;

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{ids::ChatId, units::Timestamp};
use loreloom_memory::service::Who;

use super::MemoryContext;
use crate::{dates, stored::excerpt};

/// Show what is remembered about a person, place or thing, oldest first.
#[derive(Debug, Args)]
pub(super) struct Timeline {
    /// Its name, or another name it goes by
    name: String,

    /// The chat
    #[arg(long, value_name = "CHAT")]
    chat: String,

    /// Also what this character remembers from its other chats
    #[arg(long, value_name = "CHARACTER")]
    character: Option<String>,
}

impl Timeline {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let chat = ChatId::from(self.chat.as_str());
        let path = context.path(&chat).await?;
        let who = self.character.as_deref().map(Who::named).unwrap_or_default();
        let timeline = context
            .service
            .search
            .timeline(&context.tenant, &chat, &path, &who, &self.name)
            .await?;
        let timeline =
            timeline.with_context(|| format!("nothing is remembered of `{}`", self.name))?;
        if context.json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&timeline)?)?);
        }
        let others = timeline.aliases.join(", ");
        let others = if others.is_empty() { others } else { format!(" ({others})") };
        writeln!(out, "{}, {}{others}", timeline.name, timeline.kind.as_str())?;
        for one in &timeline.moments {
            let mark = if one.holds { ' ' } else { '-' };
            let at = one.ts.map_or_else(|| "-".to_owned(), |at| dates::shown(Timestamp(at)));
            let message = one.message.map_or_else(String::new, |number| format!("#{number}"));
            writeln!(out, "{mark} {at:<20} {message:<7} {}", excerpt(&one.text, 90))?;
        }
        Ok(())
    }
}
