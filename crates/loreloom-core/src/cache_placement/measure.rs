//! What one prompt kept of the one before, and what it costs.

use serde::{Deserialize, Serialize};

use super::{Bill, CacheMark, Provider, SharedPrefix, TokenMemo, kept, marks};
use crate::{assemble::Assembled, chat::Role, place::Provenance, prompt::PromptMessage};

/// A prompt that was sent: what the next one is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Sent {
    /// The prompt.
    pub prompt: Vec<PromptMessage>,
    /// The breakpoints it had or should have had.
    pub marks: Vec<CacheMark>,
}

/// What a prompt kept, and what it costs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Measured {
    /// What it has in common with the one before.
    pub kept: SharedPrefix,
    /// What it costs.
    pub bill: Bill,
    /// Where its breakpoints should be; none for a provider that needs none.
    pub marks: Vec<CacheMark>,
}

/// Measures a prompt. `before` is the last one sent to the same model in the same chat, on any
/// branch: caches know no branches. `moves` says which sources move in the next prompt
/// ([`super::Planned::is_tail`]).
///
/// It counts all tokens of the prompt, so call it after sending, with a memo that lives as long as
/// the chat is in use.
pub fn measure(
    provider: &Provider,
    before: Option<&Sent>,
    now: &Assembled,
    moves: &dyn Fn(&Provenance) -> bool,
    memo: &mut TokenMemo<'_>,
) -> Measured {
    let prompt = &now.messages;
    let head = prompt.iter().take_while(|one| one.role == Role::System).count();
    let moving = now.spans.iter().filter(|span| moves(&span.source));
    let stable = moving.map(|span| span.message).min().unwrap_or(prompt.len());
    let marks = marks(provider, prompt, head, stable, memo);
    let nothing = Sent::default();
    let before = before.unwrap_or(&nothing);
    let kept = kept(&before.prompt, prompt, memo);
    Measured { kept, bill: provider.bill(&kept, &before.marks, &marks), marks }
}
