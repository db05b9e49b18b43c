//! Groups: several characters that play together, and who speaks when.

use serde::{Deserialize, Serialize};

use super::kinds::CastDocument;

/// Who of a group speaks next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnOrder {
    /// Those who are named in the newest message, else the one who was silent longest.
    #[default]
    Natural,
    /// One after the other, in the order of the members.
    List,
    /// Only who is chosen.
    Manual,
}

/// A stored group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptGroup {
    /// The name. Books that are attached to a group go by it.
    pub name: String,
    /// The ids of the characters.
    pub members: Vec<String>,
    /// Members who do not speak unless they are chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub muted: Vec<String>,
    /// Who speaks next.
    pub order: TurnOrder,
}

impl CastDocument for KeptGroup {
    const PREFIX: &'static str = "group/";
    const WHAT: &'static str = "group";
}

/// A member as the turn order sees it.
#[derive(Clone, Copy, Debug)]
pub struct GroupMember<'a> {
    /// Its id.
    pub id: &'a str,
    /// The name it speaks under.
    pub name: &'a str,
}

impl TurnOrder {
    /// Who speaks next. `spoken` has the names of those who spoke, the newest last; `newest` is
    /// the text of the newest message.
    pub fn next<'a>(
        self,
        members: &[GroupMember<'a>],
        spoken: &[&str],
        newest: &str,
    ) -> Option<GroupMember<'a>> {
        let last = spoken.last().copied();
        match self {
            Self::Manual => None,
            Self::List => {
                let at = members.iter().position(|member| Some(member.name) == last);
                let next = at.map_or(0, |at| at + 1);
                members.get(next).or_else(|| members.first()).copied()
            }
            Self::Natural => {
                let named = members.iter().filter(|member| Some(member.name) != last);
                let named =
                    named.filter_map(|member| Some((mention(newest, member.name)?, member)));
                let named = named.min_by_key(|(at, _)| *at).map(|(_, member)| *member);
                let silent = |member: &&GroupMember<'_>| {
                    spoken.iter().rposition(|name| *name == member.name).map_or(0, |at| at + 1)
                };
                named.or_else(|| members.iter().min_by_key(silent).copied())
            }
        }
    }
}

/// Where a text names somebody: by the whole name or its first word.
fn mention(text: &str, name: &str) -> Option<usize> {
    let text = text.to_lowercase();
    let first = name.split_whitespace().next().unwrap_or(name);
    let found = [name, first].into_iter().filter_map(|name| {
        let name = name.to_lowercase();
        let is_end = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric());
        let mut places = text.match_indices(name.as_str()).filter(|(at, _)| {
            !name.is_empty()
                && is_end(text[..*at].chars().next_back())
                && is_end(text[at + name.len()..].chars().next())
        });
        places.next().map(|(at, _)| at)
    });
    found.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: [GroupMember<'static>; 3] = [
        GroupMember { id: "o", name: "Orla" },
        GroupMember { id: "b", name: "Ben Dow" },
        GroupMember { id: "z", name: "Zoë" },
    ];

    #[test]
    fn the_order_says_who_speaks_next() {
        use TurnOrder::{List, Manual, Natural};
        for (order, spoken, newest, next) in [
            (List, &[][..], "hm", Some("o")),
            (List, &["Orla"], "Zoë?", Some("b")),
            (List, &["Orla", "Zoë"], "hm", Some("o")),
            (Natural, &["Orla"], "Well, ben, and Zoë?", Some("b")),
            (Natural, &["Orla"], "Orlando speaks", Some("b")),
            (Natural, &["Ben Dow", "Orla"], "hm", Some("z")),
            (Natural, &["Zoë", "Ben Dow", "Orla"], "I ask Orla.", Some("z")),
            (Natural, &["Zoë", "Orla"], "zoë!", Some("z")),
            (Manual, &[], "Zoë?", None),
        ] {
            let found = order.next(&MEMBERS, spoken, newest).map(|member| member.id);
            assert_eq!(found, next, "{order:?} {spoken:?} {newest}");
        }
        assert!(List.next(&[], &[], "").is_none());
    }
}
