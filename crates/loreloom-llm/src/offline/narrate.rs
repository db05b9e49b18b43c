//! Writing the reply: two to four sentences from the scene, its lore and the tables.

use super::{
    phrases::{
        AROUND, ECHOES, GOES_ON, LEAVES_IT, Move, SAYS, SPOKEN_AGAIN, SPOKEN_LEADS, TOLD_AGAIN,
        TOLD_LEADS, USER_ACTS, USER_SAYS, does, small_talk, takes_it, world_takes_it,
    },
    relate::{choose, names, terms},
    scene::{Character, OfflineScene},
    sentences::{LoreSentence, is_end, sentences},
};

/// The reply to a scene.
pub(super) fn narrate(scene: &OfflineScene) -> String {
    let chosen = choose(scene);
    let kind = Move::of(&scene.ask);
    let mut pen = Pen { scene, again: chosen.again, state: scene.seed };
    if scene.writes_user {
        return format!("{} \"{}\"", pen.pick(&USER_ACTS, None), pen.pick(&USER_SAYS, None));
    }
    let parts = match &scene.speaker {
        Some(speaker) => pen.with_speaker(speaker, kind, &chosen.sentences),
        None => pen.without_speaker(kind, &chosen.sentences),
    };
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// Chooses words: the same scene always gets the same ones.
struct Pen<'a> {
    scene: &'a OfflineScene,
    again: bool,
    state: u64,
}

impl Pen<'_> {
    fn with_speaker(
        &mut self,
        speaker: &Character,
        kind: Move,
        lore: &[&LoreSentence],
    ) -> Vec<String> {
        let mirrored = self.mirrored(Some(speaker));
        let Some(first) = lore.first().map(|first| first.text.as_str()) else {
            let open = mirrored.unwrap_or_else(|| self.pick(takes_it(kind), Some(speaker)));
            let speech = format!("\"{}\"", self.pick(small_talk(kind), None));
            return vec![open, speech, self.pick(&LEAVES_IT, Some(speaker))];
        };
        let second = lore.get(1).map(|second| second.text.as_str()).unwrap_or_default();
        if names(first, &speaker.name) || names(second, &speaker.name) {
            // Characters do not speak of themselves by name, so the narrator does.
            let open = mirrored.unwrap_or_else(|| self.pick(takes_it(kind), Some(speaker)));
            let speech = format!("\"{}\"", self.pick(small_talk(kind), None));
            return vec![open, first.to_owned(), second.to_owned(), speech];
        }
        let second = self.spoken(second);
        if let Some(open) = mirrored {
            return vec![open, self.tagged(speaker, first), quoted(&second)];
        }
        let echo = echo(&self.scene.ask, first).filter(|_| kind == Move::Question);
        match (self.shape(), echo) {
            (0, Some(echo)) => {
                let reaction = self.pick(&ECHOES, Some(speaker));
                vec![format!("\"{echo}.\""), reaction, self.speech(first, &second)]
            }
            (1, _) => {
                let close = self.pick(&LEAVES_IT, Some(speaker));
                vec![self.tagged(speaker, first), quoted(&second), close]
            }
            _ => {
                let open = self.pick(takes_it(kind), Some(speaker));
                let speech = self.speech(first, &second);
                vec![open, speech, self.pick(&LEAVES_IT, Some(speaker))]
            }
        }
    }

    fn without_speaker(&mut self, kind: Move, lore: &[&LoreSentence]) -> Vec<String> {
        let open = self.mirrored(None).unwrap_or_else(|| self.pick(world_takes_it(kind), None));
        let lore_line = match lore.first() {
            Some(first) => {
                let leads = if self.again { &TOLD_AGAIN[..] } else { &TOLD_LEADS };
                after_lead(&self.pick(leads, None), &first.text)
            }
            None => self.pick(&AROUND, None),
        };
        let second = lore.get(1).map(|second| second.text.clone()).unwrap_or_default();
        vec![open, lore_line, second, self.pick(&GOES_ON, None)]
    }

    /// One or two sentences of lore in quotation marks.
    fn speech(&mut self, first: &str, second: &str) -> String {
        let first = self.led(first);
        quoted(format!("{first} {second}").trim())
    }

    /// Lore in quotation marks, followed by who says it.
    fn tagged(&mut self, speaker: &Character, lore: &str) -> String {
        let line = self.led(lore);
        let line = line.strip_suffix('.').map_or(line.clone(), |bare| format!("{bare},"));
        format!("\"{line}\" {}.", self.pick(&SAYS, Some(speaker)))
    }

    /// Spoken lore with its lead.
    fn led(&mut self, lore: &str) -> String {
        let leads = if self.again { &SPOKEN_AGAIN[..] } else { &SPOKEN_LEADS };
        let lead = self.pick(leads, None);
        after_lead(&lead, &self.spoken(lore))
    }

    /// Lore as somebody would say it to the user's face.
    fn spoken(&self, lore: &str) -> String {
        let plain = lore.replace(['"', '“', '”'], "'");
        match &self.scene.persona {
            Some(persona) => to_your_face(&plain, persona),
            None => plain,
        }
    }

    /// What the user does, retold in every second version.
    fn mirrored(&self, speaker: Option<&Character>) -> Option<String> {
        mirrored(&self.scene.ask, speaker).filter(|_| self.scene.version.is_multiple_of(2))
    }

    /// Which of three ways a character answers.
    fn shape(&mut self) -> usize {
        let first = self.roll(3);
        (first + self.turns(3)) % 3
    }

    /// A phrase of a table that the story has not used yet, if there is one. Each version of a
    /// reply takes the next one, so that two in a row are never the same.
    fn pick(&mut self, table: &[&str], speaker: Option<&Character>) -> String {
        let start = self.roll(table.len());
        let mut phrases: Vec<String> = (0..table.len())
            .map(|offset| {
                let phrase = table[(start + offset) % table.len()];
                speaker.map_or_else(|| phrase.to_owned(), |speaker| fill(phrase, speaker))
            })
            .collect();
        let is_new =
            |phrase: &String| phrase.is_empty() || !self.scene.replies.contains(phrase.as_str());
        if phrases.iter().any(is_new) {
            phrases.retain(is_new);
        }
        let at = self.turns(phrases.len());
        phrases.swap_remove(at)
    }

    /// The version of the reply, below `sides`.
    fn turns(&self, sides: usize) -> usize {
        usize::try_from(self.scene.version % sides.max(1) as u64).unwrap_or_default()
    }

    /// The next number below `sides` (`SplitMix64`).
    fn roll(&mut self, sides: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % sides.max(1) as u64).unwrap_or_default()
    }
}

