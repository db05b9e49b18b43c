//! Which notes of a vault are lore.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which notes of a vault are lore, written as a list: `tagged` (notes with the tag that marks
/// lore), `all`, tags with `#`, and folders. A `-` before a tag or folder leaves its notes out.
///
/// One setting says it all, so that a vault without any tag of ours needs no edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Admission(Vec<AdmissionItem>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct AdmissionItem {
    admits: bool,
    notes: NoteSet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NoteSet {
    Tagged,
    All,
    /// In lower case; tags inside it count too.
    Tag(String),
    /// With the folders inside it.
    Folder(String),
}

impl Default for Admission {
    fn default() -> Self {
        Self(vec![AdmissionItem { admits: true, notes: NoteSet::Tagged }])
    }
}

impl Admission {
    /// Whether a note is lore, with these tags in lower case and, if `tagged`, the tag that marks
    /// lore.
    pub(super) fn admits(&self, path: &str, tags: &[String], tagged: bool) -> bool {
        let holds = |notes: &NoteSet| match notes {
            NoteSet::Tagged => tagged,
            NoteSet::All => true,
            NoteSet::Tag(wanted) => tags.iter().any(|tag| is_inside(tag, wanted)),
            NoteSet::Folder(folder) => {
                path.rsplit_once('/').is_some_and(|(own, _)| is_inside(own, folder))
            }
        };
        let any =
            |admits: bool| self.0.iter().any(|item| item.admits == admits && holds(&item.notes));
        any(true) && !any(false)
    }
}

/// Whether a word means more than a folder of that name, which then needs a slash.
fn is_word(name: &str) -> bool {
    ["all", "*", "tagged"].contains(&name)
}

/// Whether a path of names is another or lies inside it.
fn is_inside(path: &str, outer: &str) -> bool {
    let rest = path.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl From<String> for Admission {
    fn from(text: String) -> Self {
        let item = |part: &str| {
            let (admits, name) = match part.strip_prefix('-') {
                Some(rest) => (false, rest.trim()),
                None => (true, part),
            };
            let notes = match name {
                "tagged" => NoteSet::Tagged,
                "all" | "*" => NoteSet::All,
                _ => match name.strip_prefix('#') {
                    Some(tag) => NoteSet::Tag(tag.trim_matches('/').to_lowercase()),
                    None => NoteSet::Folder(name.trim_matches('/').to_owned()),
                },
            };
            AdmissionItem { admits, notes }
        };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let items: Vec<AdmissionItem> = parts.map(item).collect();
        // A list of nothing but exceptions means all other notes.
        if items.is_empty() {
            return Self::default();
        }
        if items.iter().any(|item| item.admits) {
            return Self(items);
        }
        let all = AdmissionItem { admits: true, notes: NoteSet::All };
        Self(std::iter::once(all).chain(items).collect())
    }
}

impl fmt::Display for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, item) in self.0.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            let minus = if item.admits { "" } else { "-" };
            write!(f, "{comma}{minus}")?;
            match &item.notes {
                NoteSet::Tagged => write!(f, "tagged")?,
                NoteSet::All => write!(f, "all")?,
                NoteSet::Tag(tag) => write!(f, "#{tag}")?,
                NoteSet::Folder(folder) if is_word(folder) => write!(f, "{folder}/")?,
                NoteSet::Folder(folder) => write!(f, "{folder}")?,
            }
        }
        Ok(())
    }
}

impl From<Admission> for String {
    fn from(admission: Admission) -> Self {
        admission.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_admitted_by_tag_by_folder_or_all_of_them() {
        let note = |path: &str, tags: &[&str], list: &str| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let tagged = tags.iter().any(|tag| tag == "lorebook");
            Admission::from(list.to_owned()).admits(path, &tags, tagged)
        };
        for (path, tags, list, admitted) in [
            ("A.md", &["lorebook"][..], "tagged", true),
            ("A.md", &["npc"], "tagged", false),
            ("A.md", &["npc"], "", false),
            ("A.md", &[], "all", true),
            ("A.md", &[], "*", true),
            ("A.md", &["npc/hero"], "#NPC", true),
            ("A.md", &["npcs"], "#npc", false),
            ("Places/North/A.md", &[], "Places", true),
            ("Places/North/A.md", &[], "Places/North/", true),
            ("Placeship/A.md", &[], "Places", false),
            ("A.md", &[], "Places", false),
            ("Places/A.md", &["draft"], "#npc, Places, -#draft", false),
            ("Templates/A.md", &[], "all, -Templates", false),
            ("Templates/A.md", &[], "-Templates", false),
            ("Places/A.md", &[], "-Templates", true),
            ("all/A.md", &[], "all/", true),
            ("B/A.md", &[], "all/", false),
        ] {
            assert_eq!(note(path, tags, list), admitted, "{path} {tags:?} `{list}`");
        }
    }

    #[test]
    fn a_list_reads_as_it_is_written() {
        for (list, written) in [
            ("", "tagged"),
            (" #NPC ,Places/ ", "#npc, Places"),
            ("-Templates", "all, -Templates"),
            ("*", "all"),
            ("all/", "all/"),
        ] {
            let read = Admission::from(list.to_owned());
            assert_eq!(read.to_string(), written);
            assert_eq!(Admission::from(written.to_owned()), read);
        }
    }
}
