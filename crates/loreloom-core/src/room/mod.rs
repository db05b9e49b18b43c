//! Room: the budget over everything.
//!
//! Each source has its own budget and rule. Over them is a total, and over all of it the model's
//! context: the prompt and the reply must fit into it. What is too much gives way as whole texts
//! or whole messages, and the report says which.

mod give_way;
mod history;
mod rules;

pub(crate) use self::give_way::{pool_of, take_out};
pub use self::{
    give_way::{can_give_way, give_way},
    history::{CoveredMessages, Cut},
    rules::{MakeRoom, RankedSource, RoomRules},
};
use crate::{
    assemble::{Joined, Layout, Plan, PromptEdit},
    place::{Injection, Provenance},
    prompt::PromptMessage,
    tokens::TokenCounter,
    turn::TurnInput,
    units::Tokens,
};

/// What a chat template writes around a message, in tokens.
const FRAME: u32 = 4;

/// What a text may add where it is joined to others, in tokens.
const SEAM: u32 = 2;

/// The model's context in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextWindow {
    /// Its size.
    pub context: Tokens,
    /// Whether somebody stated the size. An assumed size cuts nothing.
    pub stated: bool,
    /// The longest reply.
    pub reply: Tokens,
}

impl ContextWindow {
    /// The window of a turn.
    pub fn of(input: &TurnInput) -> Self {
        let (context, stated) = (input.context, input.context_stated);
        Self { context, stated, reply: input.reply_tokens }
    }

    /// What is kept free for the reply. Front ends that do not limit replies send huge numbers,
    /// so at most half of the context is.
    pub fn reserved(&self) -> Tokens {
        self.reply.min(Tokens(self.context.0 / 2))
    }

    /// The most tokens that the texts of so many messages may have.
    pub fn limit(&self, messages: usize) -> Tokens {
        let frames = u32::try_from(messages + 1).unwrap_or(u32::MAX).saturating_mul(FRAME);
        let taken = self.reserved().saturating_add(Tokens(frames));
        self.context.checked_sub(taken).unwrap_or_default()
    }

    /// Whether a prompt fits for sure, together with so many tokens in so many texts. A quick
    /// answer that may be wrongly `false`.
    pub fn surely_fits(
        &self,
        (prompt, layout): (&[PromptMessage], &Layout),
        added: Tokens,
        texts: usize,
        counter: &dyn TokenCounter,
    ) -> bool {
        let limit = self.limit(prompt.len() + texts);
        let seams = u32::try_from(texts).unwrap_or(u32::MAX).saturating_mul(SEAM);
        let added = added.saturating_add(Tokens(seams));
        // No token is shorter than a byte.
        let bytes: usize = prompt.iter().map(|message| message.content.len()).sum();
        let most = Tokens(u32::try_from(bytes).unwrap_or(u32::MAX));
        added.saturating_add(most) <= limit
            || added.saturating_add(measured(prompt, layout, counter)) <= limit
    }

    /// By how many tokens a finished prompt is too long, if it is, and its tokens.
    pub fn excess(
        &self,
        prompt: &[PromptMessage],
        counter: &dyn TokenCounter,
    ) -> (Option<Tokens>, Tokens) {
        let used = tokens_in(prompt, counter);
        let over = used.checked_sub(self.limit(prompt.len())).filter(|over| *over > Tokens::ZERO);
        (over, used)
    }
}

/// The tokens of a prompt.
pub fn tokens_in(prompt: &[PromptMessage], counter: &dyn TokenCounter) -> Tokens {
    prompt.iter().map(|message| counter.count(&message.content)).sum()
}

/// The tokens of lore among these texts.
pub fn lore_tokens(injections: &[Injection]) -> Tokens {
    let lore = injections.iter().filter(|one| matches!(one.source, Provenance::Lore { .. }));
    lore.map(|one| one.tokens).sum()
}

/// What the texts of a turn may take together: as much as they could when the turn was decided
/// first, or the total of the rules.
pub(crate) fn limit_of(
    injections: &[Injection],
    input: &TurnInput,
    rules: &RoomRules,
) -> Option<Tokens> {
    let Some(lore) = input.lore_room else { return rules.total(input.context) };
    let all: Tokens = injections.iter().map(|one| one.tokens).sum();
    let others = all.checked_sub(lore_tokens(injections)).unwrap_or_default();
    Some(lore.saturating_add(others))
}

/// The tokens of a prompt, counted turn by turn: counters cache the texts that they know.
fn measured(prompt: &[PromptMessage], layout: &Layout, counter: &dyn TokenCounter) -> Tokens {
    let tokens = prompt.iter().enumerate().map(|(at, message)| {
        let text = message.content.as_str();
        let marks = layout.head.iter().chain(&layout.chat).filter(|mark| mark.message == at);
        let starts = marks.filter_map(|mark| mark.range).map(|(start, _)| start);
        let (mut tokens, mut from) = (Tokens::ZERO, 0);
        for start in starts.chain([text.len()]) {
            let piece = text.get(from..start).unwrap_or_default();
            tokens = tokens.saturating_add(counter.count(piece));
            from = from.max(start);
        }
        tokens
    });
    tokens.sum()
}

impl Cut {
    /// The smallest cut that makes room for `over` more tokens.
    ///
    /// System texts, the newest exchange and half a tool call never leave.
    pub fn for_room(
        over: Tokens,
        prompt: (&[PromptMessage], &Layout),
        window: &ContextWindow,
        counter: &dyn TokenCounter,
    ) -> Self {
        Self::freeing(over, prompt, window.context, counter)
    }

    /// The cut as edits of messages, for what leaves inside of them.
    pub fn plan(&self, messages: usize) -> Plan {
        let edits = (0..messages).flat_map(|message| {
            self.ranges(message).map(move |(start, end)| PromptEdit {
                message,
                start,
                end,
                joined: Joined::default(),
            })
        });
        Plan { edits: edits.collect(), ..Plan::default() }
    }
}
