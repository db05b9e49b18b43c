//! What decorators mean, once their chains are settled.

use serde::{Deserialize, Serialize};

use super::{
    grammar::{Chain, DecoratorBlock, Grammar, Line, list},
    rules::{Repeats, Vocabulary},
};
use crate::{
    book::{DepthFrom, Entry, Force, Key, MatchOnce, Position},
    chat::Role,
    units::Depth,
};

/// What a front end states. Decorators that need more fall back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontEndFacts {
    /// Which greeting the chat began with.
    pub greeting: bool,
    /// The user's icon.
    pub user_icon: bool,
    /// That the prompt is a text, not a list of messages.
    pub text: bool,
}

/// Why a decorator line does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = DecoratorProblem))]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// Nobody knows the name.
    Unknown,
    /// Its argument is missing or of the wrong kind.
    BadArgument,
    /// Another decorator leaves it nothing to say.
    Conflict,
    /// The front end cannot do it.
    Unsupported,
    /// A fallback of nothing.
    NoDecoratorAbove,
}

/// When `@@is_greeting` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// With this greeting.
    Index(u32),
    /// While the user has said nothing.
    Only,
}

/// What an entry puts into something else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InjectDirective {
    /// Where.
    pub target: Option<InjectTarget>,
    /// Before the target's text instead of after it.
    pub prepend: bool,
    /// Instead of this text.
    pub replace: Option<String>,
}

/// Where an entry's text is put instead of its own place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InjectTarget {
    /// Another entry, by name or id.
    Lore(String),
    /// A named slot.
    Slot(String),
}

/// Everything that an entry's decorators set. `None` and empty lists set nothing.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "each field is the decorator of that name")]
#[expect(clippy::struct_excessive_bools, reason = "decorators without an argument")]
pub struct Directives {
    pub after: Option<u32>,
    pub every: Option<u32>,
    pub keep: bool,
    pub once: bool,
    pub position: Option<Position>,
    pub depth: Option<u32>,
    pub role: Option<Role>,
    pub scan_depth: Option<u32>,
    /// Tokens of the newest text that are scanned, and those that its place is counted in:
    /// in prompts that are text.
    pub scan_tokens: Option<u32>,
    pub at_tokens: Option<u32>,
    pub greeting: Option<Greeting>,
    pub user_icon: Option<String>,
    pub drop_first: bool,
    pub require: Vec<Vec<String>>,
    pub exclude_any: Vec<Vec<String>>,
    pub exclude_all: Vec<Vec<String>>,
    pub force: Option<Force>,
    pub hide_prompts: Vec<String>,
    pub probability: Option<f64>,
    pub priority: Option<f64>,
    pub order: Option<f64>,
    pub feeds: Option<bool>,
    pub ignores_lore: bool,
    pub whole_words: Option<bool>,
    pub inject: InjectDirective,
    pub constant: bool,
    pub use_regex: bool,
    pub case_sensitive: bool,
    /// The lines that do nothing, and why.
    pub problems: Vec<(String, Problem)>,
}

const V3: u8 = 1;
const UNO: u8 = 2;
const RISU: u8 = 4;

/// Who knows which decorator; all are ours.
const NAMES: [(&str, u8); 39] = [
    ("activate_only_after", V3 | UNO | RISU),
    ("activate_only_every", V3 | UNO | RISU),
    ("keep_activate_after_match", V3 | UNO | RISU),
    ("keep", V3 | UNO | RISU),
    ("dont_activate_after_match", V3 | UNO | RISU),
    ("depth", V3 | RISU),
    ("reverse_depth", V3 | RISU),
    ("instruct_depth", V3),
    ("reverse_instruct_depth", V3),
    ("role", V3 | UNO | RISU),
    ("scan_depth", V3 | UNO | RISU),
    ("instruct_scan_depth", V3),
    ("is_greeting", V3 | UNO | RISU),
    ("is_user_icon", V3),
    ("position", V3 | RISU),
    ("ignore_on_max_context", V3 | UNO | RISU),
    ("additional_keys", V3 | UNO | RISU),
    ("exclude_keys", V3 | UNO | RISU),
    ("exclude_keys_all", UNO | RISU),
    ("activate", V3 | UNO | RISU),
    ("dont_activate", V3 | UNO | RISU),
    ("disable_ui_prompt", V3 | UNO | RISU),
    ("probability", UNO | RISU),
    ("priority", UNO | RISU),
    ("order", UNO),
    ("insertorder", UNO),
    ("end", RISU),
    ("recursive", UNO | RISU),
    ("unrecursive", UNO | RISU),
    ("no_recursive_search", UNO | RISU),
    ("match_full_word", UNO | RISU),
    ("match_partial_word", UNO | RISU),
    ("inject_lore", UNO | RISU),
    ("inject_at", UNO | RISU),
    ("inject_prepend", UNO | RISU),
    ("inject_replace", UNO | RISU),
    ("constant", 0),
    ("use_regex", 0),
    ("case_sensitive", 0),
];

