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
    /// In the place of this text.
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

#[derive(Clone, Debug, PartialEq)]
enum Decorator {
    After(u32),
    Every(u32),
    Keep,
    Once,
    Depth(u32, DepthFrom),
    Position(Position),
    Role(Role),
    ScanDepth(u32),
    Greeting(Greeting),
    UserIcon(String),
    DropFirst,
    Require(Vec<String>),
    ExcludeAny(Vec<String>),
    ExcludeAll(Vec<String>),
    Force(Force),
    HidePrompts(Vec<String>),
    Probability(f64),
    Priority(f64),
    Order(f64),
    Feeds(bool),
    IgnoresLore,
    WholeWords(bool),
    Inject(InjectTarget),
    InjectPrepend,
    InjectReplace(String),
    Constant,
    UseRegex,
    CaseSensitive,
    /// Counted in tokens: for prompts that are text.
    ScanTokens(u32),
    DepthInTokens(u32, DepthFrom),
}

impl Decorator {
    /// Where a depth is counted from, for decorators that say one.
    fn depth_from(&self) -> Option<DepthFrom> {
        if let Self::Depth(_, from) | Self::DepthInTokens(_, from) = self {
            Some(*from)
        } else {
            None
        }
    }
}

const V3: u8 = 1;
const UNO: u8 = 2;
const RISU: u8 = 4;

/// Who knows which decorator; all are ours.
const NAMES: [(&str, u8); 37] = [
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
];

/// Further flags of other readers.
const FLAGS: [&str; 2] = ["use_regex", "case_sensitive"];