fn fill(phrase: &str, speaker: &Character) -> String {
    let first = speaker.name.split(' ').next().unwrap_or(&speaker.name);
    phrase.replace("{S}", first).replace("{p}", speaker.possessive)
}

fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\"{text}\"") }
}

/// Words that lose their capital inside a sentence; any other may be a name.
const SMALL: [&str; 44] = [
    "The", "A", "An", "In", "On", "At", "When", "While", "Every", "No", "Nobody", "Some", "Most",
    "Many", "Few", "All", "Only", "Once", "There", "Those", "Since", "After", "Before", "During",
    "Under", "Over", "Beneath", "Beyond", "Behind", "Above", "Below", "Between", "By", "From",
    "With", "Without", "For", "Each", "Its", "Their", "His", "Her", "It", "They",
];

/// A sentence that goes on after a lead.
fn after_lead(lead: &str, sentence: &str) -> String {
    let first = sentence.split(' ').next().unwrap_or_default();
    if !lead.is_empty() && SMALL.contains(&first) {
        return format!("{lead}{}{}", first.to_lowercase(), &sentence[first.len()..]);
    }
    format!("{lead}{sentence}")
}

/// The longest action that is retold.
const LONGEST_ACTION: usize = 140;

/// What the user does, in the second person: "I push the door open" becomes "You push …". Their
/// "you" is the speaker; without a speaker such a message is not repeated.
fn mirrored(message: &str, speaker: Option<&Character>) -> Option<String> {
    let plain = message.trim_start_matches('*');
    let action = sentences(plain.lines().next()?).into_iter().next()?;
    let action = action.trim_end_matches('*').to_owned();
    does(&action)?;
    let is_plain = !action.contains(['"', '“', '?', '*']);
    if !is_plain || action.len() > LONGEST_ACTION {
        return None;
    }
    let words: Option<Vec<String>> = action.split(' ').map(|word| turned(word, speaker)).collect();
    let words = words?;
    let mut sentence = words.join(" ").replacen("you", "You", 1);
    if !sentence.ends_with(is_end) {
        sentence = format!("{}.", sentence.trim_end_matches([',', ';', ':']));
    }
    Some(sentence)
}

/// A word of the first person in the second, and of the second in the third.
fn turned(word: &str, speaker: Option<&Character>) -> Option<String> {
    let bare = word.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let rest = &word[bare.len()..];
    let first_name = speaker.and_then(|speaker| speaker.name.split(' ').next());
    let you = match bare {
        "I" | "me" => "you",
        "my" => "your",
        "mine" => "yours",
        "myself" => "yourself",
        "I'm" => "you're",
        "I've" => "you've",
        "I'll" => "you'll",
        "I'd" => "you'd",
        "am" => "are",
        "you" | "You" => return first_name.map(|name| format!("{name}{rest}")),
        "your" | "yours" => return first_name.map(|name| format!("{name}'s{rest}")),
        "yourself" | "you're" | "you've" | "you'll" | "you'd" => return None,
        _ => return Some(word.to_owned()),
    };
    Some(format!("{you}{rest}"))
}

