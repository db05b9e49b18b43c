//! Card entries, compiled: decorators are read once, keys are filed in the index.

use std::sync::Arc;

use super::{
    decorators::{Directives, Greeting, Known},
    grammar::{Block, Chain, split},
    keys::KeyStyle,
    rules::{CardRules, MissingPriority},
    terms::{Gates, KeyTerms, Terms},
};
use crate::{
    book::{Book, Entry, Force, Inject, InjectOp, Key, MatchOnce, Position},
    dialects::cards::decorators::{InjectDirective, InjectTarget},
    engine::texts::card_bits,
    library::{CompiledKey, EntryIx, Filing, MOST_MESSAGES, messages},
    turn::TurnInput,
};

/// A card entry, compiled.
#[derive(Debug)]
pub(crate) struct CardEntry {
    /// In chats and in prompts of text, by what the host tells: the greeting is 1, the user's
    /// icon 2.
    variants: [[Arc<Terms>; 4]; 2],
    copy: Option<CopyOf>,
}

/// What an entry is a copy of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CopyOf {
    /// An entry before it.
    Entry(EntryIx),
    /// An entry that is not there.
    Nothing,
}

impl CardEntry {
    /// Compiles an entry.
    pub(crate) fn compile(
        entry: &Entry,
        book: &Book,
        rules: &CardRules,
        filing: &mut Filing,
    ) -> Self {
        let block = split(&entry.content, rules.grammar);
        let mut made: Vec<((Directives, bool), Arc<Terms>)> = Vec::new();
        let own = entry.activation.scan.tokens.is_some();
        let mut variant = |(greeting, user_icon): (bool, bool), text: bool| {
            let known = Known { greeting, user_icon, text };
            let said = (Directives::of(&block, rules.grammar, known), text && own);
            if let Some((_, terms)) = made.iter().find(|(known, _)| *known == said) {
                return Arc::clone(terms);
            }
            let reading = Reading { entry, book, rules, block: &block, in_tokens: said.1 };
            let terms = Arc::new(reading.terms(&said.0, filing));
            made.push((said, Arc::clone(&terms)));
            terms
        };
        let told = [(false, false), (true, false), (false, true), (true, true)];
        let chat = told.map(|told| variant(told, false));
        // Nearly all entries say the same to both.
        let lines = block.chains.iter().flat_map(|Chain(lines)| lines);
        let counts = own || lines.into_iter().any(|line| line.name.contains("instruct_"));
        let text = if counts { told.map(|told| variant(told, true)) } else { chat.clone() };
        let variants = [chat, text];
        Self { variants, copy: None }
    }

    /// The entry as a copy: it sends what it is a copy of, without being asked.
    pub(crate) fn copying(self, copy: CopyOf) -> Self {
        Self { copy: Some(copy), ..self }
    }

    /// What it is a copy of.
    pub(super) fn copy(&self) -> Option<CopyOf> {
        self.copy
    }

    /// The terms that apply to what the front end stated.
    pub(super) fn terms(&self, input: &TurnInput) -> &Terms {
        let at = usize::from(input.greeting.is_some()) + 2 * usize::from(input.user_icon.is_some());
        &self.variants[usize::from(input.text_completion)][at]
    }

    /// Whether it may fire though no key is found.
    pub(crate) fn fires_without_keys(&self) -> bool {
        self.variants.iter().flatten().any(|terms| terms.constant || terms.force.is_some())
    }

    /// Its primary keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &CompiledKey> {
        let all = || self.variants.iter().flatten();
        // Nearly all entries have one set of terms, whatever the host tells.
        let is_first = move |(at, terms): &(usize, &Arc<Terms>)| {
            !all().take(*at).any(|before| Arc::ptr_eq(before, terms))
        };
        let distinct = all().enumerate().filter(is_first);
        distinct.flat_map(|(_, terms)| &terms.keys.primary)
    }

    /// The furthest it scans, in prompts of text or in chats.
    pub(crate) fn furthest(&self, text: bool) -> Furthest {
        let variants = self.variants[usize::from(text)].iter();
        variants.fold(Furthest::default(), |most, terms| most.or(terms.furthest()))
    }
}

