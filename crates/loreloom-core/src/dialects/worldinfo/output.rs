//! Where activated entries go: buckets by position, lower order first.

use std::sync::Arc;

use super::Activated;
use crate::{
    book::{Book, DepthFrom, Entry, Position},
    chat::Role,
    library::{EntryIx, Library},
    macros::MacroValues,
    regex_script::RegexScript,
    sort::stable_by,
    units::Depth,
};

/// An activated entry's text at its place.
#[derive(Clone, Debug)]
pub struct Placed<'scan> {
    /// The place.
    pub bucket: Bucket,
    /// The text to insert.
    pub text: Arc<str>,
    /// The entry.
    pub activated: &'scan Activated,
}

/// World Info's places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bucket {
    /// Before the character.
    Before,
    /// After the character.
    After,
    /// Above the author's note.
    NoteTop,
    /// Below the author's note.
    NoteBottom,
    /// Before the examples.
    ExamplesTop,
    /// After the examples.
    ExamplesBottom,
    /// In the chat. The depth is `None` where the entry has none and opens its own group.
    AtDepth(Option<Depth>, Role),
    /// A named outlet.
    Outlet(String),
}

/// Depth of an entry that names none.
pub const DEFAULT_DEPTH: Depth = Depth(4);

/// Places activated entries, in the order in which each bucket's text reads.
///
/// Entries are walked from the highest order to the lowest and put at the front of their
/// bucket, so equal orders come out last activated first; outlets are appended instead.
///
/// `scripts` change the text on its way, before it is wrapped; a text that they empty is
/// left out.
pub fn place<'scan>(
    library: &Library,
    activated: &'scan [Activated],
    scripts: &[RegexScript],
    macros: &MacroValues<'_>,
) -> Vec<Placed<'scan>> {
    let mut walk: Vec<&Activated> = activated.iter().collect();
    stable_by(&mut walk, |a, b| {
        let order = |one: &Activated| one.entry(library).placement.order;
        order(b)?.partial_cmp(&order(a)?)
    });
    let mut placed = Vec::with_capacity(walk.len());
    for one in walk {
        let Some(bucket) = bucket_of(one.entry(library), library.book(one.ix)) else { continue };
        let text = rewrite(one.text(library), &bucket, scripts, macros);
        if !text.is_empty() {
            let text = match &one.wrapping {
                Some(wrapping) => wrapping.wrap(&text).into(),
                None => text,
            };
            placed.push(Placed { bucket, text, activated: one });
        }
    }
    in_reading_order(placed)
}

/// Where an entry goes; `None` if nowhere.
pub(super) fn bucket_of(entry: &Entry, book: &Book) -> Option<Bucket> {
    let placement = &entry.placement;
    let origin = book.origin.as_ref().map_or("", |origin| origin.format.as_str());
    Some(match &placement.position {
        Position::Default if entry.unstated_is_after(origin) => Bucket::After,
        Position::Default | Position::BeforeCharacter => Bucket::Before,
        // World Info has no places inside the card: its far side is nearest.
        Position::AfterCharacter
        | Position::BeforeDescription
        | Position::AfterDescription
        | Position::Personality
        | Position::Scenario => Bucket::After,
        Position::NoteTop => Bucket::NoteTop,
        Position::NoteBottom => Bucket::NoteBottom,
        Position::ExamplesTop => Bucket::ExamplesTop,
        Position::ExamplesBottom => Bucket::ExamplesBottom,
        Position::AtDepth { from: DepthFrom::Newest | DepthFrom::Oldest } => {
            Bucket::AtDepth(placement.depth, placement.role.unwrap_or(Role::System))
        }
        Position::Outlet(name) if !name.is_empty() => Bucket::Outlet(name.clone()),
        Position::Slot(name) => Bucket::Outlet(name.clone()),
        Position::Outlet(_) | Position::Nowhere => return None,
    })
}

/// The text an entry is sent with, without its wrapper, if it is sent.
pub(crate) fn sent_text(
    library: &Library,
    ix: EntryIx,
    scripts: &[RegexScript],
    macros: &MacroValues<'_>,
) -> Arc<str> {
    let compiled = library.compiled(ix);
    let text = if compiled.dynamic {
        macros.expand(&compiled.body).into()
    } else {
        Arc::clone(&compiled.body)
    };
    match bucket_of(library.entry(ix), library.book(ix)) {
        Some(bucket) => rewrite(&text, &bucket, scripts, macros),
        None => text,
    }
}

fn rewrite(
    text: &Arc<str>,
    bucket: &Bucket,
    scripts: &[RegexScript],
    macros: &MacroValues<'_>,
) -> Arc<str> {
    let depth = match bucket {
        Bucket::AtDepth(depth, _) => Some(depth.unwrap_or(DEFAULT_DEPTH)),
        Bucket::Before
        | Bucket::After
        | Bucket::NoteTop
        | Bucket::NoteBottom
        | Bucket::ExamplesTop
        | Bucket::ExamplesBottom
        | Bucket::Outlet(_) => None,
    };
    let mut text = Arc::clone(text);
    for script in scripts.iter().filter(|script| script.applies_to_lore(depth)) {
        // Nothing comes of no text: a script does not fill what another emptied.
        if text.is_empty() {
            break;
        }
        text = script.apply(&text, macros).into();
    }
    text
}

/// Turns the walk into reading order: all buckets but outlets are filled from the front.
fn in_reading_order(walk: Vec<Placed<'_>>) -> Vec<Placed<'_>> {
    let (outlets, mut others): (Vec<_>, Vec<_>) =
        walk.into_iter().partition(|placed| matches!(placed.bucket, Bucket::Outlet(_)));
    others.reverse();
    others.extend(outlets);
    others
}

/// Wraps a block of lore in the front end's format: each `{0}` becomes the lore. A blank
/// format leaves it as it is.
pub fn format_world_info(lore: &str, format: &str) -> String {
    if lore.is_empty() {
        String::new()
    } else if format.trim_matches(crate::book::is_js_space).is_empty() {
        lore.to_owned()
    } else {
        format.replace("{0}", lore)
    }
}
