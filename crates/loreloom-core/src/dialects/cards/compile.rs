//! Card entries, compiled: decorators are read once, keys are filed in the index.

use std::{borrow::Cow, sync::Arc};

use super::{
    decorators::{Directives, FrontEndFacts, Greeting},
    grammar::{Chain, list, split},
    keys::KeyStyle,
    rules::{CardRules, MissingPriority},
    terms::{KeyTerms, Terms},
};
use crate::{
    book::{Book, Entry, Force, Gates, Inject, InjectOp, Key, Position},
    dialects::cards::decorators::{InjectDirective, InjectTarget},
    engine::texts::{Furthest, Limits, card_bits},
    library::{CompiledKey, EntryIx, Filing, MOST_MESSAGES, messages},
    turn::TurnInput,
};

/// A card entry, compiled.
#[derive(Debug)]
pub(crate) struct CardEntry {
    /// In chats and in prompts of text, by what the front end states: the greeting is 1,
    /// the user's icon 2.
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
            let known = FrontEndFacts { greeting, user_icon, text };
            let said = (Directives::of(&block, rules.grammar, known), text && own);
            if let Some((_, terms)) = made.iter().find(|(known, _)| *known == said) {
                return Arc::clone(terms);
            }
            let (stored, effective) = (entry, said.0.applied_to(entry, block.body));
            let (entry, said_now, in_tokens) = (&effective, &said.0, said.1);
            let reading = EntryReading { stored, entry, said: said_now, book, rules, in_tokens };
            let terms = Arc::new(reading.terms(filing));
            made.push((said, Arc::clone(&terms)));
            terms
        };
        let stated = [(false, false), (true, false), (false, true), (true, true)];
        let chat = stated.map(|stated| variant(stated, false));
        // Nearly all entries say the same to both.
        let lines = block.chains.iter().flat_map(|Chain(lines)| lines);
        let counts = own || lines.into_iter().any(|line| line.name.contains("instruct_"));
        let text = if counts { stated.map(|stated| variant(stated, true)) } else { chat.clone() };
        let variants = [chat, text];
        Self { variants, copy: None }
    }

    /// The entry as a copy: it sends what it is a copy of, without being asked.
    pub(crate) fn copying(self, copy: CopyOf) -> Self {
        Self { copy: Some(copy), ..self }
    }

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
        // Nearly all entries have one set of terms, whatever the front end states.
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

struct EntryReading<'a> {
    /// The entry as it is stored.
    stored: &'a Entry,
    /// The entry with its decorators as fields.
    entry: &'a Entry,
    said: &'a Directives,
    book: &'a Book,
    rules: &'a CardRules,
    /// Whether the entry's own count of tokens applies.
    in_tokens: bool,
}

