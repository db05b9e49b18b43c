//! Stories and turns to store.

use loreloom_core::{
    cache_placement::Zone,
    chat::{GenerationType, Message, Path, Role},
    digest::Hasher,
    ids::{BookId, ChatId, Digest, EntryId, LibraryVersion, PrefixHash, TenantId},
    place::{Injection, Place, Provenance},
    prompt::PromptMessage,
    report::{
        BudgetUse, KeptPlace, KeyMatch, MatchPlace, Outcome, Reason, Report, ScanPhase, Span, Stop,
        TextSource, Trigger, TurnFacts, Verdict,
    },
    state::{StateDelta, TimedRecord},
    units::{Depth, MessageCount, Timestamp, Tokens},
};
use loreloom_ports::{Node, Reply, TurnId, TurnRecord};

/// A message by `Mira`, the user, or by `Torvald`, the model's character.
pub fn said(role: Role, text: &str) -> Message {
    let name = match role {
        Role::User => Some("Mira"),
        Role::Assistant => Some("Torvald"),
        Role::System | Role::Tool => None,
    };
    Message::new(role, name, text)
}

/// A path of alternating messages, the user's first.
pub fn dialogue(chat: &ChatId, texts: &[&str]) -> Path {
    let roles = [Role::User, Role::Assistant].into_iter().cycle();
    Path::of(chat.clone(), roles.zip(texts).map(|(role, text)| said(role, text)))
}

/// The path with one message more.
pub fn then(path: &Path, role: Role, text: &str) -> Path {
    let mut longer = path.clone();
    longer.push(said(role, text));
    longer
}

/// A delta that makes `entry` sticky until `end`.
pub fn sticky(entry: &str, end: u32) -> StateDelta {
    let record = TimedRecord {
        fingerprint: Some(0xF00D_0000_0000_0001),
        start: MessageCount(1),
        end: MessageCount(end),
        protected: false,
    };
    let mut delta = StateDelta::default();
    delta.sticky.insert(EntryId::from(entry), Some(record));
    delta
}

/// A small turn on `path`: its prompt is the path, its report says nothing.
pub fn turn(path: &Path, delta: StateDelta, at: i64) -> TurnRecord {
    TurnRecord {
        chat: path.chat().clone(),
        at: path.prefix(),
        answers: path.last_user(),
        generation: GenerationType::Normal,
        library: LibraryVersion(Digest([7; 16])),
        delta,
        injections: Vec::new(),
        prompt: history(path),
        report: report(path, Vec::new()),
        created: Timestamp(at),
        input: None,
    }
}

/// The path as a front end sends it.
pub fn history(path: &Path) -> Vec<PromptMessage> {
    let visible = path.items().iter().filter(|item| !item.message.hidden);
    visible
        .map(|item| PromptMessage {
            role: item.message.role,
            name: None,
            content: item.message.text.clone(),
        })
        .collect()
}

/// The reply that extends `path` to `longer`.
pub fn reply(turn: TurnId, longer: &Path, at: i64) -> Option<Reply> {
    let mut newest = longer.items().iter().rev();
    let item = newest.next()?.clone();
    let parent = newest.next().map_or_else(root, |item| item.prefix);
    let (prefix, message_id, message) = (item.prefix, item.id, item.message);
    let node = Node { prefix, parent, message_id, message };
    Some(Reply { turn, node, created: Timestamp(at) })
}

/// A turn as a real book makes it: a system prompt around injected lore, history with an
/// injection at depth, and a report that touched `entries` entries.
pub fn lively_turn(path: &Path, number: u64, entries: u32) -> TurnRecord {
    let lore: Vec<String> = (0..4).map(|slot| lore(number, slot)).collect();
    let injections = (0_u32..)
        .zip(&lore)
        .map(|(slot, text)| Injection {
            place: if slot == 3 { Place::AtDepth(Depth(2)) } else { Place::BeforeCharacter },
            role: Role::System,
            text: text.clone(),
            tokens: Tokens(80),
            source: source(slot),
        })
        .collect();
    let (prompt, spans) = prompt(path, &lore);
    let mut report = report(path, (0..entries).map(|entry| verdict(number, entry)).collect());
    report.spans = spans;
    report.budgets = vec![BudgetUse {
        pool: "world_info".to_owned(),
        limit: Tokens(2048),
        used: Tokens(320),
        overflowed: false,
    }];
    let until = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(3);
    let delta = sticky(&format!("entry-{}", number % 50), until);
    TurnRecord { injections, prompt, report, ..turn(path, delta, i64::from(until)) }
}

fn source(slot: u32) -> Provenance {
    let entry = EntryId(format!("harbour/{slot}"));
    Provenance::Lore { book: BookId::from("harbour"), entry }
}

fn lore(number: u64, slot: u32) -> String {
    // Slots 0 and 1 are constants, the others change with the story.
    let which = if slot < 2 { 0 } else { number * 7 % 250 };
    prose(which * 10 + u64::from(slot), 60)
}

