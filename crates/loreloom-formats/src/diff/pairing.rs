//! Which entry of one version is which entry of the other.

use loreloom_core::book::{Book, Entry, Key};
use rustc_hash::FxHashMap;

/// Pairs of places, in the order of the newer version.
///
/// The id decides where the text or the name agrees with it. Converters renumber ids, so
/// the others are paired by their whole text, then by a name that is theirs alone, and only
/// what is left by the id alone.
pub(super) fn pairs(old: &Book, new: &Book) -> Vec<(usize, usize)> {
    let id = |book: &Book, entry: &Entry| Some(local_id(book, entry).to_owned());
    let with_id = |book: &Book, entry: &Entry, mark: Option<String>| {
        mark.map(|mark| format!("{}\0{mark}", local_id(book, entry)))
    };
    let mut pairing = Pairing { old, new, of_new: vec![None; new.entries.len()] };
    pairing.pair(|book, entry| with_id(book, entry, text(entry)));
    pairing.pair(|book, entry| with_id(book, entry, name(entry)));
    pairing.pair(|_, entry| text(entry));
    pairing.pair(|_, entry| name(entry));
    pairing.pair(id);
    let of_new = pairing.of_new.into_iter().enumerate();
    of_new.filter_map(|(new, old)| Some((old?, new))).collect()
}

fn text(entry: &Entry) -> Option<String> {
    let keys: Vec<&str> = entry.activation.keys.iter().map(Key::raw).collect();
    let has_text = !entry.content.trim().is_empty();
    has_text.then(|| format!("{}\0{}", keys.join("\0"), entry.content))
}

fn name(entry: &Entry) -> Option<String> {
    let name = if entry.name.trim().is_empty() { &entry.comment } else { &entry.name };
    (!name.trim().is_empty()).then(|| name.trim().to_lowercase())
}

/// The id without the book's, which may differ between versions.
fn local_id<'entry>(book: &Book, entry: &'entry Entry) -> &'entry str {
    let id = entry.id.as_str();
    id.strip_prefix(book.id.as_str()).and_then(|rest| rest.strip_prefix('/')).unwrap_or(id)
}

struct Pairing<'books> {
    old: &'books Book,
    new: &'books Book,
    of_new: Vec<Option<usize>>,
}

impl Pairing<'_> {
    /// Pairs entries that are still alone and whose mark is theirs alone on both sides.
    fn pair(&mut self, mark: impl Fn(&Book, &Entry) -> Option<String>) {
        let mut taken = vec![false; self.old.entries.len()];
        for at in self.of_new.iter().flatten() {
            taken[*at] = true;
        }
        let unique = |book: &Book, is_free: &dyn Fn(usize) -> bool| {
            let mut places: FxHashMap<String, Option<usize>> = FxHashMap::default();
            for (at, entry) in book.entries.iter().enumerate().filter(|(at, _)| is_free(*at)) {
                if let Some(mark) = mark(book, entry) {
                    places.entry(mark).and_modify(|place| *place = None).or_insert(Some(at));
                }
            }
            places
        };
        let old = unique(self.old, &|at| !taken[at]);
        let new = unique(self.new, &|at| self.of_new[at].is_none());
        for (mark, at_new) in new {
            if let (Some(at_new), Some(Some(at_old))) = (at_new, old.get(&mark)) {
                self.of_new[at_new] = Some(*at_old);
            }
        }
    }
}
