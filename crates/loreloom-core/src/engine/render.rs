//! Rendering: macros and regular expressions in the texts of entries.

use std::{borrow::Cow, sync::Arc};

use super::scanner::Scanner;
use crate::{
    dice::{Dice, Roll},
    ids::EntryId,
    macros::{Draw, MacroValues, VariableChanges, Variables},
    regex_script::RegexScript,
    scan::Steps,
    units::Depth,
};

impl Scanner<'_> {
    /// An entry's text with its macros replaced, and what it writes to variables.
    pub(crate) fn expand<'body>(
        &mut self,
        entry: &EntryId,
        body: &'body str,
    ) -> (Cow<'body, str>, VariableChanges) {
        expand(&self.macros, &self.timing.state.variables, self.dice, (entry, body))
    }

    /// Keeps what an entry writes to variables, for keys and texts after it.
    pub(crate) fn write(&mut self, writes: &VariableChanges) {
        if !writes.is_empty() {
            self.timing.state.write(writes);
            self.resolved.clear();
        }
    }
}

/// The text of an entry or note with its macros replaced, and what it writes to variables.
pub(crate) fn expand<'body>(
    macros: &MacroValues<'_>,
    variables: &Variables,
    dice: &mut dyn Dice,
    (entry, body): (&EntryId, &'body str),
) -> (Cow<'body, str>, VariableChanges) {
    let mut writes = VariableChanges::default();
    let mut roll = |draw: Draw| {
        dice.roll(if draw.lasting {
            Roll::Pick(entry, draw.index)
        } else {
            Roll::Macro(entry, draw.index)
        })
    };
    let text = macros.expand_rolling(body, variables, &mut writes, &mut roll);
    (text, writes)
}

/// A text after the scripts that change lore. `depth` is its depth in the chat, if it has one.
/// All texts of a turn share `steps`.
pub(crate) fn rewrite(
    text: &Arc<str>,
    depth: Option<Depth>,
    scripts: &[RegexScript],
    macros: &MacroValues<'_>,
    steps: &Steps,
) -> Arc<str> {
    let mut text = Arc::clone(text);
    for script in scripts.iter().filter(|script| script.applies_to_lore(depth)) {
        text = script.apply(&text, macros, steps).into();
    }
    text
}
