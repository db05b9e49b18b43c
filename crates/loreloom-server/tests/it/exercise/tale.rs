//! The tale: 51 messages with two characters and a player, and what a careful reader notes.
//!
//! Ines comes to the harbour inn of Mara, where Tobin the boatman lives. Planted are a secret, an
//! object that changes hands, an injury that heals, a promise that is kept, a feeling that turns,
//! and a reply that contradicts what is known.

/// The greeting of the inn.
pub(super) const GREETING: &str = "Mara wipes the counter. \"Come in, stranger. Rain again.\"";

/// One exchange: who answers, what Ines says, and the reply.
pub(super) type Exchange = (&'static str, &'static str, &'static str);

pub(super) const TALE: [Exchange; 25] = [
    ("Mara", "I am Ines, a chart maker from Carrow.", "\"A chart maker. We get few of those.\""),
    ("Tobin", "And who are you by the fire?", "\"Tobin. I row the ferry when the sea allows it.\""),
    ("Mara", "I slipped on your steps and sprained my wrist.", "\"Let me bind that wrist, Ines.\""),
    (
        "Tobin",
        "My brother Luca drowned off Skell last winter.",
        "\"I am sorry. The reef there is cruel.\"",
    ),
    (
        "Mara",
        "Here, take my brass compass as a pledge for the room.",
        "Mara puts the brass compass under the counter. She does not trust strangers.",
    ),
    (
        "Tobin",
        "The lamp at the mole is dark. Can you mend it?",
        "\"I promise to mend the mole lamp before the new moon,\" says Tobin.",
    ),
    (
        "Mara",
        "You look away when I ask about the mole.",
        "\"I distrust people who ask much, Ines.\"",
    ),
    (
        "Mara",
        "Tobin is gone to the boats. Tell me what you hide.",
        "Mara whispers: \"I sank the Heron for the insurance gold. Tobin must never hear of it.\"",
    ),
    ("Mara", "I will keep it to myself.", "\"Swear it. The Heron was his father's ship.\""),
    (
        "Tobin",
        "The next morning I meet Tobin at the pier.",
        "\"Wind from the west today,\" says Tobin.",
    ),
    ("Tobin", "What do you know of old wrecks?", "\"Only what the gulls tell me.\""),
    (
        "Mara",
        "Back at the inn I carry in your firewood.",
        "\"Kind of you. Nobody does that here.\"",
    ),
    ("Mara", "How is my bandage?", "\"Your wrist has healed, Ines. You can throw it away.\""),
    (
        "Tobin",
        "Tobin, how is the lamp at the mole?",
        "\"Mended it last night. The mole lamp burns again, as I promised.\"",
    ),
    (
        "Mara",
        "Could Tobin have the compass for the ferry?",
        "\"Give it to him.\" Mara hands the brass compass to Tobin.",
    ),
    (
        "Tobin",
        "Does the compass serve you?",
        "\"It points true. I carry the brass compass on my belt now.\"",
    ),
    (
        "Mara",
        "I brought your mother her medicine.",
        "\"I trust you now, Ines. I was wrong about you.\"",
    ),
    (
        "Tobin",
        "What is the news from Skell?",
        "\"Your brother Luca sends his greetings from Skell.\"",
    ),
    ("Tobin", "Luca is dead, Tobin.", "\"Forgive me. I mixed up the names.\""),
    ("Mara", "Two days later I sit in the inn again.", "\"Soup is ready,\" says Mara."),
    ("Tobin", "Tobin, shall we row out?", "\"When the tide turns.\""),
    ("Mara", "What shall I bring from the market?", "\"Salt, and thread for the sails.\""),
    ("Tobin", "Is the sea calm?", "\"Calm as a pond.\""),
    ("Mara", "Who has the compass these days?", "\"Ask the boatman.\""),
    ("Tobin", "Tell me how things stand, Tobin.", "\"Well enough, Ines.\""),
];

/// What must not be added to a prompt of Tobin.
pub(super) const SECRET: [&str; 3] = ["Heron", "insurance", "sank"];

/// A note: its tier, whose it is (empty for all), the words that call for it, and the line. `old`
/// is the note that it replaces.
#[derive(Clone, Copy)]
pub(super) struct Note {
    pub(super) tier: &'static str,
    pub(super) of: &'static str,
    pub(super) mark: &'static str,
    pub(super) tag: &'static str,
    pub(super) text: &'static str,
    pub(super) old: &'static str,
}

const fn note(
    tier: &'static str,
    of: &'static str,
    mark: &'static str,
    tag: &'static str,
    text: &'static str,
) -> Note {
    Note { tier, of, mark, tag, text, old: "" }
}

const fn instead(note: Note, old: &'static str) -> Note {
    Note { old, ..note }
}

const SPRAINED: &str = "The user has a sprained wrist.";
const DISTRUST: &str = "Mara distrusts the user.";
const AT_COUNTER: &str = "Mara keeps the brass compass of Ines under the counter.";
const LAMP: &str = "Tobin promised Ines to mend the mole lamp before the new moon.";

pub(super) const NOTES: &[Note] = &[
    note(
        "long_term",
        "",
        "chart maker from Carrow",
        "fact:2:permanent:entity=the user/character,Carrow/place",
        "Ines is a chart maker from Carrow.",
    ),
    note(
        "long_term",
        "",
        "Luca drowned",
        "fact:3:permanent:entity=Luca/character,Ines/character",
        "Luca, the brother of Ines, drowned off Skell.",
    ),
    note("session", "", "sprained my wrist", "detail:2:session:entity=user/character", SPRAINED),
    instead(
        note(
            "session",
            "",
            "wrist has healed",
            "development:2:session:entity=Ines/character",
            "The wrist of Ines has healed.",
        ),
        SPRAINED,
    ),
    note(
        "long_term",
        "Mara",
        "under the counter",
        "fact:2:permanent:entity=Brass Compass/object",
        AT_COUNTER,
    ),
    instead(
        note(
            "long_term",
            "Mara",
            "compass to Tobin",
            "event:2:permanent:entity=Brass Compass/object,Tobin/character",
            "Tobin now has the brass compass of Ines.",
        ),
        AT_COUNTER,
    ),
    note(
        "long_term",
        "Tobin",
        "compass on my belt",
        "fact:2:permanent:entity=Brass Compass/object",
        "Tobin carries the brass compass of Ines on his belt.",
    ),
    note(
        "long_term",
        "Mara",
        "distrust people",
        "relationship:2:permanent:entity=Mara/character",
        DISTRUST,
    ),
    instead(
        note(
            "long_term",
            "Mara",
            "trust you now",
            "relationship:3:permanent:entity=Mara/character",
            "Mara trusts Ines and admits that she was wrong about her.",
        ),
        DISTRUST,
    ),
    note(
        "long_term",
        "Mara",
        "sank the Heron",
        "private:3:permanent:entity=Heron/object",
        "Mara sank the Heron for the insurance gold.",
    ),
    note(
        "session",
        "",
        "sank the Heron",
        "revelation:3:session:entity=Mara,Heron/object",
        "Mara confessed to Ines that she sank the Heron for insurance gold.",
    ),
    note("threads", "", "promise to mend", "arc", LAMP),
    note("threads", "", "as I promised", "resolved", LAMP),
    note("threads", "", "sank the Heron", "arc", "Will anybody learn who sank the Heron?"),
    note(
        "knowledge",
        "",
        "must never hear of it",
        "hiding",
        "Mara from Tobin | Mara sank the Heron for the insurance gold",
    ),
    note(
        "knowledge",
        "",
        "must never hear of it",
        "knows",
        "the user | Mara sank the Heron for the insurance gold",
    ),
    note(
        "knowledge",
        "",
        "must never hear of it",
        "unaware",
        "Tobin | Mara sank the Heron for the insurance gold",
    ),
    note("feelings", "", "distrust people", "", "Mara -> the user: distrustful(high)"),
    note("feelings", "", "trust you now", "", "Mara -> Ines: trusting(high), !distrustful"),
    note(
        "contradictions",
        "",
        "Luca sends his greetings",
        "",
        "The reply says that Luca sends greetings, but Luca drowned off Skell.",
    ),
];
