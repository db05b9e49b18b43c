//! Which notes fit, how they are written and where they go.
//!
//! Notes are taken in order of importance. One that does not fit is left out whole, and a smaller
//! one below it may still enter. Where the rules choose so, it is shortened at a sentence instead
//! if enough of it fits, and ends the list.

use super::{
    BudgetRules, OversizedFirst, Pick, Stopped, TEMPLATE, Vault, VaultRules, VaultTools,
    tools::NoteText,
};
use crate::{
    chat::Role,
    engine::budget::{Budget, BudgetRule},
    library::EntryIx,
    number::{real, whole},
    place::{Injection, Place, Provenance},
    report::Stop,
    shorten::shorten,
    tokens::TokenCounter,
    units::{Depth, Tokens},
    utf16::length,
    vault_notes::NotePosition,
};

/// What fits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fitted {
    /// The notes in order; those of outlets come last.
    pub notes: Vec<FittedNote>,
    /// The notes that are left out.
    pub stopped: Vec<Stopped>,
    /// Notes that have no text, so that there is nothing to send.
    pub blank: Vec<EntryIx>,
}

/// A note that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedNote {
    /// The note.
    pub ix: EntryIx,
    /// The text as it is sent.
    pub text: String,
    /// The tokens of its content.
    pub tokens: Tokens,
    /// What it had before it was shortened.
    pub shortened_from: Option<Tokens>,
    /// Where it goes.
    pub seat: Seat,
}

/// Where a note goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Seat {
    /// A place of the prompt. The depth also keeps groups apart that are not in the chat.
    At {
        /// The place.
        position: NotePosition,
        /// Depth inside the chat.
        depth: Depth,
        /// The role.
        role: Role,
    },
    /// A named slot of the prompt's template.
    Slot(&'static str),
    /// Where the prompt asks for it by name.
    Outlet {
        /// The name.
        name: String,
        /// The role, if the note has one.
        role: Option<Role>,
    },
}

/// The slot of constant notes.
const CONSTANTS: &str = "vault_constants";
/// The slot of all other notes.
const LORE: &str = "vault_lore";

/// Fits notes into the budget, in order.
pub fn fit(
    vault: &Vault,
    picks: &[Pick],
    rules: &VaultRules,
    tools: &mut VaultTools<'_>,
) -> Fitted {
    let mut fitted = Fitted::default();
    let (outlets, others): (Vec<&Pick>, Vec<&Pick>) =
        picks.iter().partition(|pick| vault.note(pick.ix).seat.outlet.is_some());
    let writer = NoteWriter { vault, rules };
    let mut budget = NoteBudget::of(rules);
    for pick in others.into_iter().chain(outlets) {
        let seat = writer.seat(pick);
        let text = tools.text(vault, pick.ix, seat.place().depth());
        if writer.is_blank(&text) {
            fitted.blank.push(pick.ix);
            continue;
        }
        // Only what the prompt asks for goes in at an outlet, so it is free.
        let share = match &seat {
            Seat::Outlet { .. } => Ok(Share::Whole),
            Seat::At { .. } | Seat::Slot(_) => budget.take(&text, tools.counter),
        };
        match share {
            Ok(share) => {
                tools.keep(&text);
                fitted.notes.push(writer.note(pick, seat, text, share));
            }
            Err(stop) => fitted.stopped.push(Stopped { ix: pick.ix, stop }),
        }
    }
    fitted
}

/// How much of a note goes in.
enum Share {
    Whole,
    Shortened(String, Tokens),
}

/// The budget of notes while it is spent.
struct NoteBudget {
    rules: BudgetRules,
    /// The size of a shortened note is estimated from its length.
    estimates: bool,
    tokens: Budget,
    notes: u32,
    closed: bool,
}

impl NoteBudget {
    fn of(rules: &VaultRules) -> Self {
        let limit = rules.budget.tokens.unwrap_or(Tokens(u32::MAX));
        let rule = BudgetRule { names_oversized: !rules.budget.shorten, ..BudgetRule::default() };
        Self {
            rules: rules.budget,
            estimates: rules.quirks.estimate_shortened,
            tokens: Budget::new(limit, rule),
            notes: 0,
            closed: false,
        }
    }

    fn take(&mut self, text: &NoteText<'_>, counter: &dyn TokenCounter) -> Result<Share, Stop> {
        if self.closed {
            return Err(Stop::BudgetClosed { needed: text.tokens });
        }
        if let Some(most) = self.rules.entries.filter(|most| self.notes >= *most) {
            return Err(Stop::MaxEntries { most });
        }
        let share = match self.tokens.take(text.tokens) {
            Ok(()) => Share::Whole,
            // It is not counted, so that the others keep their budget.
            Err(_) if self.notes == 0 && self.rules.oversized_first == OversizedFirst::Whole => {
                Share::Whole
            }
            Err(stop) if !self.rules.shorten => return Err(stop),
            Err(_) => self.shortened(text, counter)?,
        };
        self.notes += 1;
        Ok(share)
    }

