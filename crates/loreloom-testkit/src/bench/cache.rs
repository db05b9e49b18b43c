//! How much of a prompt stays the beginning of the next one, over a story of 100 turns.
//!
//! The story is made from a fixed seed: scenes of some turns, each about a few people and
//! places out of forty, which the book has entries for. What fires is decided by the
//! engine; only the texts are invented. SillyTavern's own share is read from its recorded
//! prompts where they are.

mod served;

use std::{fmt::Write as _, path::PathBuf, sync::Arc};

use cpu_time::ThreadTime;
use loreloom_core::{
    assemble::Assembled,
    book::{Book, DepthFrom, Entry, Key, Position},
    cache_placement::{
        self, Ledger, LoreSources, Mode, ModeTrial, PlanInput, Provider, StableSettings, TokenMemo,
        TrialTurn, fingerprint, kept,
    },
    chat::{Message, Path, Role},
    ids::{ChatId, MessageId},
    library::{ActiveEntries, Library},
    place::{Injection, Place, Provenance},
    prompt::PromptMessage,
    replay::{Replay, ReplayLore},
    rules::{Profile, Rules},
    tokens::{ByteEstimate, TokenCounter as _},
    turn::{TurnInput, VaultContext},
    units::{Depth, MessageCount, Tokens},
};
use loreloom_recognise::layout_of;
use serde_json::Value;

use super::figure::Figure;

const TURNS: usize = 100;
const ENTRIES: usize = 40;
/// Turns of one scene, and what it is about.
const SCENE: usize = 6;
const CAST: usize = 4;
/// The share that must stay.
const BAR: f64 = 0.9;
const NOTE: &str = "[Write in the past tense, slowly, and let the sea be heard.]";

/// What differs between the runs.
#[derive(Clone, Copy)]
struct Setting {
    name: &'static str,
    /// Whether the author's note is ours to place, or the front end has put it at depth 4.
    note_is_ours: bool,
    /// The model's context, which the front end trims its prompts to.
    context: u32,
    /// The most tokens of lore, or 0 for a quarter of the context.
    budget: u32,
    cut_ahead_percent: u32,
}

const WHOLE: Setting = Setting {
    name: "whole story",
    note_is_ours: true,
    context: 65_536,
    budget: 0,
    cut_ahead_percent: 0,
};

const SETTINGS: [Setting; 5] = [
    WHOLE,
    Setting { name: "tight budget", budget: 700, ..WHOLE },
    Setting { name: "note by the front end", note_is_ours: false, ..WHOLE },
    Setting { name: "trimmed to 8k", context: 8192, ..WHOLE },
    Setting { name: "trimmed to 8k, cut ahead", context: 8192, cut_ahead_percent: 33, ..WHOLE },
];

impl Setting {
    fn stable(&self) -> StableSettings {
        let cut_ahead_percent = self.cut_ahead_percent;
        StableSettings { cut_ahead_percent, ..StableSettings::default() }
    }

    fn rules(&self) -> Rules {
        let mut rules = Profile::Loreloom.rules();
        rules.world_info.budget_cap = self.budget;
        rules
    }
}

pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    match recorded()? {
        Some(share) => print(Figure::new("kept, SillyTavern's recorded prompts", share, "share")),
        None => print(Figure::new("kept, SillyTavern (no recordings here)", f64::NAN, "share")),
    }
    for setting in &SETTINGS {
        for provider in ["anthropic", "openai"] {
            measure(setting, provider, print)?;
        }
    }
    served::run(print)
}

fn measure(setting: &Setting, provider: &str, print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    let provider = Provider::named(provider).ok_or("the provider has gone")?;
    let tale = Tale::new(setting);
    let mut trial = ModeTrial::new(provider, setting.stable(), &ByteEstimate);
    let run = tale.play(&mut trial);
    let (placed, stable) = (trial.tried(Mode::AsPlaced), trial.tried(Mode::Stable));
    if provider.name == "anthropic" {
        for mode in Mode::ALL {
            let tried = trial.tried(mode);
            let name = format!("{}: kept, {}", setting.name, mode.as_str());
            let against =
                format!("of the bar of {BAR}; {} turns kept less than half", tried.broken);
            print(Figure::new(name, tried.share(), "share").against(tried.share() / BAR, against));
        }
        let each = |sum: f64| sum / f64::from(stable.turns + 1);
        let figures = [
            ("tokens that linger a turn", each(f64::from(run.lingering)), "tokens"),
            ("texts that left in batches", f64::from(run.evicted), "texts"),
            ("planning a turn", each(run.seconds) * 1e6, "us"),
        ];
        for (what, value, unit) in figures {
            print(Figure::new(format!("{}: {what}", setting.name), value, unit));
        }
    }
    let name = format!("{}: cost, {}", setting.name, provider.name);
    let figure = Figure::new(name, stable.price(), "of full");
    #[expect(clippy::cast_precision_loss, reason = "token counts")]
    let ratio = stable.cost as f64 / placed.cost.max(1) as f64;
    let against = format!("of as-placed, which costs {:.2} of full", placed.price());
    print(figure.against(ratio, against));
    Ok(())
}

