//! Which program wrote a card or a book: programs leave their own extensions in it.

use crate::json::Node;

/// `RisuAI`.
pub(crate) const RISU: &str = "risu";
/// Chub.
pub(crate) const CHUB: &str = "chub";

/// The names of extensions and the programs that write them.
const MARKS: [(&str, &str); 2] = [("risuai", RISU), ("chub", CHUB)];

/// The program that wrote a file; `None` if it left no mark.
pub(crate) fn of(root: &Node<'_>) -> Option<&'static str> {
    let data = root.get("data").unwrap_or(root);
    let extensions = data.get("extensions")?;
    let mark = MARKS.iter().find(|(name, _)| extensions.get(name).is_some());
    mark.map(|(_, program)| *program)
}