/// How far back something scans: so many messages or so many characters, whichever is more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Furthest {
    pub(crate) messages: u32,
    pub(crate) characters: u32,
}

impl Furthest {
    /// The further of two.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            messages: self.messages.max(other.messages),
            characters: self.characters.max(other.characters),
        }
    }
}

struct Reading<'a> {
    entry: &'a Entry,
    book: &'a Book,
    rules: &'a CardRules,
    block: &'a Block<'a>,
    /// Whether the entry's own count of tokens holds.
    in_tokens: bool,
}

impl Reading<'_> {
    fn terms(&self, said: &Directives, filing: &mut Filing) -> Terms {
        let (entry, rules) = (self.entry, self.rules);
        let activation = &entry.activation;
        let regex_only = rules.regex_keys_only && self.uses_patterns(said);
        let order = self.order(said);
        let (position, at_depth) = self.place(said);
        let depth = said.scan_depth.or_else(|| activation.scan.messages.map(messages));
        let characters = entry.scan_characters(self.book).filter(|_| said.scan_depth.is_none());
        let own_tokens = activation.scan.tokens.filter(|_| self.in_tokens);
        let tokens = said.scan_tokens.or(own_tokens);
        // What is counted otherwise is not counted in the engine's messages too.
        let counted = characters.or(tokens).map(|_| MOST_MESSAGES);
        Terms {
            enabled: activation.enabled && self.folder_enabled(),
            constant: (activation.constant || said.constant) && !regex_only,
            force: said.force.or(activation.force),
            keep: said.keep || activation.once == Some(MatchOnce::Keep),
            once: said.once || activation.once == Some(MatchOnce::OnceOnly),
            gates: self.gates(said),
            keys: self.keys(said, regex_only, filing),
            depth: depth.or(self.book.scan_depth).or(counted).unwrap_or(rules.scan_depth),
            characters,
            tokens,
            sources: card_bits(activation.sources),
            sees_lore: !said.ignores_lore
                && !entry.recursion.exclude
                && entry.recursion.scan_lore != Some(false),
            feeds: said.feeds.or_else(|| entry.recursion.prevent.then_some(false)),
            probability: said.probability.or(activation.probability),
            priority: self.priority(said, order),
            order,
            drop_first: said.drop_first || entry.budget.drop_first,
            ignores_budget: entry.budget.ignore,
            position,
            at_depth,
            at_tokens: said.at_tokens,
            role: said.role.or(entry.placement.role).unwrap_or(rules.role),
            inject: self.inject(said),
            hide_prompts: [entry.rest.hide_prompts.clone(), said.hide_prompts.clone()].concat(),
            body: entry.enclosed(self.block.body).into(),
            problems: said.problems.clone(),
        }
    }

    fn folder_enabled(&self) -> bool {
        let Some(folder) = &self.entry.rest.folder else { return true };
        self.book.folders.iter().all(|one| one.id != *folder || one.enabled)
    }

    fn gates(&self, said: &Directives) -> Gates {
        let gates = &self.entry.activation.gates;
        Gates {
            after: said.after.or(gates.after),
            every: said.every.or(gates.every).filter(|every| *every > 0),
            greeting: said.greeting.or(gates.greeting.map(Greeting::Index)),
            user_icon: said.user_icon.clone().or_else(|| gates.user_icon.clone()),
            min_messages: gates.min_messages,
        }
    }

    fn order(&self, said: &Directives) -> f64 {
        match said.order {
            Some(order) if self.rules.order_descends => -order,
            Some(order) => order,
            None => self.entry.placement.order.unwrap_or(100.0),
        }
    }

    fn priority(&self, said: &Directives, order: f64) -> f64 {
        let own = said.priority.or(self.entry.budget.priority);
        own.unwrap_or(match self.rules.missing_priority {
            MissingPriority::Order => order,
            MissingPriority::Fixed { imported, .. } if self.book.origin.is_some() => imported,
            MissingPriority::Fixed { own, .. } => own,
        })
    }

    fn place(&self, said: &Directives) -> (Position, Option<u32>) {
        let field = &self.entry.placement;
        let own = field.depth.map(|depth| depth.0);
        match &said.position {
            Some(position) => (position.clone(), said.depth.or(own)),
            None if self.rules.positions => (field.position.clone(), own),
            None => (Position::Default, own),
        }
    }

    fn inject(&self, said: &Directives) -> InjectDirective {
        let mut inject = said.inject.clone();
        if inject.target.is_none()
            && let Some(Inject { op, target }) = &self.entry.inject
        {
            inject.target = Some(match op {
                InjectOp::At => InjectTarget::Slot(target.clone()),
                InjectOp::IntoLore | InjectOp::Prepend | InjectOp::Replace(_) => {
                    InjectTarget::Lore(target.clone())
                }
            });
            inject.prepend |= *op == InjectOp::Prepend;
            if let InjectOp::Replace(text) = op {
                inject.replace.get_or_insert_with(|| text.clone());
            }
        }
        inject
    }

    /// Whether the entry says that its keys are patterns. Keys that are some in their own
    /// right (with slashes, or of a program that has wildcards) do not say it for others.
    fn uses_patterns(&self, said: &Directives) -> bool {
        said.use_regex || self.entry.activation.use_regex
    }

    fn whole_words(&self, said: &Directives) -> bool {
        let of_book = || self.book.extensions.get("risu_fullWordMatching")?.as_bool();
        let inner = || {
            let extensions = self.book.extensions.get("extensions")?;
            extensions.get("risu_fullWordMatching")?.as_bool()
        };
        said.whole_words
            .or(self.entry.activation.whole_words)
            .or_else(of_book)
            .or_else(inner)
            .unwrap_or(self.rules.match_whole_words)
    }

    fn keys(&self, said: &Directives, regex_only: bool, filing: &mut Filing) -> KeyTerms {
        let activation = &self.entry.activation;
        let case_sensitive = said.case_sensitive.then_some(true).or(activation.case_sensitive);
        let style = KeyStyle {
            case_counts: case_sensitive.unwrap_or(self.rules.case_sensitive),
            whole_words: self.whole_words(said),
            squash_spaces: self.rules.squash_spaces,
            patterns: self.uses_patterns(said),
        };
        let mut bad = Vec::new();
        let mut compile = |keys: &[Key]| -> Vec<CompiledKey> {
            let compiled = keys.iter().filter_map(|key| style.compile(key, filing));
            compiled
                .map(|(key, usable)| {
                    if usable.is_err() {
                        bad.push(key.raw.to_string());
                    }
                    key
                })
                .collect()
        };
        let mut lists = |written: &[Vec<String>], fields: &[Vec<Key>]| -> Vec<Vec<CompiledKey>> {
            let parsed =
                written.iter().map(|keys| keys.iter().map(|key| Key::parse(key)).collect());
            let lists: Vec<Vec<Key>> = parsed.chain(fields.iter().cloned()).collect();
            lists.iter().map(|keys| compile(keys)).filter(|keys| !keys.is_empty()).collect()
        };
        let require = lists(&said.require, &activation.require);
        let mut exclude: Vec<Vec<CompiledKey>> = Vec::new();
        if !regex_only {
            let any = lists(&said.exclude_any, &activation.exclude_any).into_iter().flatten();
            exclude.extend(any.map(|key| vec![key]));
            exclude.extend(lists(&said.exclude_all, &activation.exclude_all));
        }
        let secondary = &activation.secondary;
        KeyTerms {
            primary: compile(&activation.keys),
            secondary: if secondary.active && !regex_only {
                compile(&secondary.keys)
            } else {
                Vec::new()
            },
            logic: secondary.logic,
            require,
            exclude,
            bad,
        }
    }
}

impl Terms {
    fn furthest(&self) -> Furthest {
        match self.characters {
            Some(characters) if self.depth == MOST_MESSAGES && self.tokens.is_none() => {
                Furthest { messages: 0, characters }
            }
            _ => Furthest { messages: self.depth, characters: 0 },
        }
    }

    /// Whether the text never matters.
    pub(super) fn is_forced(&self) -> bool {
        self.force == Some(Force::Activate)
    }
}
