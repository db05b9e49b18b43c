//! World Info: time per turn against SillyTavern and against a bare automaton scan.

use std::{sync::Arc, time::Duration};

use daachorse::CharwiseDoubleArrayAhoCorasick;
use loreloom_core::{
    chat::{Path, Role},
    dialects::worldinfo::{Scan, WorldInfoRules, scan},
    engine::{Decision, EngineInput, decide},
    ids::ChatId,
    library::{ActiveEntries, Library},
    rules::Rules,
    state::StoryState,
    tokens::ByteEstimate,
    turn::{Instruments, Transcript, Turn, TurnCache, TurnInput},
    units::Tokens,
};

use super::{
    figure::{Figure, median_micros},
    inputs::{Inputs, recorded},
};

const LIMIT: Duration = Duration::from_millis(300);

pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    for entries in [100, 1000, 10_000, 50_000] {
        for text in ["2k", "20k", "200k"] {
            let inputs = Inputs::load(entries, text)?;
            for (mode, whole_words, recursive) in [
                ("plain", false, false),
                ("wholeword", true, false),
                ("plain+rec", false, true),
                ("wholeword+rec", true, true),
            ] {
                let rules = rules(whole_words, recursive);
                Bench::new(&inputs, rules).turn(
                    &format!("{entries} x {text} {mode}"),
                    (entries, text, mode),
                    print,
                )?;
            }
        }
    }
    long_chat(print)?;
    memory(print)?;
    compile(print)
}

fn rules(whole_words: bool, recursive: bool) -> WorldInfoRules {
    WorldInfoRules {
        depth: 1000,
        budget_percent: 100.0,
        match_whole_words: whole_words,
        recursive,
        ..WorldInfoRules::default()
    }
}

struct Bench {
    library: Library,
    active: ActiveEntries,
    transcript: Transcript,
    rules: Rules,
    automaton: CharwiseDoubleArrayAhoCorasick<u32>,
    folded: String,
}

impl Bench {
    fn new(inputs: &Inputs, rules: WorldInfoRules) -> Self {
        let rules = Rules { world_info: rules, ..Rules::default() };
        let library = Library::under([Arc::clone(&inputs.book)], &rules);
        let active = ActiveEntries::all(&library, rules.world_info.strategy);
        let mut keys: Vec<String> = inputs
            .book
            .entries
            .iter()
            .flat_map(|entry| entry.activation.keys.iter().map(|key| key.raw().to_lowercase()))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let patterns = keys.iter().zip(0_u32..).map(|(key, id)| (key.as_str(), id));
        let automaton = CharwiseDoubleArrayAhoCorasick::with_values(patterns);
        let lines = inputs.chat.iter().map(|(name, _, text)| format!("{name}: {text}"));
        #[expect(
            clippy::expect_used,
            reason = "a benchmark without its automaton has nothing to say"
        )]
        let automaton = automaton.expect("distinct keys make an automaton");
        Self {
            transcript: inputs.transcript(),
            folded: lines.collect::<Vec<_>>().join("\n").to_lowercase(),
            library,
            active,
            rules,
            automaton,
        }
    }

    fn scan(&self, transcript: &Transcript, cache: &mut TurnCache) -> Scan {
        with_turn(transcript, cache, |turn, instruments| {
            let state = StoryState::default();
            let (library, active) = (&self.library, &self.active);
            scan(
                &EngineInput { library, active, turn, state: &state, rules: &self.rules },
                instruments,
            )
        })
    }

    /// A whole turn as a host runs it: texts, places, report and state.
    fn weave(&self, transcript: &Transcript, cache: &mut TurnCache) -> Decision {
        with_turn(transcript, cache, |turn, instruments| {
            let state = StoryState::default();
            decide(
                &EngineInput {
                    library: &self.library,
                    active: &self.active,
                    turn,
                    state: &state,
                    rules: &self.rules,
                },
                instruments,
            )
        })
    }

    fn turn(
        &self,
        name: &str,
        (entries, text, mode): (usize, &str, &str),
        print: &mut dyn FnMut(Figure),
    ) -> Result<(), String> {
        let decided = self.scan(&self.transcript, &mut TurnCache::default());
        let cold = median_micros(LIMIT, || self.scan(&self.transcript, &mut TurnCache::default()));
        // With recursion the texts of entries are scanned too.
        let mut scanned = self.folded.clone();
        if self.rules.world_info.recursive {
            for one in &decided.activated {
                scanned.push('\n');
                scanned.push_str(&one.text.to_lowercase());
            }
        }
        let bare = median_micros(LIMIT, || {
            self.automaton.find_overlapping_iter(&scanned).map(|hit| hit.value()).fold(0, u32::max)
        });
        let figure = Figure::new(name, cold, "µs");
        match recorded(entries, text, mode) {
            Some(st) => {
                let found = (decided.activated.len(), decided.passes.len());
                if found != (st.hits, st.loops) {
                    return Err(format!(
                        "{name}: SillyTavern found {} hits in {} loops, we found {} in {}",
                        st.hits, st.loops, found.0, found.1
                    ));
                }
                print(figure.against(st.cpu_ms * 1000.0 / cold, "times SillyTavern's CPU time"));
            }
            None => print(figure),
        }
        let limit =
            Figure::new(format!("{name}: bare automaton, {} bytes", scanned.len()), bare, "µs");
        print(limit.against(cold / bare, "our turn as a multiple of it"));
        Ok(())
    }
}