/// What the stable mode did over a whole story.
#[derive(Default)]
struct StableRun {
    ledger: Ledger,
    /// Tokens of lore that was kept although its turn did not ask for it, summed over all turns.
    lingering: u32,
    evicted: u32,
    /// CPU time of planning.
    seconds: f64,
}

/// A story with its book.
struct Tale<'a> {
    setting: &'a Setting,
    library: Library,
    messages: Vec<Message>,
}

impl<'a> Tale<'a> {
    fn new(setting: &'a Setting) -> Self {
        let mut words = Words(7);
        let library = Library::under([Arc::new(book(&mut words))], &setting.rules());
        Self { setting, library, messages: story(&mut words) }
    }

    /// Plays the story.
    fn play(&self, trial: &mut ModeTrial<'_>) -> StableRun {
        let rules = self.setting.rules();
        let active = ActiveEntries::all(&self.library, rules.world_info.strategy);
        let lore = ReplayLore {
            library: &self.library,
            active: &active,
            rules: &rules,
            counter: &ByteEstimate,
        };
        let mut replay = Replay::new(ChatId::from("bench"), lore);
        let input = TurnInput {
            user: "Mira".to_owned(),
            context: Tokens(self.setting.context),
            ..TurnInput::default()
        };
        let mut run = StableRun::default();
        for message in &self.messages {
            replay.say(message.clone());
            if message.role == Role::User {
                let woven = replay.ask(&input);
                let limit = woven.report.budgets.iter().map(|budget| budget.limit).sum();
                self.turn(trial, &mut run, replay.path(), woven.injections, limit);
            }
        }
        run
    }

    fn turn(
        &self,
        trial: &mut ModeTrial<'_>,
        run: &mut StableRun,
        path: &Path,
        mut injections: Vec<Injection>,
        limit: Tokens,
    ) {
        let note = Injection {
            place: Place::AtDepth(Depth(4)),
            role: Role::System,
            text: NOTE.to_owned(),
            tokens: ByteEstimate.count(NOTE),
            source: Provenance::AuthorsNote,
        };
        let limit = limit.saturating_add(note.tokens);
        injections.extend(self.setting.note_is_ours.then_some(note));
        let (prompt, window, head) = self.prompt(path);
        let active = ActiveEntries::all(&self.library, self.setting.rules().world_info.strategy);
        let nothing = VaultContext::default();
        let sources = LoreSources { library: &self.library, active: &active, scene: &nothing };
        let fingerprint =
            fingerprint(prompt[..head].iter().map(|one| (one.role, one.content.as_str())));
        let length = MessageCount(u32::try_from(path.items().len()).unwrap_or(u32::MAX));
        let scene = PlanInput { window: &window, head: fingerprint, length, marked: &[], limit };
        let start = ThreadTime::now();
        let planned = cache_placement::plan(
            &scene,
            &injections,
            &sources,
            &run.ledger,
            &self.setting.stable(),
        );
        run.seconds += start.elapsed().as_secs_f64();
        run.ledger.apply(&planned.delta);
        let lingering = planned.laid.iter().filter(|laid| laid.lingers());
        run.lingering += lingering.map(|laid| laid.injection.tokens.0).sum::<u32>();
        let batch = |one: &&cache_placement::Evicted| {
            matches!(one.why, cache_placement::Eviction::CutOff(_))
        };
        run.evicted += u32::try_from(planned.evicted.iter().filter(batch).count()).unwrap_or(0);
        let _compared = trial.turn(&TrialTurn {
            scene,
            injections: &injections,
            sources: &sources,
            assemble: &|texts, skip| woven(&prompt, head, skip, texts),
        });
    }

    /// The prompt as a front end sends it, the ids of its chat, and where that begins. The
    /// front end leaves a quarter of the context to lore and reply, and drops the oldest
    /// messages.
    fn prompt(&self, path: &Path) -> (Vec<PromptMessage>, Vec<MessageId>, usize) {
        let message =
            |role: Role, text: &str| PromptMessage { role, name: None, content: text.into() };
        let mut room = self.setting.context / 4 * 3;
        let fits = |item: &&loreloom_core::chat::PathItem| {
            let tokens = ByteEstimate.count(&item.message.text).0;
            let rest = room.checked_sub(tokens);
            room = rest.unwrap_or_default();
            rest.is_some()
        };
        let mut sent: Vec<_> = path.items().iter().rev().take_while(fits).collect();
        sent.reverse();
        let mut prompt = vec![
            message(Role::System, "Write the next reply of a story that Mira and Torvald tell."),
            message(Role::System, &Words(3).some(300)),
        ];
        let head = prompt.len();
        let mut chat = Path::new(path.chat().clone());
        let mut window = Vec::new();
        for (at, item) in sent.iter().enumerate() {
            if !self.setting.note_is_ours && at + 4 == sent.len() {
                prompt.push(message(Role::System, NOTE));
                window.push(chat.push(Message::new(Role::System, None, NOTE)).id);
            }
            prompt.push(message(item.message.role, &item.message.text));
            window.push(item.id);
        }
        (prompt, window, head)
    }
}