fn is_known(name: &str, vocabulary: Vocabulary) -> bool {
    let Some((_, by)) = NAMES.iter().find(|(known, _)| *known == name) else { return false };
    match vocabulary {
        Vocabulary::Full => true,
        Vocabulary::CardV3 => by & V3 != 0,
        Vocabulary::Unorouter => by & UNO != 0,
        Vocabulary::Risu => by & RISU != 0,
    }
}

impl Directives {
    /// What the decorators of a block mean for a front end that states `known`.
    pub fn of(block: &DecoratorBlock<'_>, grammar: Grammar, known: FrontEndFacts) -> Self {
        let mut placed = PlacingKinds::default();
        // A position overrules depths, whose fallbacks may be positions: until nothing
        // changes, which each round does at most once for each kind.
        loop {
            let (found, chosen) = choose(block, grammar, known, placed);
            if found == placed {
                return apply(block, grammar, chosen);
            }
            placed = found;
        }
    }

    /// The entry with its decorators as fields: a decorator beats the field. `body` is the text
    /// without decorators. Injections, depths in tokens and `@@is_greeting` without a number
    /// have no field.
    #[must_use]
    pub fn applied_to(&self, entry: &Entry, body: &str) -> Entry {
        let mut entry = Entry { content: body.to_owned(), ..entry.clone() };
        self.set_activation(&mut entry);
        let when = &mut entry.activation;
        for (written, field) in [
            (&self.require, &mut when.require),
            (&self.exclude_any, &mut when.exclude_any),
            (&self.exclude_all, &mut when.exclude_all),
        ] {
            let parsed = |keys: &Vec<String>| keys.iter().map(|key| Key::parse(key)).collect();
            field.splice(0..0, written.iter().map(parsed));
        }
        entry.budget.drop_first |= self.drop_first;
        entry.budget.priority = self.priority.or(entry.budget.priority);
        entry.recursion.prevent = self.feeds.map_or(entry.recursion.prevent, |feeds| !feeds);
        if self.ignores_lore {
            entry.recursion.scan_lore = Some(false);
        }
        entry.rest.hide_prompts.extend(self.hide_prompts.iter().cloned());
        let place = &mut entry.placement;
        if let Some(position) = &self.position {
            place.position = position.clone();
        }
        place.depth = self.depth.map(Depth).or(place.depth);
        place.role = self.role.or(place.role);
        place.order = self.order.or(place.order);
        entry
    }

    fn set_activation(&self, entry: &mut Entry) {
        let when = &mut entry.activation;
        let gates = &mut when.gates;
        gates.after = self.after.or(gates.after);
        gates.every = self.every.or(gates.every);
        if let Some(Greeting::Index(index)) = self.greeting {
            gates.greeting = Some(index);
        }
        gates.user_icon = self.user_icon.clone().or(gates.user_icon.take());
        when.scan.messages = self.scan_depth.map(f64::from).or(when.scan.messages);
        when.probability = self.probability.or(when.probability);
        when.force = self.force.or(when.force);
        when.constant |= self.constant;
        when.use_regex |= self.use_regex;
        when.whole_words = self.whole_words.or(when.whole_words);
        when.case_sensitive = self.case_sensitive.then_some(true).or(when.case_sensitive);
        // Once beats keep, whichever of them is a field.
        if self.once {
            when.once = Some(MatchOnce::OnceOnly);
        } else if self.keep && when.once.is_none() {
            when.once = Some(MatchOnce::Keep);
        }
    }
}

/// Which kinds of placing decorators are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PlacingKinds {
    position: bool,
    depth: bool,
}

/// The lines that count, and those that do nothing.
type Chosen<'block> = (Vec<&'block Line<'block>>, Vec<(String, Problem)>);

