//! Which notes fit, how they are written and where they go.
//!
//! Notes are taken in order of importance. One that does not fit is shortened at a
//! sentence if enough of it fits, and ends the list, so authors can predict from the order
//! which notes win.

use super::{OversizedFirst, Pick, Stopped, TEMPLATE, Vault, VaultRules};
use crate::{
    chat::Role,
    library::EntryIx,
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

/// Notes that go to one place, written one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The place, by its first note.
    pub seat: Seat,
    /// The role.
    pub role: Role,
    /// The text.
    pub text: String,
}

/// Fits notes into the budget, in order.
pub fn fit(
    vault: &Vault,
    picks: &[Pick],
    rules: &VaultRules,
    counter: &dyn TokenCounter,
) -> Fitted {
    let mut fitted = Fitted::default();
    let (outlets, others): (Vec<&Pick>, Vec<&Pick>) =
        picks.iter().partition(|pick| vault.note(pick.ix).seat.outlet.is_some());
    let writer = NoteWriter { vault, rules, counter };
    let mut used = Tokens::ZERO;
    let mut closed = false;
    for pick in others {
        let needed = vault.tokens(pick.ix, counter);
        let full = rules.budget.entries.filter(|most| fitted.notes.len() >= *most as usize);
        let verdict = match full {
            _ if closed => Err(Stop::BudgetClosed { needed }),
            Some(most) => Err(Stop::MaxEntries { most }),
            None => writer.take(pick, used, fitted.notes.is_empty()),
        };
        match verdict {
            Ok(note) => {
                used = used.saturating_add(note.tokens);
                closed |= note.shortened_from.is_some();
                fitted.notes.push(note);
            }
            Err(stop) => {
                closed |= matches!(stop, Stop::Budget { .. }) && !fitted.notes.is_empty();
                fitted.stopped.push(Stopped { ix: pick.ix, stop });
            }
        }
    }
    let content = |pick: &Pick| &vault.note(pick.ix).content;
    fitted.notes.extend(outlets.into_iter().map(|pick| writer.whole(pick, content(pick))));
    fitted
}

struct NoteWriter<'a> {
    vault: &'a Vault,
    rules: &'a VaultRules,
    counter: &'a dyn TokenCounter,
}

impl NoteWriter<'_> {
    fn tokens(&self, ix: EntryIx) -> Tokens {
        self.vault.tokens(ix, self.counter)
    }

    fn take(&self, pick: &Pick, used: Tokens, first: bool) -> Result<FittedNote, Stop> {
        let (note, needed) = (self.vault.note(pick.ix), self.tokens(pick.ix));
        let budget = self.rules.budget;
        let limit = match budget.tokens {
            Some(limit) if used.saturating_add(needed) > limit => limit,
            Some(_) | None => return Ok(self.whole(pick, &note.content)),
        };
        if first && budget.oversized_first == OversizedFirst::Whole {
            return Ok(self.whole(pick, &note.content));
        }
        let left = limit.checked_sub(used).unwrap_or_default();
        if left < budget.shortest {
            return Err(Stop::Budget { needed, left, over: Tokens::default() });
        }
        let (content, tokens) = self.shortened(pick.ix, left);
        let whole = self.whole(pick, &content);
        Ok(FittedNote { tokens, shortened_from: Some(needed), ..whole })
    }

    fn whole(&self, pick: &Pick, content: &str) -> FittedNote {
        let note = self.vault.note(pick.ix);
        FittedNote {
            ix: pick.ix,
            text: self.write(&note.title, content),
            tokens: self.tokens(pick.ix),
            shortened_from: None,
            seat: self.seat(pick),
        }
    }

    /// Shortens a note to about so many tokens, by its own characters per token. With a real
    /// tokenizer the result is counted and shortened until it fits.
    fn shortened(&self, ix: EntryIx, left: Tokens) -> (String, Tokens) {
        let (note, tokens) = (self.vault.note(ix), self.tokens(ix));
        let per_token = if tokens == Tokens::ZERO || note.content.is_empty() {
            4.0
        } else {
            float(length(&note.content)) / f64::from(tokens.0)
        };
        let mut units = whole(f64::from(left.0) * per_token);
        loop {
            let content = shorten(&note.content, units);
            if self.rules.quirks.estimate_shortened {
                let tokens = Tokens(ceil(float(length(&content)) / per_token));
                return (content, tokens);
            }
            let tokens = self.counter.count(&content);
            if tokens <= left || units == 0 {
                return (content, tokens);
            }
            units -= (units / 16).max(1);
        }
    }

    /// Writes a note. Macros inside its text are not expanded.
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

    fn role(&self) -> Option<Role> {
        match self {
            Self::At { role, .. } => Some(*role),
            Self::Slot(_) => Some(Role::System),
            Self::Outlet { role, .. } => *role,
        }
    }

    fn joins(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Outlet { name, .. }, Self::Outlet { name: other, .. }) => name == other,
            _ => self == other,
        }
    }
}

impl Fitted {
    /// All tokens, outlets too.
    pub fn tokens(&self) -> Tokens {
        self.notes.iter().map(|note| note.tokens).sum()
    }

    /// The texts by place, in the order in which the places first come up. An outlet takes
    /// the first role that one of its notes names.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<(Group, Option<Role>)> = Vec::new();
        for note in &self.notes {
            let role = note.seat.role();
            let open = groups.iter_mut().find(|(group, _)| group.seat.joins(&note.seat));
            if let Some((group, known)) = open {
                group.text.push_str("\n\n");
                group.text.push_str(&note.text);
                *known = known.or(role);
            } else {
                let (seat, text) = (note.seat.clone(), note.text.clone());
                groups.push((Group { seat, role: Role::System, text }, role));
            }
        }
        let with_role = |(group, role): (Group, Option<Role>)| Group {
            role: role.unwrap_or_default(),
            ..group
        };
        groups.into_iter().map(with_role).collect()
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

#[expect(clippy::cast_precision_loss, reason = "lengths of texts are far below 2^52")]
fn float(units: usize) -> f64 {
    units as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative, and the cast saturates"
)]
fn whole(units: f64) -> usize {
    units as usize
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative, and the cast saturates"
)]
fn ceil(tokens: f64) -> u32 {
    tokens.ceil() as u32
}