/// Decides the turn that a transcript leads to.
fn with_turn<R>(
    transcript: &Transcript,
    cache: &mut TurnCache,
    decide: impl FnOnce(&Turn<'_>, &mut Instruments<'_>) -> R,
) -> R {
    let path = Path::new(ChatId::from("bench"));
    let input = TurnInput {
        user: "Mira".to_owned(),
        context: Tokens(1_000_000_000),
        dry_run: true,
        ..TurnInput::default()
    };
    let turn = input.turn(&path, transcript);
    let mut dice = turn.dice();
    let mut instruments = Instruments { counter: &ByteEstimate, dice: &mut dice, cache };
    decide(&turn, &mut instruments)
}

/// The next turn of a long chat: one new message, everything else seen before.
fn long_chat(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    let inputs = Inputs::load(50_000, "200k")?;
    let bench = Bench::new(&inputs, rules(true, false));
    let mut cache = TurnCache::default();
    bench.scan(&bench.transcript, &mut cache);
    let line = inputs.chat.first().map(|(_, _, text)| text.as_str()).unwrap_or_default();
    let mut at = 0;
    let mut grown = || {
        at += 1;
        let mut transcript = bench.transcript.clone();
        let text = format!("{at} {}", line.chars().take(490).collect::<String>());
        transcript.push(Role::User, Some("Mira"), &text);
        transcript
    };
    let grow = median_micros(LIMIT, &mut grown);
    let next = median_micros(LIMIT, || bench.scan(&grown(), &mut cache)) - grow;
    let figure = Figure::new("next turn, 50000 entries, 200k window", next, "µs");
    print(figure.against(next / 100.0, "of the limit of 100 µs"));
    let whole = median_micros(LIMIT, || bench.weave(&grown(), &mut cache)) - grow;
    let fired = bench.weave(&grown(), &mut cache).injections.len();
    let name = format!("the same with texts and report, {fired} fire");
    print(Figure::new(name, whole, "µs"));
    Ok(())
}

/// What an entry costs in memory once its book is compiled, beyond the book itself: how much
/// the process grows by several copies, so that memory it had to spare hardly counts.
fn memory(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    // Kept to the end: memory that was given back would be taken again without growing.
    let mut kept: Vec<(Library, ActiveEntries)> = Vec::new();
    for (entries, copies) in [(10_000, 40), (50_000_u32, 8)] {
        let inputs = Inputs::load(entries as usize, "2k")?;
        let rules = rules(true, false);
        // Not every system says.
        let Some(before) = resident_pages() else { return Ok(()) };
        kept.extend((0..copies).map(|_| {
            let library = Library::compile([Arc::clone(&inputs.book)], &rules);
            let active = ActiveEntries::all(&library, rules.strategy);
            (library, active)
        }));
        let pages = resident_pages().unwrap_or(before).saturating_sub(before);
        let bytes = f64::from(pages) * PAGE / f64::from(entries * copies);
        print(Figure::new(format!("memory of a compiled entry, of {entries}"), bytes, "bytes"));
    }
    Ok(())
}

const PAGE: f64 = 4096.0;

/// The pages of memory the process occupies, on Linux.
fn resident_pages() -> Option<u32> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel, missing elsewhere")]
    let numbers = std::fs::read_to_string("/proc/self/statm").ok()?;
    numbers.split_whitespace().nth(1)?.parse().ok()
}

fn compile(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    for (entries, limit) in [(10_000, 100.0), (50_000, 500.0)] {
        let inputs = Inputs::load(entries, "2k")?;
        let rules = rules(true, false);
        let millis = median_micros(LIMIT, || {
            let library = Library::compile([Arc::clone(&inputs.book)], &rules);
            ActiveEntries::all(&library, rules.strategy)
        }) / 1000.0;
        let figure = Figure::new(format!("compile {entries} entries"), millis, "ms");
        print(figure.against(millis / limit, format!("of the limit of {limit} ms")));
    }
    Ok(())
}