/// A prompt without the oldest `skip` messages of its chat, and with texts.
fn woven(prompt: &[PromptMessage], head: usize, skip: usize, texts: &[Injection]) -> Assembled {
    let prompt = [&prompt[..head], prompt.get(head + skip..).unwrap_or_default()].concat();
    layout_of(&prompt, false).plan(&prompt, texts).apply(prompt)
}

/// Entries on people and places; some are constant, some fire by chance.
fn book(words: &mut Words) -> Book {
    let mut book = Book::new("bench", "Bench");
    for at in 0..ENTRIES {
        let mut entry = Entry::new(format!("bench/{at}"));
        let name = name_of(at);
        entry.activation.keys = vec![Key::Literal(name.clone())];
        entry.activation.constant = at < 3;
        entry.content = format!("{name}: {}", words.some(45));
        entry.placement.position = match at % 10 {
            0..4 => Position::BeforeCharacter,
            4..9 => Position::AfterCharacter,
            _ => Position::AtDepth { from: DepthFrom::default() },
        };
        // One in ten fires only by chance.
        entry.activation.probability = (at % 10 == 8).then_some(50.0);
        book.entries.push(entry);
    }
    book
}

/// A greeting, then `TURNS` messages of the user, each with its reply.
fn story(words: &mut Words) -> Vec<Message> {
    let mut messages = vec![Message::new(Role::Assistant, Some("Torvald"), words.some(80))];
    let mut cast = [0; CAST];
    for turn in 0..TURNS {
        if turn % SCENE == 0 {
            // Somebody stays from one scene to the next.
            for one in &mut cast[1..] {
                *one = words.below(ENTRIES);
            }
            cast.rotate_left(1);
        }
        let mut say = |length: usize, mentions: usize| {
            let mut text = words.some(length);
            for _mention in 0..mentions {
                let _infallible = write!(text, " {}", name_of(cast[words.below(CAST)]));
            }
            text
        };
        messages.push(Message::new(Role::User, Some("Mira"), say(35, 1)));
        messages.push(Message::new(Role::Assistant, Some("Torvald"), say(120, 2)));
    }
    messages
}

fn name_of(at: usize) -> String {
    const PARTS: [&str; 7] = ["Kar", "Vaz", "Zas", "Dra", "Tha", "Mak", "Bra"];
    format!("{}{}o", PARTS[at % 7], PARTS[at / 7 % 7].to_lowercase())
}

/// Words from a fixed sequence.
struct Words(u64);

impl Words {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit
    }

    fn some(&mut self, count: usize) -> String {
        const WORDS: [&str; 20] = [
            "winter", "then", "morning", "salt", "fell", "quiet", "over", "road", "trade", "and",
            "nothing", "until", "river", "bends", "hills", "bread", "cloth", "slowly", "lantern",
            "the",
        ];
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        words.join(" ") + "."
    }
}

/// The share that SillyTavern's own order kept, in recorded prompts with a lorebook and an
/// author's note; `None` if there are no recordings.
fn recorded() -> Result<Option<f64>, String> {
    let folder = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/conformance/traffic/12-lore-note-depth"
    ));
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut memo = TokenMemo::new(&ByteEstimate);
    let (mut all, mut stayed) = (0, 0);
    let mut before: Vec<PromptMessage> = Vec::new();
    for number in 1.. {
        let file = folder.join(format!("{number:03}.json"));
        if !file.exists() {
            break;
        }
        #[expect(clippy::disallowed_methods, reason = "the path is in the error")]
        let bytes =
            std::fs::read(&file).map_err(|error| format!("`{}`: {error}", file.display()))?;
        let request: Value = serde_json::from_slice(&bytes)
            .map_err(|error| format!("`{}`: {error}", file.display()))?;
        let messages = request["body"]["messages"].as_array().into_iter().flatten();
        let prompt: Vec<PromptMessage> = messages.map(read).collect();
        let found = kept(&before, &prompt, &mut memo);
        (all, stayed) = (all + found.previous.0, stayed + found.kept.0);
        before = prompt;
    }
    Ok((all > 0).then(|| f64::from(stayed) / f64::from(all)))
}

fn read(message: &Value) -> PromptMessage {
    let text = |key: &str| message[key].as_str().map(str::to_owned);
    let role = match message["role"].as_str() {
        Some("system") => Role::System,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        Some(_) | None => Role::User,
    };
    PromptMessage { role, name: text("name"), content: text("content").unwrap_or_default().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_tenths_of_a_story_that_is_not_trimmed_stay_a_prefix() {
        for setting in SETTINGS.iter().filter(|setting| setting.context > 60_000) {
            let provider = Provider::named("openai").unwrap();
            let mut trial = ModeTrial::new(provider, setting.stable(), &ByteEstimate);
            let _run = Tale::new(setting).play(&mut trial);
            let (placed, stable) = (trial.tried(Mode::AsPlaced), trial.tried(Mode::Stable));
            assert_eq!(stable.turns, 99);
            assert!(stable.share() >= BAR, "{}: {}", setting.name, stable.share());
            assert!(placed.share() < stable.share());
            assert!(stable.cost < placed.cost);
        }
    }
}
