//! The storyteller's own words: a table for each kind of beat.
//!
//! `{S}` is the speaking character and `{p}` their possessive. The phrases name no place and
//! no thing, so that they fit any world; what is particular comes from lore and from the
//! user's own words.

/// What the user's message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Asks.
    Question,
    /// Says hello.
    Greeting,
    /// Takes leave.
    Farewell,
    /// Attacks or threatens.
    Threat,
    /// Does something.
    Action,
    /// Says something.
    Statement,
}

const GREETINGS: [&str; 8] =
    ["hello", "hi", "hey", "greetings", "good morning", "good evening", "good day", "well met"];
const FAREWELLS: [&str; 6] = ["goodbye", "farewell", "good night", "see you", "i leave", "so long"];
const THREATS: [&str; 10] = [
    "attack",
    "kill",
    "stab",
    "strike",
    "my sword",
    "my blade",
    "my dagger",
    "my knife",
    "threaten",
    "shoot",
];

impl Move {
    /// Reads a message. A question is one however it begins: it wants an answer.
    pub(super) fn of(message: &str) -> Self {
        let lower = message.to_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| has_words(&lower, phrase));
        let opens = |phrases: &[&str]| {
            phrases.iter().any(|phrase| lower.starts_with(phrase) && has_words(&lower, phrase))
        };
        if message.contains(['?', '？']) {
            Self::Question
        } else if has(&THREATS) {
            Self::Threat
        } else if has(&FAREWELLS) {
            Self::Farewell
        } else if opens(&GREETINGS) {
            Self::Greeting
        } else if message.starts_with('*') || does(message).is_some() {
            Self::Action
        } else {
            Self::Statement
        }
    }
}

/// Verbs of the mind: saying "I think" is not doing anything.
const INWARD: [&str; 26] = [
    "think", "thought", "know", "knew", "guess", "am", "was", "have", "had", "don't", "want",
    "need", "hope", "love", "hate", "believe", "remember", "mean", "wonder", "like", "feel",
    "will", "would", "can", "could", "see",
];

/// What somebody who says "I …" does: the words after "I", unless it is only in their mind.
pub(super) fn does(sentence: &str) -> Option<&str> {
    let done = sentence.strip_prefix("I ")?;
    let verb = done.split(' ').next()?.to_lowercase();
    let verb = verb.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '\'');
    (!verb.is_empty() && !INWARD.contains(&verb)).then_some(done)
}

/// Whether a text has the phrase as whole words.
fn has_words(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// How a character takes a message, before speaking.
pub(super) fn takes_it(kind: Move) -> &'static [&'static str] {
    match kind {
        Move::Question => &[
            "{S} takes a moment before answering.",
            "{S} turns the question over, then meets your eyes.",
            "The question brings {S} up short.",
            "{S} glances over {p} shoulder first, as if the answer were not meant for every ear.",
            "Of all the things you might have asked, {S} seems to have expected this one.",
        ],
        Move::Greeting => &[
            "{S} looks up and gives you a slow nod.",
            "At the sound of your voice {S} straightens up.",
            "{S} greets you with half a smile, the other half held back.",
        ],
        Move::Farewell => &[
            "{S} lifts a hand, then thinks better of letting you go just yet.",
            "You have half turned away when {S} speaks again.",
            "{S} nods, but {p} mind is plainly on something else.",
        ],
        Move::Threat => &[
            "{S} goes very still.",
            "{S} does not step back.",
            "Something hardens in {p} face, and {S} takes care to keep both hands where you can see them.",
        ],
        Move::Action => &[
            "{S} follows every move you make.",
            "{S} watches without a word until you are done.",
            "{S} makes room for you and waits.",
        ],
        Move::Statement => &[
            "{S} listens to the end without interrupting.",
            "{S} lets your words settle before replying.",
            "{S} weighs that, head tilted a little.",
            "It takes {S} a breath or two to find an answer to that.",
        ],
    }
}

/// What a character says where no lore helps.
pub(super) fn small_talk(kind: Move) -> &'static [&'static str] {
    match kind {
        Move::Question => &[
            "That is a longer story than we have time for.",
            "I wish I had a better answer for you.",
            "Ask me again when I have had time to think about it.",
        ],
        Move::Greeting => &["So you came after all.", "There you are. I had begun to wonder."],
        Move::Farewell => &["Go carefully.", "Go, then, before I find a reason to keep you."],
        Move::Threat => {
            &["Think again before you do that.", "You would regret it sooner than I would."]
        }
        Move::Action => &["Go on, then.", "Careful, now."],
        Move::Statement => &[
            "That changes a few things.",
            "Then we had better be ready for it.",
            "I hear you. I only wish I liked the sound of it.",
        ],
    }
}