fn choose<'block>(
    block: &'block DecoratorBlock<'block>,
    grammar: Grammar,
    known: FrontEndFacts,
    placed: PlacingKinds,
) -> (PlacingKinds, Chosen<'block>) {
    let mut found = placed;
    let (mut chosen, mut problems) = (Vec::new(), Vec::new());
    for Chain(lines) in &block.chains {
        for line in lines {
            match usable(line, grammar, known, placed) {
                Ok(own) => {
                    found.position |= own.position.is_some() && own.depth_from().is_none();
                    found.depth |= own.depth_from() == Some(DepthFrom::Newest);
                    chosen.push(line);
                    break;
                }
                Err(problem) => problems.push((line.raw.to_owned(), problem)),
            }
        }
    }
    (found, (chosen, problems))
}

/// What a line alone sets.
fn usable(
    line: &Line<'_>,
    grammar: Grammar,
    known: FrontEndFacts,
    placed: PlacingKinds,
) -> Result<Directives, Problem> {
    if !is_known(&line.name, grammar.vocabulary) {
        return Err(Problem::Unknown);
    }
    let mut own = Directives::default();
    own.take(line, grammar.repeats).ok_or(Problem::BadArgument)?;
    let in_tokens = own.scan_tokens.is_some() || own.at_tokens.is_some();
    let unsupported = (!known.text && in_tokens)
        || (!known.greeting && matches!(own.greeting, Some(Greeting::Index(_))))
        || (!known.user_icon && own.user_icon.is_some());
    let at_depth = own.depth_from();
    let conflict = (placed.position && at_depth.is_some())
        || (placed.depth && at_depth == Some(DepthFrom::Oldest));
    // That engine takes 0 for no number.
    let no_number = grammar.vocabulary == Vocabulary::Unorouter;
    if no_number && own.scan_depth == Some(0) {
        Err(Problem::BadArgument)
    } else if unsupported {
        Err(Problem::Unsupported)
    } else if conflict {
        Err(Problem::Conflict)
    } else {
        Ok(own)
    }
}

