//! Rendering: macros and regular expressions in the texts of entries.

use std::{borrow::Cow, sync::Arc};

use super::scanner::Scanner;
use crate::{
    book::is_js_space,
    dice::{Dice, Roll},
    ids::EntryId,
    macros::{Draw, MacroValues, VariableChanges, Variables},
    regex_script::RegexScript,
    rules::Rules,
    scan::Steps,
    turn::Turn,
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

/// The scripts that change lore on its way into the prompt.
pub(crate) struct LoreScripts<'a> {
    scripts: &'a [RegexScript],
    /// All texts of a turn share them.
    steps: Steps,
}

impl<'a> LoreScripts<'a> {
    /// The scripts of these rules.
    pub(crate) fn all(rules: &'a Rules) -> Self {
        Self { scripts: &rules.regex_scripts, steps: Steps::within(rules.steps) }
    }

    /// Those that run in a turn.
    pub(crate) fn of(turn: &Turn<'_>, rules: &'a Rules) -> Self {
        Self { scripts: turn.scripts(rules), ..Self::all(rules) }
    }

    fn at(&self, depth: Option<Depth>) -> impl Iterator<Item = &'a RegexScript> {
        self.scripts.iter().filter(move |script| script.applies_to_lore(depth))
    }

    /// Whether any of them runs over a text. `depth` is its depth in the chat, if it has one.
    pub(crate) fn run_at(&self, depth: Option<Depth>) -> bool {
        self.at(depth).next().is_some()
    }

    /// A text after the scripts.
    pub(crate) fn apply(
        &self,
        text: &Arc<str>,
        depth: Option<Depth>,
        macros: &MacroValues<'_>,
    ) -> Arc<str> {
        self.at(depth)
            .fold(Arc::clone(text), |text, script| script.apply(&text, macros, &self.steps).into())
    }
}

/// A text in a format: each `{0}` becomes the text. A blank format leaves it alone.
pub fn in_format(text: &str, format: &str) -> String {
    if text.is_empty() || format.trim_matches(is_js_space).is_empty() {
        text.to_owned()
    } else {
        format.replace("{0}", text)
    }
}