/// The thing both the message and the lore name, as it would be repeated.
fn echo(message: &str, lore: &str) -> Option<String> {
    let shared: Vec<String> = terms(lore).collect();
    let is_shared = |word: &str| terms(word).any(|term| shared.contains(&term));
    let words: Vec<&str> = message
        .split_whitespace()
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
        .collect();
    let the = words.iter().position(|word| word.eq_ignore_ascii_case("the"));
    let start = the.map_or(0, |at| at + 1);
    let named: Vec<&str> =
        words[start..].iter().copied().take_while(|word| is_shared(word)).collect();
    if !named.is_empty() && the.is_some() {
        return Some(format!("The {}", named.join(" ")));
    }
    words
        .into_iter()
        .skip(1)
        .find(|word| word.starts_with(char::is_uppercase) && word.len() > 2 && is_shared(word))
        .map(str::to_owned)
}

/// Lore about the user, said to the user: a name that is not a subject becomes "you".
fn to_your_face(lore: &str, persona: &str) -> String {
    let lore = lore.replace(&format!(" {persona}'s "), " your ");
    [".", ",", "!", "?", ";"]
        .iter()
        .fold(lore, |lore, mark| lore.replace(&format!(" {persona}{mark}"), &format!(" you{mark}")))
}

#[cfg(test)]
mod tests {
    use loreloom_core::{chat::Role, prompt::PromptMessage};

    use super::*;

    #[test]
    fn the_users_message_is_written_as_the_user() {
        let message =
            |role, content: &str| PromptMessage { role, name: None, content: content.into() };
        let prompt = [
            message(Role::System, "You are Mira, keeper of the gate."),
            message(Role::Assistant, "The gate is shut."),
            message(Role::System, "Now write the next message of Wren, in the voice of Wren."),
        ];
        let lines = [0, 1].map(|version| narrate(&OfflineScene::read(&prompt, version)));
        for line in &lines {
            assert!(line.starts_with("I "), "{line}");
            assert!(!line.contains("Mira"), "{line}");
        }
        assert_ne!(lines[0], lines[1], "another version says something else");
    }

    #[test]
    fn actions_are_told_to_the_one_who_acts() {
        for (message, expected) in [
            (
                "I push the door open and step inside.",
                Some("You push the door open and step inside."),
            ),
            ("*I lift my lamp*", Some("You lift your lamp.")),
            (
                "I hold out my hand, then pull it to me. \"Well?\"",
                Some("You hold out your hand, then pull it to you."),
            ),
            ("I hand you my lamp.", None),
            ("I think that is a lie.", None),
            ("I say \"no\".", None),
            ("We walk on.", None),
            ("", None),
        ] {
            assert_eq!(mirrored(message, None).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn whom_the_user_calls_you_is_the_speaker() {
        let mira = Character { name: "Mira Vane".to_owned(), possessive: "her" };
        let line = mirrored("I hand you my lamp and take your key.", Some(&mira));
        assert_eq!(line.as_deref(), Some("You hand Mira your lamp and take Mira's key."));
    }

    #[test]
    fn only_words_that_are_no_names_lose_their_capital() {
        let lead = "I can tell you this much: ";
        for (sentence, expected) in [
            ("The gate is shut.", "I can tell you this much: the gate is shut."),
            ("Mira keeps it.", "I can tell you this much: Mira keeps it."),
            ("Long is a name here.", "I can tell you this much: Long is a name here."),
        ] {
            assert_eq!(after_lead(lead, sentence), expected);
        }
        assert_eq!(after_lead("", "The gate is shut."), "The gate is shut.");
    }

    #[test]
    fn what_both_name_is_echoed() {
        for (message, lore, expected) in [
            ("What is the Ashen Gate?", "The Ashen Gate is shut.", Some("The Ashen Gate")),
            ("Who built the tower?", "Masons of Olm built the tower.", Some("The tower")),
            ("Have you seen Tamsin?", "Old Tamsin sells lamps.", Some("Tamsin")),
            ("Where are we?", "The Ashen Gate is shut.", None),
        ] {
            assert_eq!(echo(message, lore).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn lore_about_the_user_is_said_to_their_face() {
        assert_eq!(
            to_your_face("The baron wants Wren's maps and fears Wren.", "Wren"),
            "The baron wants your maps and fears you."
        );
        assert_eq!(to_your_face("Nobody likes Wrenfield.", "Wren"), "Nobody likes Wrenfield.");
    }
}
