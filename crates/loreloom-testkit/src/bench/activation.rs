//! World Info: time per turn against SillyTavern and against a bare automaton scan.

use std::{sync::Arc, time::Duration};

use daachorse::CharwiseDoubleArrayAhoCorasick;
use loreloom_core::{
    chat::{GenerationType, Role},
    dice::TurnDice,
    ids::{ChatId, PrefixHash},
    library::{Library, Roster},
    state::StoryState,
    tokens::ByteEstimate,
    turn::{CardTexts, Host, Instruments, Transcript, Turn, TurnCache},
    units::Tokens,
    worldinfo::{Scan, WorldInfoRules, scan},
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
    roster: Roster,
    transcript: Transcript,
    rules: WorldInfoRules,
    automaton: CharwiseDoubleArrayAhoCorasick<u32>,
    folded: String,
}

impl Bench {
    fn new(inputs: &Inputs, rules: WorldInfoRules) -> Self {
        let library = Library::compile([Arc::clone(&inputs.book)], &rules);
        let roster = Roster::all(&library, rules.strategy);
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
            roster,
            rules,
            automaton,
        }
    }

    fn scan(&self, transcript: &Transcript, cache: &mut TurnCache) -> Scan {
        let chat = ChatId::from("bench");
        let turn = Turn {
            chat: &chat,
            prefix: PrefixHash::default(),
            answers: None,
            transcript,
            generation: GenerationType::Normal,
            speaker: None,
            user: "Mira",
            card: &CardTexts::default(),
            prompts: &[],
            forced: &[],
            context: Tokens(1_000_000_000),
            seed: 0,
            at: None,
            dry_run: true,
            host: Host::default(),
        };
        let mut dice = TurnDice::at(0, &chat, None);
        let mut instruments = Instruments { counter: &ByteEstimate, dice: &mut dice, cache };
        scan(
            &self.library,
            &self.roster,
            &turn,
            &StoryState::default(),
            &self.rules,
            &mut instruments,
        )
    }

    fn turn(
        &self,
        name: &str,
        (entries, text, mode): (usize, &str, &str),
        print: &mut dyn FnMut(Figure),
    ) -> Result<(), String> {
        let decided = self.scan(&self.transcript, &mut TurnCache::default());
        let cold = median_micros(LIMIT, || self.scan(&self.transcript, &mut TurnCache::default()));
        let bare = median_micros(LIMIT, || {
            self.automaton
                .find_overlapping_iter(&self.folded)
                .map(|hit| hit.value())
                .fold(0, u32::max)
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
        let limit = Figure::new(format!("{name}: bare automaton"), bare, "µs");
        print(limit.against(cold / bare, "our turn as a multiple of it"));
        Ok(())
    }
}

/// The next turn of a long chat: one new message, everything else seen before.
fn long_chat(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    let inputs = Inputs::load(50_000, "200k")?;
    let bench = Bench::new(&inputs, rules(true, false));
    let mut cache = TurnCache::default();
    bench.scan(&bench.transcript, &mut cache);
    let line = inputs.chat.first().map(|(_, _, text)| text.as_str()).unwrap_or_default();
    let mut at = 0;
    let next = median_micros(LIMIT, || {
        at += 1;
        let mut transcript = bench.transcript.clone();
        let text = format!("{at} {}", line.chars().take(490).collect::<String>());
        transcript.push(Role::User, Some("Mira"), &text);
        bench.scan(&transcript, &mut cache)
    });
    let clone = median_micros(LIMIT, || bench.transcript.clone());
    let figure = Figure::new("next turn, 50000 entries, 200k window", next - clone, "µs");
    print(figure.against((next - clone) / 100.0, "of the limit of 100 µs"));
    Ok(())
}

fn compile(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    for (entries, limit) in [(10_000, 100.0), (50_000, 500.0)] {
        let inputs = Inputs::load(entries, "2k")?;
        let rules = rules(true, false);
        let millis = median_micros(LIMIT, || {
            let library = Library::compile([Arc::clone(&inputs.book)], &rules);
            Roster::all(&library, rules.strategy)
        }) / 1000.0;
        let figure = Figure::new(format!("compile {entries} entries"), millis, "ms");
        print(figure.against(millis / limit, format!("of the limit of {limit} ms")));
    }
    Ok(())
}
