//! Names of those who speak the messages of a request.
//!
//! A `name` field is certain. A name in front of the text is, if all messages of a role have one:
//! front ends write it before all of them or before none.

use loreloom_core::chat::{Message, Role};
use rustc_hash::FxHashSet;

use super::naming::is_label;
use crate::{
    text::{bracketed, speaker},
    window::{Part, Window},
};

/// What the speakers of a request show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpeakingRoles {
    pub(super) user: Option<String>,
    pub(super) char: Option<String>,
    /// All names that are certain.
    pub(super) names: Vec<String>,
    /// Whether several characters speak about equally often.
    pub(super) group: bool,
}

impl SpeakingRoles {
    pub(super) fn of(window: &Window, instructions: &[&str]) -> Self {
        let talk = |role: Role| {
            let parts = window.parts.iter().filter(move |part| part.role == role);
            parts.filter(|part| !part.tool && !bracketed(&part.text)).collect::<Vec<&Part>>()
        };
        let (by_user, by_model) = (talk(Role::User), talk(Role::Assistant));
        let (users, models) = (names_of(&by_user), names_of(&by_model));
        let both = users.is_some() && models.is_some();
        let is_mentioned = |name: &&str| instructions.iter().any(|text| text.contains(*name));
        let sure = |names: &Vec<&str>| {
            let repeated = names.len() > 1 && names.iter().all(|name| *name == names[0]);
            // A speaker speaks again; headings differ.
            let distinct = names.iter().collect::<FxHashSet<_>>().len();
            if distinct > names.len().div_ceil(2) {
                return false;
            }
            let talk = !by_user.is_empty() && !by_model.is_empty();
            both || repeated || (talk && names.iter().all(is_mentioned))
        };
        let fields = || by_user.iter().chain(&by_model).filter_map(|part| part.name.as_deref());
        let last = by_user.last().and_then(|part| part.name.as_deref());
        let (users, models) = (users.filter(sure), models.filter(sure));
        let user = users.as_ref().and_then(|users| users.last().copied()).or(last);
        let char = models.as_ref().and_then(|models| usual(models));
        let group = models.is_some() && char.is_none();
        let names = fields().chain(users.into_iter().chain(models).flatten());
        Self {
            user: user.map(str::to_owned),
            char: char.map(str::to_owned),
            names: names.map(str::to_owned).collect(),
            group,
        }
    }
}

/// The speakers of these pieces, certain or not; `None` if one has none.
fn names_of<'a>(parts: &[&'a Part]) -> Option<Vec<&'a str>> {
    let names: Option<Vec<&str>> = parts.iter().map(|part| name_of(part)).collect();
    names.filter(|names| !names.is_empty())
}

/// The speaker of a piece, certain or not.
fn name_of(part: &Part) -> Option<&str> {
    let prefix = || speaker(&part.text).map(|(name, _)| name).filter(|name| !is_label(name));
    part.name.as_deref().or_else(prefix)
}

/// Who speaks more than two thirds of the messages that have a speaker. A line that somebody else
/// was given by hand makes no group.
fn usual<'a>(names: &[&'a str]) -> Option<&'a str> {
    let last = names.last()?;
    let often = |name: &str| names.iter().filter(|other| **other == name).count();
    let most = names.iter().max_by_key(|name| (often(name), *name == last))?;
    (often(most) * 3 > names.len() * 2).then_some(most)
}

/// The model's usual speaker on a path.
pub(super) fn usual_speaker(path: &[Message]) -> Option<String> {
    let replies = path.iter().filter(|message| message.role == Role::Assistant);
    let names: Vec<&str> = replies.filter_map(|message| message.name.as_deref()).collect();
    usual(&names).map(str::to_owned)
}