fn number(argument: &str) -> Option<f64> {
    argument.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A whole number from 0.
fn count(argument: &str) -> Option<u32> {
    argument.parse().ok()
}

/// A whole number; below 0 counts as 0, the very end.
fn depth(argument: &str) -> Option<u32> {
    let depth: i64 = argument.parse().ok()?;
    Some(u32::try_from(depth.max(0)).unwrap_or(u32::MAX))
}

fn role(argument: &str) -> Option<Role> {
    let roles = [Role::System, Role::User, Role::Assistant];
    roles.into_iter().find(|role| role.as_str().eq_ignore_ascii_case(argument))
}

fn position(argument: &str) -> Option<Position> {
    Some(match argument.to_ascii_lowercase().as_str() {
        "before_desc" => Position::BeforeDescription,
        "after_desc" => Position::AfterDescription,
        "personality" => Position::Personality,
        "scenario" => Position::Scenario,
        "before_char" => Position::BeforeCharacter,
        "after_char" => Position::AfterCharacter,
        "an_top" => Position::NoteTop,
        "an_bottom" => Position::NoteBottom,
        "em_top" => Position::ExamplesTop,
        "em_bottom" => Position::ExamplesBottom,
        _ => {
            let named =
                |prefix: &str| argument.strip_prefix(prefix).filter(|name| !name.is_empty());
            return named("pt_")
                .map(|name| Position::Slot(name.to_owned()))
                .or_else(|| named("outlet:").map(|name| Position::Outlet(name.to_owned())));
        }
    })
}

/// The prompts a front end may be asked to hide.
fn prompts(argument: &str) -> Option<Vec<String>> {
    let known = |name: &String| name == "post_history_instructions" || name == "system_prompt";
    Some(list(argument)).filter(|names| !names.is_empty() && names.iter().all(known))
}

fn apply(
    block: &DecoratorBlock<'_>,
    grammar: Grammar,
    (chosen, problems): Chosen<'_>,
) -> Directives {
    let mut out = Directives { problems, ..Directives::default() };
    let orphans = block.orphans.iter();
    out.problems.extend(orphans.map(|line| (line.raw.to_owned(), Problem::NoDecoratorAbove)));
    for line in chosen {
        // That engine keeps one list; all others take one key of each line.
        if grammar.vocabulary == Vocabulary::Unorouter && line.name == "additional_keys" {
            out.require.clear();
        }
        // It was read before, so it can be.
        let _read = out.take(line, grammar.repeats);
    }
    out
}

impl Directives {
    /// Sets what a line says; `None` if its argument is missing or of the wrong kind.
    fn take(&mut self, line: &Line<'_>, repeats: Repeats) -> Option<()> {
        let argument = line.argument;
        // Arguments are lists whose empty items are dropped: `4,` is 4.
        let single = argument.trim_matches([',', ' ', '\t']);
        let text = || Some(argument.replace("\\,", ",")).filter(|text| !text.is_empty());
        let keys = || Some(list(argument)).filter(|keys| !keys.is_empty());
        let every = || count(single).filter(|every| *every > 0);
        let (newest, oldest) = (DepthFrom::Newest, DepthFrom::Oldest);
        match &*line.name {
            "activate_only_after" => set(&mut self.after, count(single)?, repeats),
            "activate_only_every" => set(&mut self.every, every()?, repeats),
            "keep_activate_after_match" | "keep" => self.keep = true,
            "dont_activate_after_match" => self.once = true,
            "depth" => self.add_depth((Some(depth(single)?), None), newest, repeats),
            "reverse_depth" => self.add_depth((Some(depth(single)?), None), oldest, repeats),
            "end" => self.add_depth((Some(0), None), newest, repeats),
            "instruct_depth" => self.add_depth((None, Some(depth(single)?)), newest, repeats),
            "reverse_instruct_depth" => {
                self.add_depth((None, Some(depth(single)?)), oldest, repeats);
            }
            "instruct_scan_depth" => set(&mut self.scan_tokens, count(single)?, repeats),
            "role" => set(&mut self.role, role(single)?, repeats),
            "scan_depth" => set(&mut self.scan_depth, count(single)?, repeats),
            "is_greeting" if argument.is_empty() => {
                set(&mut self.greeting, Greeting::Only, repeats);
            }
            "is_greeting" => set(&mut self.greeting, Greeting::Index(count(single)?), repeats),
            "is_user_icon" => set(&mut self.user_icon, text()?, repeats),
            "position" => set(&mut self.position, position(single)?, repeats),
            "ignore_on_max_context" => self.drop_first = true,
            "additional_keys" => self.require.push(keys()?),
            "exclude_keys" => self.exclude_any.push(keys()?),
            "exclude_keys_all" => self.exclude_all.push(keys()?),
            "activate" => self.add_force(Force::Activate, repeats),
            "dont_activate" => self.add_force(Force::Suppress, repeats),
            "disable_ui_prompt" => self.hide_prompts.extend(prompts(argument)?),
            "probability" => set(&mut self.probability, number(single)?, repeats),
            "priority" => set(&mut self.priority, number(single)?, repeats),
            "order" | "insertorder" => set(&mut self.order, number(single)?, repeats),
            "recursive" => set(&mut self.feeds, true, repeats),
            "unrecursive" => set(&mut self.feeds, false, repeats),
            "no_recursive_search" => self.ignores_lore = true,
            "match_full_word" => set(&mut self.whole_words, true, repeats),
            "match_partial_word" => set(&mut self.whole_words, false, repeats),
            "inject_lore" => set(&mut self.inject.target, InjectTarget::Lore(text()?), repeats),
            "inject_at" => set(&mut self.inject.target, InjectTarget::Slot(text()?), repeats),
            "inject_prepend" => self.inject.prepend = true,
            "inject_replace" => set(&mut self.inject.replace, text()?, repeats),
            "constant" => self.constant = true,
            "use_regex" => self.use_regex = true,
            "case_sensitive" => self.case_sensitive = true,
            _ => return None,
        }
        Some(())
    }

    /// Where a depth is counted from, if there is one.
    fn depth_from(&self) -> Option<DepthFrom> {
        if let Some(Position::AtDepth { from }) = self.position { Some(from) } else { None }
    }

    /// A depth in messages or in tokens.
    fn add_depth(&mut self, depth: (Option<u32>, Option<u32>), from: DepthFrom, repeats: Repeats) {
        if self.position.is_none() || repeats == Repeats::Last {
            self.position = Some(Position::AtDepth { from });
            (self.depth, self.at_tokens) = depth;
        }
    }

    /// `@@activate` cancels `@@dont_activate`, unless the last of them counts.
    fn add_force(&mut self, force: Force, repeats: Repeats) {
        match repeats {
            Repeats::Last => self.force = Some(force),
            Repeats::First if self.force != Some(Force::Activate) => self.force = Some(force),
            Repeats::First => {}
        }
    }
}

fn set<T>(place: &mut Option<T>, value: T, repeats: Repeats) {
    if place.is_none() || repeats == Repeats::Last {
        *place = Some(value);
    }
}
