//! Replaying a whole chat: 10,000 turns over 1,000 entries.

use std::sync::Arc;

use cpu_time::ThreadTime;
use loreloom_core::{
    chat::{Message, Role},
    ids::ChatId,
    library::{ActiveEntries, Library},
    replay::{Replay, ReplayEvent, ReplayLore, events},
    rules::Profile,
    tokens::ByteEstimate,
    turn::TurnInput,
    units::Tokens,
};

use super::{figure::Figure, inputs::Inputs};

const TURNS: usize = 10_000;
const ENTRIES: usize = 1000;
/// The most that it may take, in seconds.
const LIMIT: f64 = 2.0;
/// A message's length, in characters.
const LENGTH: usize = 300;

pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    let inputs = Inputs::load(ENTRIES, "200k")?;
    let mut book = (*inputs.book).clone();
    for entry in book.entries.iter_mut().step_by(5) {
        entry.activation.timed.sticky = Some(4);
    }
    let rules = Profile::Loreloom.rules();
    let library = Library::under([Arc::new(book)], &rules);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let story = story(&inputs);
    let lore =
        ReplayLore { library: &library, active: &active, rules: &rules, counter: &ByteEstimate };
    let start = ThreadTime::now();
    let lines = Replay::new(ChatId::from("bench"), lore).run(story);
    let seconds = start.elapsed().as_secs_f64();
    if lines.len() != TURNS {
        return Err(format!("{} turns instead of {TURNS}", lines.len()));
    }
    let name = format!("replay {TURNS} turns x {ENTRIES} entries");
    print(Figure::new(name, seconds, "s").against(seconds / LIMIT, "of the limit of 2 s"));
    let fired: usize = lines.iter().map(|line| line.fired.len()).sum();
    #[expect(clippy::cast_precision_loss, reason = "a mean of small numbers")]
    let mean = fired as f64 / TURNS as f64;
    print(Figure::new("entries fired a turn", mean, "entries"));
    Ok(())
}

/// No two messages are alike, so each is scanned.
fn story(inputs: &Inputs) -> Vec<ReplayEvent> {
    let text: String = inputs.chat.iter().map(|(_, _, text)| text.as_str()).collect();
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(LENGTH).map(|chunk| chunk.iter().collect()).collect();
    let messages = pieces.iter().cycle().take(2 * TURNS).enumerate().map(|(at, text)| {
        let (role, name) =
            if at % 2 == 0 { (Role::User, "Mira") } else { (Role::Assistant, "Torvald") };
        Message::new(role, Some(name), format!("{text} {at}"))
    });
    let input = |_, _: Option<&str>| TurnInput {
        user: "Mira".to_owned(),
        context: Tokens(8192),
        ..TurnInput::default()
    };
    events(messages, input)
}