fn prompt(path: &Path, lore: &[String]) -> (Vec<PromptMessage>, Vec<Span>) {
    let mut spans = Vec::new();
    let mut system = prose(1, 200);
    for (slot, text) in (0_u32..3).zip(lore) {
        system.push('\n');
        spans.push(span(slot, 0, system.len(), text));
        system.push_str(text);
    }
    system.push_str("\n\n");
    system.push_str(&prose(2, 250));
    let mut messages =
        vec![PromptMessage { role: Role::System, name: None, content: system.into() }];
    messages.extend(history(path));
    let at = messages.len().saturating_sub(2).max(1);
    if let Some(deep) = lore.get(3) {
        spans.push(span(3, at, 0, deep));
        let deep = PromptMessage { role: Role::System, name: None, content: deep.clone().into() };
        messages.insert(at, deep);
    }
    (messages, spans)
}

fn span(slot: u32, message: usize, start: usize, text: &str) -> Span {
    Span { source: source(slot), message, start, end: start + text.len(), tokens: Tokens(80) }
}

fn report(path: &Path, verdicts: Vec<Verdict>) -> Report {
    let chat_length = MessageCount(u32::try_from(path.items().len()).unwrap_or(u32::MAX));
    Report {
        facts: TurnFacts {
            chat: path.chat().clone(),
            prefix: path.prefix(),
            answers: path.last_user(),
            chat_length,
            generation: GenerationType::Normal,
            speaker: Some("Torvald".to_owned()),
            persona: Some("Mira".to_owned()),
            tokenizer: "o200k_base".to_owned(),
            context: Tokens(8192),
            seed: 42,
            library: LibraryVersion(Digest([7; 16])),
            at: Some(Timestamp(1_700_000_000_000)),
        },
        budgets: Vec::new(),
        verdicts,
        untouched: 970,
        spans: Vec::new(),
        vault_mode: None,
        selection: None,
        warnings: Vec::new(),
        cache: None,
        room: None,
        recalled: Vec::new(),
    }
}

fn verdict(turn: u64, entry: u32) -> Verdict {
    let number = turn * 13 + u64::from(entry) * 31;
    let outcome = match entry % 5 {
        0 | 1 => Outcome::Activated {
            place: Some(Place::BeforeCharacter),
            tokens: Tokens(80),
            shortened_from: None,
            trigger: Box::new(trigger(number)),
        },
        // A fraction that many decimal readers get wrong by one bit.
        2 => Outcome::Stopped(Stop::Chance {
            roll: fraction(number) * 100.0,
            probability: 0.1 + 0.2,
        }),
        3 => Outcome::Stopped(Stop::out_of_reach(word(number), 9, 4)),
        _ => Outcome::Stopped(Stop::Cooldown { until: MessageCount(entry + 40) }),
    };
    let kept_place = (entry % 5 == 4).then(|| {
        Box::new(KeptPlace {
            place: Place::AtDepth(Depth(entry + 3)),
            zone: Zone::Ledger,
            tokens: Tokens(80),
            idle_since: Some(MessageCount(entry + 20)),
        })
    });
    Verdict {
        book: BookId::from("harbour"),
        entry: EntryId(format!("harbour/{}", number % 1000)),
        title: format!("{} of the {}", word(number), word(number + 1)),
        outcome,
        kept_place,
        speaker_unknown: number.is_multiple_of(7),
    }
}

fn trigger(number: u64) -> Trigger {
    let start = usize::try_from(number % 700).unwrap_or(0);
    let source = TextSource::Message {
        index: u32::try_from(number % 500).unwrap_or(0),
        role: Role::User,
        name: Some("Mira".to_owned()),
    };
    let at = Some(MatchPlace { source, start, end: start + 7 });
    Trigger {
        reason: Reason::Key,
        phase: ScanPhase::Initial,
        pass: 1,
        depth: 4,
        primary: Some(KeyMatch { key: word(number), expanded: None, at, also: Vec::new() }),
        secondary: Vec::new(),
        parents: Vec::new(),
    }
}

fn draw(number: u64, more: u64) -> u64 {
    Hasher::new("fixture").number(number).number(more).finish_u64()
}

#[expect(clippy::cast_precision_loss, reason = "any fraction will do")]
fn fraction(number: u64) -> f64 {
    (draw(number, 0) >> 11) as f64 / (1_u64 << 53) as f64
}

fn word(number: u64) -> String {
    const STEMS: [&str; 12] =
        ["har", "vel", "mor", "ith", "tar", "ondo", "kes", "lira", "bran", "duv", "sel", "ac"];
    let stem = |of: u64| STEMS[usize::try_from(of % 12).unwrap_or(0)];
    let dice = draw(number, 1);
    format!("{}{}{}", stem(dice), stem(dice / 12), stem(dice / 144))
}

/// `words` words of a language of our own: as hard to compress as prose.
pub fn prose(number: u64, words: u64) -> String {
    let mut text = String::new();
    for at in 0..words {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(&word(draw(number, at) % 4000));
    }
    text.push('.');
    text
}

/// A tenant of its own for each case, so that cases can share a database.
pub fn tenant(case: &str) -> TenantId {
    TenantId::from(case)
}

/// The empty path's hash.
pub fn root() -> PrefixHash {
    PrefixHash::default()
}