fn is_known(name: &str, vocabulary: Vocabulary) -> bool {
    let asked = match vocabulary {
        Vocabulary::Full => {
            return FLAGS.contains(&name) || NAMES.iter().any(|(known, _)| *known == name);
        }
        Vocabulary::CardV3 => V3,
        Vocabulary::Unorouter => UNO,
        Vocabulary::Risu => RISU,
    };
    NAMES.iter().any(|(known, by)| *known == name && by & asked != 0)
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

type Chosen = (Vec<Decorator>, Vec<(String, Problem)>);

fn choose(
    block: &DecoratorBlock<'_>,
    grammar: Grammar,
    known: FrontEndFacts,
    placed: PlacingKinds,
) -> (PlacingKinds, Chosen) {
    let mut found = placed;
    let (mut chosen, mut problems) = (Vec::new(), Vec::new());
    for Chain(lines) in &block.chains {
        for line in lines {
            match usable(line, grammar, known, placed) {
                Ok(decorator) => {
                    found.position |= matches!(decorator, Decorator::Position(_));
                    found.depth |= decorator.depth_from() == Some(DepthFrom::Newest);
                    chosen.push(decorator);
                    break;
                }
                Err(problem) => problems.push((line.raw.to_owned(), problem)),
            }
        }
    }
    (found, (chosen, problems))
}

fn usable(
    line: &Line<'_>,
    grammar: Grammar,
    known: FrontEndFacts,
    placed: PlacingKinds,
) -> Result<Decorator, Problem> {
    if !is_known(&line.name, grammar.vocabulary) {
        return Err(Problem::Unknown);
    }
    let decorator = read(&line.name, line.argument).ok_or(Problem::BadArgument)?;
    let in_tokens = matches!(decorator, Decorator::ScanTokens(_) | Decorator::DepthInTokens(..));
    let unsupported = (!known.text && in_tokens)
        || (!known.greeting && matches!(decorator, Decorator::Greeting(Greeting::Index(_))))
        || (!known.user_icon && matches!(decorator, Decorator::UserIcon(_)));
    let at_depth = decorator.depth_from();
    let conflict = (placed.position && at_depth.is_some())
        || (placed.depth && at_depth == Some(DepthFrom::Oldest));
    // That engine takes 0 for no number.
    let no_number = grammar.vocabulary == Vocabulary::Unorouter;
    if no_number && decorator == Decorator::ScanDepth(0) {
        Err(Problem::BadArgument)
    } else if unsupported {
        Err(Problem::Unsupported)
    } else if conflict {
        Err(Problem::Conflict)
    } else {
        Ok(decorator)
    }
}

fn read(name: &str, argument: &str) -> Option<Decorator> {
    // Arguments are lists whose empty items are dropped: `4,` is 4.
    let single = argument.trim_matches([',', ' ', '\t']);
    let text = || Some(argument.replace("\\,", ",")).filter(|text| !text.is_empty());
    let keys = || Some(list(argument)).filter(|keys| !keys.is_empty());
    Some(match name {
        "activate_only_after" => Decorator::After(count(single)?),
        "activate_only_every" => Decorator::Every(count(single).filter(|every| *every > 0)?),
        "keep_activate_after_match" | "keep" => Decorator::Keep,
        "dont_activate_after_match" => Decorator::Once,
        "depth" => Decorator::Depth(depth(single)?, DepthFrom::Newest),
        "reverse_depth" => Decorator::Depth(depth(single)?, DepthFrom::Oldest),
        "end" => Decorator::Depth(0, DepthFrom::Newest),
        "instruct_depth" => Decorator::DepthInTokens(depth(single)?, DepthFrom::Newest),
        "reverse_instruct_depth" => Decorator::DepthInTokens(depth(single)?, DepthFrom::Oldest),
        "instruct_scan_depth" => Decorator::ScanTokens(count(single)?),
        "role" => Decorator::Role(role(single)?),
        "scan_depth" => Decorator::ScanDepth(count(single)?),
        "is_greeting" if argument.is_empty() => Decorator::Greeting(Greeting::Only),
        "is_greeting" => Decorator::Greeting(Greeting::Index(count(single)?)),
        "is_user_icon" => Decorator::UserIcon(text()?),
        "position" => Decorator::Position(position(single)?),
        "ignore_on_max_context" => Decorator::DropFirst,
        "additional_keys" => Decorator::Require(keys()?),
        "exclude_keys" => Decorator::ExcludeAny(keys()?),
        "exclude_keys_all" => Decorator::ExcludeAll(keys()?),
        "activate" => Decorator::Force(Force::Activate),
        "dont_activate" => Decorator::Force(Force::Suppress),
        "disable_ui_prompt" => Decorator::HidePrompts(prompts(argument)?),
        "probability" => Decorator::Probability(number(single)?),
        "priority" => Decorator::Priority(number(single)?),
        "order" | "insertorder" => Decorator::Order(number(single)?),
        "recursive" => Decorator::Feeds(true),
        "unrecursive" => Decorator::Feeds(false),
        "no_recursive_search" => Decorator::IgnoresLore,
        "match_full_word" => Decorator::WholeWords(true),
        "match_partial_word" => Decorator::WholeWords(false),
        "inject_lore" => Decorator::Inject(InjectTarget::Lore(text()?)),
        "inject_at" => Decorator::Inject(InjectTarget::Slot(text()?)),
        "inject_prepend" => Decorator::InjectPrepend,
        "inject_replace" => Decorator::InjectReplace(text()?),
        "constant" => Decorator::Constant,
        "use_regex" => Decorator::UseRegex,
        "case_sensitive" => Decorator::CaseSensitive,
        _ => return None,
    })
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

fn apply(block: &DecoratorBlock<'_>, grammar: Grammar, (chosen, problems): Chosen) -> Directives {
    let mut out = Directives { problems, ..Directives::default() };
    let orphans = block.orphans.iter();
    out.problems.extend(orphans.map(|line| (line.raw.to_owned(), Problem::NoDecoratorAbove)));
    for decorator in chosen {
        // That engine keeps one list; all others take one key of each line.
        if grammar.vocabulary == Vocabulary::Unorouter && matches!(decorator, Decorator::Require(_))
        {
            out.require.clear();
        }
        out.add(decorator, grammar.repeats);
    }
    out
}

impl Directives {
    fn add(&mut self, decorator: Decorator, repeats: Repeats) {
        match decorator {
            Decorator::After(count) => set(&mut self.after, count, repeats),
            Decorator::Every(count) => set(&mut self.every, count, repeats),
            Decorator::Keep => self.keep = true,
            Decorator::Once => self.once = true,
            Decorator::Depth(depth, from) => self.add_depth((Some(depth), None), from, repeats),
            Decorator::DepthInTokens(tokens, from) => {
                self.add_depth((None, Some(tokens)), from, repeats);
            }
            Decorator::Position(position) => set(&mut self.position, position, repeats),
            Decorator::Role(role) => set(&mut self.role, role, repeats),
            Decorator::ScanDepth(depth) => set(&mut self.scan_depth, depth, repeats),
            Decorator::ScanTokens(tokens) => set(&mut self.scan_tokens, tokens, repeats),
            Decorator::Greeting(greeting) => set(&mut self.greeting, greeting, repeats),
            Decorator::UserIcon(name) => set(&mut self.user_icon, name, repeats),
            Decorator::DropFirst => self.drop_first = true,
            Decorator::Require(keys) => self.require.push(keys),
            Decorator::ExcludeAny(keys) => self.exclude_any.push(keys),
            Decorator::ExcludeAll(keys) => self.exclude_all.push(keys),
            Decorator::Force(force) => self.add_force(force, repeats),
            Decorator::HidePrompts(names) => self.hide_prompts.extend(names),
            Decorator::Probability(percent) => set(&mut self.probability, percent, repeats),
            Decorator::Priority(number) => set(&mut self.priority, number, repeats),
            Decorator::Order(number) => set(&mut self.order, number, repeats),
            Decorator::Feeds(feeds) => set(&mut self.feeds, feeds, repeats),
            Decorator::IgnoresLore => self.ignores_lore = true,
            Decorator::WholeWords(whole) => set(&mut self.whole_words, whole, repeats),
            Decorator::Inject(target) => set(&mut self.inject.target, target, repeats),
            Decorator::InjectPrepend => self.inject.prepend = true,
            Decorator::InjectReplace(text) => set(&mut self.inject.replace, text, repeats),
            Decorator::Constant => self.constant = true,
            Decorator::UseRegex => self.use_regex = true,
            Decorator::CaseSensitive => self.case_sensitive = true,
        }
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
