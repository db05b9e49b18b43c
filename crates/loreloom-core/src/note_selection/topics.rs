//! Notes by topic, for a first rough choice in large vaults.

use crate::vault_notes::Note;

/// Notes of one topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster<'a> {
    /// The topic.
    pub name: String,
    /// Its notes.
    pub notes: Vec<&'a Note>,
}

/// The topic of notes that name none.
const OTHER: &str = "Uncategorized";
/// Titles shown of each topic.
const SHOWN: usize = 5;
/// Tags that say how a note is used, not what it is about.
const MARKERS: [&str; 7] = [
    "lorebook",
    "lorebook-always",
    "lorebook-seed",
    "lorebook-bootstrap",
    "lorebook-guide",
    "lorebook-never",
    "lorebook-constant",
];

/// Groups notes by their first tag about a topic, or by their top folder if no tag is about
/// one.
pub fn cluster<'a>(notes: impl IntoIterator<Item = &'a Note>) -> Vec<Cluster<'a>> {
    let mut clusters: Vec<Cluster<'a>> = Vec::new();
    for note in notes {
        let name = topic(note);
        match clusters.iter_mut().find(|cluster| cluster.name == name) {
            Some(cluster) => cluster.notes.push(note),
            None => clusters.push(Cluster { name: name.to_owned(), notes: vec![note] }),
        }
    }
    clusters
}

fn topic(note: &Note) -> &str {
    if note.tags.is_empty() {
        return OTHER;
    }
    let about = note.tags.iter().find(|tag| !MARKERS.contains(&tag.to_lowercase().as_str()));
    let folder = note.path.split_once('/').map(|(top, _)| top).filter(|top| !top.is_empty());
    about.map(String::as_str).or(folder).unwrap_or(OTHER)
}

/// One line for each topic, for the selecting model.
pub fn cluster_manifest(clusters: &[Cluster<'_>]) -> String {
    let line = |cluster: &Cluster<'_>| {
        let count = cluster.notes.len();
        let shown: Vec<&str> =
            cluster.notes.iter().take(SHOWN).map(|note| note.title.as_str()).collect();
        let more = match count.checked_sub(SHOWN) {
            Some(more) if more > 0 => format!(" (+{more} more)"),
            Some(_) | None => String::new(),
        };
        format!("[{}] ({count} entries): {}{more}", cluster.name, shown.join(", "))
    };
    clusters.iter().map(line).collect::<Vec<_>>().join("\n")
}