    fn shortened(
        &mut self,
        text: &NoteText<'_>,
        counter: &dyn TokenCounter,
    ) -> Result<Share, Stop> {
        let left = self.tokens.limit.checked_sub(self.tokens.used).unwrap_or_default();
        if left < self.rules.shortest {
            self.closed = self.notes > 0;
            return Err(Stop::Budget { needed: text.tokens, left, over: Tokens::default() });
        }
        let (content, tokens) = self.cut(text, left, counter);
        self.tokens.used = self.tokens.used.saturating_add(tokens);
        self.closed = true;
        Ok(Share::Shortened(content, tokens))
    }

    /// Shortens a text to about so many tokens, by its own characters per token. With a real
    /// tokenizer the result is counted and shortened until it fits.
    fn cut(
        &self,
        text: &NoteText<'_>,
        left: Tokens,
        counter: &dyn TokenCounter,
    ) -> (String, Tokens) {
        let NoteText { content, tokens, .. } = text;
        let per_token = if *tokens == Tokens::ZERO || content.is_empty() {
            4.0
        } else {
            real(length(content)) / f64::from(tokens.0)
        };
        let mut units = whole(f64::from(left.0) * per_token);
        loop {
            let content = shorten(content, units as usize);
            if self.estimates {
                let tokens = Tokens(whole((real(length(&content)) / per_token).ceil()));
                return (content, tokens);
            }
            let tokens = counter.count(&content);
            if tokens <= left || units == 0 {
                return (content, tokens);
            }
            units -= (units / 16).max(1);
        }
    }
}

struct NoteWriter<'a> {
    vault: &'a Vault,
    rules: &'a VaultRules,
}

impl NoteWriter<'_> {
    fn is_blank(&self, text: &NoteText<'_>) -> bool {
        !self.rules.quirks.empty_notes_are_sent && text.content.trim().is_empty()
    }

    fn note(&self, pick: &Pick, seat: Seat, text: NoteText<'_>, share: Share) -> FittedNote {
        let (content, tokens, shortened_from) = match share {
            Share::Whole => (text.content, text.tokens, None),
            Share::Shortened(content, tokens) => (content.into(), tokens, Some(text.tokens)),
        };
        let text = self.write(&self.vault.note(pick.ix).title, &content);
        FittedNote { ix: pick.ix, text, tokens, shortened_from, seat }
    }

    /// Writes a note with the template.
    fn write(&self, title: &str, content: &str) -> String {
        let template = &self.rules.placement.template;
        let lacks =
            !template.contains("{{content}}") && !self.rules.quirks.template_may_lack_content;
        let template = if template.is_empty() || lacks { TEMPLATE } else { template };
        let title = escape(title);
        let titled = template.split("{{content}}").map(|part| part.replace("{{title}}", &title));
        titled.collect::<Vec<_>>().join(content)
    }

    fn seat(&self, pick: &Pick) -> Seat {
        let own = &self.vault.note(pick.ix).seat;
        let common = &self.rules.placement;
        if let Some(name) = &own.outlet {
            return Seat::Outlet { name: name.clone(), role: own.role };
        }
        let says = own.position.is_some() || own.depth.is_some() || own.role.is_some();
        if common.slots && !says {
            return Seat::Slot(if pick.is_constant(self.vault) { CONSTANTS } else { LORE });
        }
        Seat::At {
            position: own.position.unwrap_or(common.position),
            depth: own.depth.unwrap_or(common.depth),
            role: own.role.unwrap_or(common.role),
        }
    }
}

impl Seat {
    /// The place in the prompt.
    pub fn place(&self) -> Place {
        match self {
            Self::At { position: NotePosition::Before, .. } => Place::BeforeMain,
            Self::At { position: NotePosition::After, .. } => Place::AfterMain,
            Self::At { position: NotePosition::InChat, depth, .. } => Place::AtDepth(*depth),
            Self::Slot(name) => Place::Slot((*name).to_owned()),
            Self::Outlet { name, .. } => Place::Outlet(name.clone()),
        }
    }

    /// The role, if it names one.
    pub fn role(&self) -> Option<Role> {
        match self {
            Self::At { role, .. } => Some(*role),
            Self::Slot(_) => Some(Role::System),
            Self::Outlet { role, .. } => *role,
        }
    }
}

impl Fitted {
    /// All tokens, outlets too.
    pub fn tokens(&self) -> Tokens {
        self.notes.iter().map(|note| note.tokens).sum()
    }

    /// The notes as injections, in prompt order.
    pub fn injections(&self, vault: &Vault) -> Vec<Injection> {
        let injection = |note: &FittedNote| Injection {
            place: note.seat.place(),
            role: note.seat.role().unwrap_or_default(),
            text: note.text.clone(),
            tokens: note.tokens,
            source: Provenance::Lore {
                book: vault.note(note.ix).book(),
                entry: vault.id(note.ix).clone(),
            },
        };
        self.notes.iter().map(injection).collect()
    }
}

/// Escapes what would end a tag or an attribute.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