/// What follows a character's name after speech.
pub(super) const SAYS: [&str; 7] = [
    "{S} says, low enough that only you can hear",
    "{S} tells you, choosing every word",
    "{S} says at last",
    "{S} says, without looking away",
    "{S} says, and there is no doubt in {p} voice",
    "{S} tells you, as one tells a thing everybody ought to know",
    "{S} says after a while",
];

/// Leads for lore in speech; the lore continues the sentence.
pub(super) const SPOKEN_LEADS: [&str; 5] =
    ["", "I can tell you this much: ", "", "What I know is this: ", "You should hear it from me: "];

/// Leads for lore that is said again.
pub(super) const SPOKEN_AGAIN: [&str; 3] =
    ["As I told you: ", "It has not changed since you last asked: ", "Once more, then: "];

/// Leads for lore that is narrated again.
pub(super) const TOLD_AGAIN: [&str; 3] =
    ["You have heard it before: ", "It comes back to you: ", "It is as you were told: "];

/// What goes on around somebody who finds nothing new.
pub(super) const AROUND: [&str; 6] = [
    "Somewhere nearby a sound starts, and stops again.",
    "The light has shifted a little since you last looked.",
    "Your own breathing seems louder than it ought to be.",
    "The air smells of rain, or of something that would like to be taken for it.",
    "A draught from nowhere in particular touches the back of your neck.",
    "Far off somebody laughs, and then thinks better of it.",
];

/// After the name of a thing has been echoed.
pub(super) const ECHOES: [&str; 4] = [
    "{S} does not seem surprised to hear it named.",
    "{S} says it the way one names an old debt.",
    "{S} repeats it slowly, as though it had been a while.",
    "{S} lets that stand between you for a moment.",
];

/// What the user does, where their message is wanted.
pub(super) const USER_ACTS: [&str; 6] = [
    "I take a moment before I answer.",
    "I step closer.",
    "I look around once more, to be sure.",
    "I nod slowly.",
    "I lower my voice.",
    "I cannot help but smile.",
];

/// What the user says then.
pub(super) const USER_SAYS: [&str; 7] = [
    "Tell me more about that.",
    "And what would you do in my place?",
    "Show me. I want to see it for myself.",
    "Who else knows of this?",
    "Then let us not wait any longer.",
    "How did it come to this?",
    "I am not sure that I believe it.",
];

/// How a character's turn ends.
pub(super) const LEAVES_IT: [&str; 7] = [
    "{S} waits to see what you make of it.",
    "For a while neither of you says anything more.",
    "Then {S} falls silent and leaves the rest to you.",
    "{S} looks at you as though the next word were yours.",
    "Whatever else {S} is thinking, {p} face does not give it away.",
    "From {p} tone there is more to it, but it will have to be asked for.",
    "{S} holds your gaze a little longer than needed.",
];

/// How the world takes a message when nobody in particular speaks.
pub(super) fn world_takes_it(kind: Move) -> &'static [&'static str] {
    match kind {
        Move::Question => &[
            "The question hangs there for a moment.",
            "Nobody answers at once.",
            "It is a fair question, and it has an answer of sorts.",
        ],
        Move::Greeting => &[
            "Your greeting carries farther than you meant it to.",
            "Your voice sounds strange in the quiet, but not unwelcome.",
        ],
        Move::Farewell => &["You turn to go, and find that it is not so easy to leave."],
        Move::Threat => {
            &["Everything goes quiet at once.", "For the length of a heartbeat nothing moves."]
        }
        Move::Action => {
            &["You do it before you can think better of it.", "It takes less time than you feared."]
        }
        Move::Statement => &[
            "Your words settle slowly.",
            "For a moment there is only silence.",
            "Nobody contradicts you.",
        ],
    }
}

/// Leads for lore in narration.
pub(super) const TOLD_LEADS: [&str; 5] = [
    "",
    "One thing is beyond doubt: ",
    "",
    "You remember what you were told: ",
    "Nobody here would dispute it: ",
];

/// How a narrated turn ends.
pub(super) const GOES_ON: [&str; 6] = [
    "What comes next is up to you.",
    "It feels as though the next step ought to be yours.",
    "Nothing else stirs, for now.",
    "You have the odd sense of being waited for.",
    "The moment stretches, and does not break.",
    "There is still time to choose otherwise.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_by_what_they_do() {
        for (message, expected) in [
            ("Hello, who keeps the gate?", Move::Question),
            ("Hello there.", Move::Greeting),
            ("History is written by the winners.", Move::Statement),
            ("I draw my sword.", Move::Threat),
            ("Farewell, then.", Move::Farewell),
            ("I push the door open.", Move::Action),
            ("*pushes the door open*", Move::Action),
            ("I am tired.", Move::Statement),
            ("I don't care.", Move::Statement),
            ("The skill of the smith is great.", Move::Statement),
            ("", Move::Statement),
        ] {
            assert_eq!(Move::of(message), expected, "{message}");
        }
    }
}
