//! What must hold for any bytes, one check for each parser.
//!
//! The fuzzer calls these through `fuzz_targets/`; an ordinary test replays the committed
//! corpora through the same functions, on the stable toolchain. A check panics where
//! something does not hold, and says whether the bytes are worth keeping in the corpus of
//! its parser.

mod books;
mod stories;
mod texts;

/// A check: whether the bytes belong into its corpus.
pub type Check = fn(&[u8]) -> bool;

/// Every target with its check.
pub const TARGETS: [(&str, Check); 19] = [
    ("agnai", books::agnai),
    ("aidungeon", books::aidungeon),
    ("archives", books::archives),
    ("cards", books::cards),
    ("chat_archive", stories::chat_archive),
    ("chats", texts::chats),
    ("decorators", texts::decorators),
    ("janitor", books::janitor),
    ("json", books::json),
    ("kobold", books::kobold),
    ("merge", books::merge_versions),
    ("notes", texts::notes),
    ("novelai", books::novelai),
    ("pictures", books::pictures),
    ("plain_text", books::plain_text),
    ("regex_scripts", texts::regex_scripts),
    ("risu", books::risu),
    ("world_info", books::world_info),
    ("wrapping", texts::wrapping),
];

/// Runs the check of a target.
pub fn run(target: &str, bytes: &[u8]) -> bool {
    let found = TARGETS.iter().find(|(name, _)| *name == target);
    found.is_some_and(|(_, check)| check(bytes))
}