impl EntryReading<'_> {
    fn terms(&self, filing: &mut Filing) -> Terms {
        let Self { entry, said, rules, .. } = *self;
        let activation = &entry.activation;
        let regex_only = rules.regex_keys_only && activation.use_regex;
        let order = self.order();
        let position = if said.position.is_some() || rules.positions {
            entry.placement.position.clone()
        } else {
            Position::Default
        };
        let depth = said.scan_depth.or_else(|| activation.scan.messages.map(messages));
        let characters = self.stored.scan_characters(self.book);
        let characters = characters.filter(|_| said.scan_depth.is_none());
        let own_tokens = activation.scan.tokens.filter(|_| self.in_tokens);
        let tokens = said.scan_tokens.or(own_tokens);
        // What is counted otherwise is not counted in the engine's messages too.
        let counted = characters.or(tokens).map(|_| MOST_MESSAGES);
        Terms {
            enabled: activation.enabled && !self.book.disables(self.entry),
            constant: activation.constant && !regex_only,
            force: activation.force,
            once: activation.once,
            gates: Gates::clone(&activation.gates),
            greeting_only: said.greeting == Some(Greeting::Only),
            keys: self.keys(regex_only, filing),
            depth: depth
                .or(self.book.scan_depth)
                .or(counted)
                .unwrap_or(rules.scan_depth)
                .min(rules.scan_depth_most),
            limits: Limits { characters, tokens },
            sources: card_bits(activation.sources),
            sees_lore: !entry.recursion.exclude && entry.recursion.scan_lore != Some(false),
            feeds: said.feeds.or_else(|| entry.recursion.prevent.then_some(false)),
            probability: activation.probability,
            priority: self.priority(order),
            order,
            drop_first: entry.budget.drop_first,
            ignores_budget: entry.budget.ignore,
            position,
            at_depth: entry.placement.depth.map(|depth| depth.0),
            at_tokens: said.at_tokens,
            role: entry.placement.role.unwrap_or(rules.role),
            inject: self.inject(),
            hide_prompts: entry.rest.hide_prompts.clone(),
            body: entry.enclosed(&entry.content).into(),
            problems: said.problems.clone(),
        }
    }

    fn order(&self) -> f64 {
        match self.said.order {
            Some(order) if self.rules.order_descends => -order,
            Some(order) => order,
            None => {
                let order = self.entry.placement.order.unwrap_or(100.0);
                if self.rules.field_order_descends { -order } else { order }
            }
        }
    }

    fn priority(&self, order: f64) -> f64 {
        self.entry.budget.priority.unwrap_or(match self.rules.missing_priority {
            MissingPriority::Order => order,
            MissingPriority::Fixed { imported, .. } if self.book.origin.is_some() => imported,
            MissingPriority::Fixed { own, .. } => own,
        })
    }

    fn inject(&self) -> InjectDirective {
        let mut inject = self.said.inject.clone();
        if inject.target.is_none()
            && let Some(Inject { op, target }) = self.entry.inject.as_deref()
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

    fn whole_words(&self) -> bool {
        let of_book = || self.book.extensions.get("risu_fullWordMatching")?.as_bool();
        let inner = || {
            let extensions = self.book.extensions.get("extensions")?;
            extensions.get("risu_fullWordMatching")?.as_bool()
        };
        self.entry
            .activation
            .whole_words
            .or_else(of_book)
            .or_else(inner)
            .unwrap_or(self.rules.match_whole_words)
    }

    /// The keys that a key with commas is, where it is a list.
    fn parts<'key>(&self, key: &'key Key) -> Vec<Cow<'key, Key>> {
        match key {
            Key::Literal(text) if self.rules.comma_keys && text.contains(',') => {
                list(text).iter().map(|part| Cow::Owned(Key::parse(part))).collect()
            }
            Key::Literal(_) | Key::Regex(_) => vec![Cow::Borrowed(key)],
        }
    }

    fn keys(&self, regex_only: bool, filing: &mut Filing) -> KeyTerms {
        let activation = &self.entry.activation;
        let style = KeyStyle {
            case_counts: activation.case_sensitive.unwrap_or(self.rules.case_sensitive),
            whole_words: self.whole_words(),
            squash_spaces: self.rules.squash_spaces,
            words: self.rules.words,
            // Keys that are patterns by their own form do not make patterns of the others.
            patterns: activation.use_regex,
        };
        let mut bad = Vec::new();
        let mut compile = |keys: &[Key]| -> Vec<CompiledKey> {
            let keys = keys.iter().flat_map(|key| self.parts(key));
            let compiled = keys.filter_map(|key| style.compile(&key, filing));
            compiled
                .map(|(key, usable)| {
                    if usable.is_err() {
                        bad.push(key.raw.to_string());
                    }
                    key
                })
                .collect()
        };
        let mut lists = |lists: &[Vec<Key>]| -> Vec<Vec<CompiledKey>> {
            lists.iter().map(|keys| compile(keys)).filter(|keys| !keys.is_empty()).collect()
        };
        let require = lists(&activation.require);
        let mut exclude: Vec<Vec<CompiledKey>> = Vec::new();
        if !regex_only {
            let any = lists(&activation.exclude_any).into_iter().flatten();
            exclude.extend(any.map(|key| vec![key]));
            exclude.extend(lists(&activation.exclude_all));
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
        match self.limits {
            Limits { characters: Some(characters), tokens: None }
                if self.depth == MOST_MESSAGES =>
            {
                Furthest { messages: 0, characters }
            }
            _ => Furthest::messages(self.depth),
        }
    }

    /// Whether the text never matters.
    pub(super) fn is_forced(&self) -> bool {
        self.force == Some(Force::Activate)
    }
}
