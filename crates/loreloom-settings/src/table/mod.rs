//! The table of settings: one row for each leaf of the tree, one file for each section.
//!
//! To add a setting, add a field to its section of the tree and a row here. Tests fail as long as
//! one of the two is missing.

mod cards;
mod lore;
mod memory;
mod memory_words;
mod notebooks;
mod server;
mod story;
mod vault;
mod vault_reading;
mod world_info;

use std::sync::LazyLock;

use crate::{
    error::SettingError,
    setting::{Program, Setting},
};

/// All settings, by section.
pub static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    [
        story::ROWS,
        story::WEAVING,
        story::BUDGET,
        lore::ROWS,
        world_info::ROWS,
        cards::ROWS,
        vault::ROWS,
        vault::SELECTION,
        vault_reading::ROWS,
        vault::QUIRKS,
        notebooks::ROWS,
        memory::ROWS,
        memory::RULES,
        memory_words::ROWS,
        server::CONNECTION,
        server::ROWS,
        server::LIMITS,
    ]
    .concat()
});

/// The setting of that name.
pub fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The setting of that name, or why there is none.
pub(crate) fn known(name: &str) -> Result<&'static Setting, SettingError> {
    if let Some(setting) = find(name) {
        return Ok(setting);
    }
    if let Some((program, setting)) = find_for_program(name) {
        return Err(SettingError::Elsewhere { name: name.to_owned(), program, ours: setting.name });
    }
    Err(SettingError::Unknown { name: name.to_owned(), nearest: nearest(name) })
}

/// The setting that another program calls so.
pub fn find_for_program(name: &str) -> Option<(Program, &'static Setting)> {
    SETTINGS.iter().find_map(|setting| {
        let names = setting.names_elsewhere();
        let (program, _) = names.into_iter().find(|(_, theirs)| *theirs == name)?;
        Some((program, setting))
    })
}

/// The name that is most like this one, of ours and of other programs'. The answer is our name.
pub fn nearest(name: &str) -> Option<&'static str> {
    /// From this similarity on, a name may be meant.
    const LEAST: f64 = 0.86;
    let wanted = name.to_lowercase();
    let likeness = |known: &str| {
        let whole = strsim::jaro_winkler(&wanted, &known.to_lowercase());
        // Whoever leaves the section out means the end of the name.
        let end = known.rsplit('.').next().unwrap_or(known);
        whole.max(strsim::jaro_winkler(&wanted, &end.to_lowercase()) - 0.001)
    };
    // Of names that are equally near, the last counts below: the first of the table is meant.
    let best = SETTINGS.iter().rev().map(|setting| {
        let elsewhere = setting.names_elsewhere().into_iter().map(|(_, name)| likeness(name));
        let most = elsewhere.fold(likeness(setting.name), f64::max);
        (most, setting.name)
    });
    let best = best.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(most, _)| *most >= LEAST).map(|(_, name)| name)
}

/// What a section is about.
pub fn section_title(section: &str) -> &'static str {
    match section {
        "story" => "What requests do not say",
        "weaving" => "Whether and how lore goes into requests",
        "budget" => "The budget over everything",
        "lore" => "All lore",
        "world_info" => "World Info",
        "cards" => "Card books",
        "vault" => "Vaults",
        "notebooks" => "Notebooks of chats",
        "memory" => "Memory",
        "connection" => "What connections do not say themselves",
        "features" => "Features that ask a model",
        "server" => "The server",
        "store" => "Where stories are",
        "limits" => "How much of a file is read",
        _ => "Others",
    }
}

#[cfg(test)]
mod tests;
