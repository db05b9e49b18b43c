//! Stories and memories to try things on.

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::ChatId,
};
use loreloom_memory::{
    pass::{Answers, Need, Script},
    record::{Memory, MemoryKind},
};
use proptest::prelude::*;

/// A chat in which the user and the character take turns.
pub(crate) fn path(texts: &[String]) -> Path {
    let message = |(at, text): (usize, &String)| {
        let (role, name) =
            if at.is_multiple_of(2) { (Role::User, "Player") } else { (Role::Assistant, "Mara") };
        Message::new(role, Some(name), text.clone())
    };
    Path::of(ChatId::from("story"), texts.iter().enumerate().map(message))
}

/// Short sentences from few words, so that some are alike.
pub(crate) fn sentence() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "Odo", "Lis", "Mara", "no", "longer", "is", "now", "the", "ferry", "landing", "works",
        "at", "quarrels", "with", "keeps", "bees", "light",
    ]);
    prop::collection::vec(word, 2..9).prop_map(|words| words.join(" "))
}

/// Memories of these kinds, some merged before, some retired.
pub(crate) fn memories(kinds: &'static [MemoryKind]) -> impl Strategy<Value = Vec<Memory>> {
    let one = (prop::sample::select(kinds), sentence(), any::<bool>(), 0..12_u32, 1..4_u8, 0..5_u8);
    prop::collection::vec(one, 0..12).prop_map(|list| {
        list.into_iter()
            .enumerate()
            .map(|(at, (kind, content, consolidated, unconfirmed_since, importance, retired))| {
                Memory {
                    id: format!("m{at}").as_str().into(),
                    kind,
                    content,
                    consolidated,
                    unconfirmed_since,
                    importance: Some(importance),
                    ts: Some(i64::try_from(at).unwrap_or(0)),
                    superseded_by: (retired == 0).then(|| "gone".into()),
                    ..Memory::default()
                }
            })
            .collect()
    })
}

/// A reply of tagged lines, with noise between.
pub(crate) fn reply(kinds: &'static [MemoryKind]) -> impl Strategy<Value = String> {
    let tagged = (prop::sample::select(kinds), 1..4_u8, sentence())
        .prop_map(|(kind, score, text)| format!("[{}:{score}] {text}", kind.as_str()));
    let line = prop_oneof![4 => tagged, 1 => ".{0,40}", 1 => Just("NONE".to_owned())];
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

/// Runs a pass with these replies; past their end the model is silent.
pub(crate) fn play<T>(replies: &[String], pass: impl Fn(&mut Script<'_>) -> Result<T, Need>) -> T {
    let mut answers =
        Answers { replies: replies.iter().cloned().map(Some).collect(), ..Answers::default() };
    loop {
        let mut script = Script::new(&answers);
        let played = pass(&mut script);
        let used = script.used();
        match played {
            Ok(outcome) => return outcome,
            // The model is asked no third time: as if it had been silent.
            Err(Need::Unreadable(_)) => answers.replies[used - 1] = None,
            Err(Need::Reply(_)) => answers.replies.push(None),
            Err(Need::Vectors(texts)) => {
                for text in texts {
                    answers.vectors.insert(&text, None);
                }
            }
        }
    }
}
