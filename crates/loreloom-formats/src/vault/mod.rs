//! Notes of a vault: Markdown files with fields above the text.
//!
//! Fields are YAML. DeepLore reads them with a small reader of its own, whose quirks
//! ([`YamlReader::Mini`]) decide how notes written for it behave; ours is a real one, and
//! falls back to the small one where a file is not quite YAML, since a person who forgot a
//! quote must not lose a note.

mod admission;
mod body;
mod conversion;
mod field_definition;
mod field_file;
mod frontmatter;
mod inline_tags;
mod mini_yaml;
mod note;
mod oddities;
mod repair;
mod safe;
mod settings;
#[cfg(test)]
mod tests;
mod unseen;
mod warning;

pub use self::{
    admission::Admission,
    body::{Headings, clean, links, title},
    conversion::{WrittenNote, entry_of, notes_of},
    field_definition::BadField,
    field_file::{FieldFile, read_fields},
    frontmatter::{Frontmatter, YamlReader, split},
    note::{NoteFile, NoteRead, NoteRules, Skip, TagNames, read_note, tags_of},
    oddities::{Fault, OddValue, fault, odd_values},
    repair::repair,
    safe::{file_name, plain_markdown, without_closed_blocks},
    settings::{Constraint, clamp, clamp_known, position_of, role_of, rules_of},
    warning::{NoteWarning, WarningCode},
};
