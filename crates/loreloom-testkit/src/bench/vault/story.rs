//! Notes and a chat made by the rule that DeepLore was measured with: words of three or four
//! syllables, two words of the chat in a hundred the title of a note.

use loreloom_core::dialects::vault::{Lines, Note};

const SYLLABLES: [&str; 16] = [
    "ka", "ro", "mi", "len", "tor", "sha", "vel", "dun", "pri", "oss", "ger", "ith", "na", "bre",
    "fal", "quo",
];
const VOCABULARY: u32 = 20_000;

/// mulberry32.
struct Random(u32);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x6d2b_79f5);
        let mut value = (self.0 ^ (self.0 >> 15)).wrapping_mul(self.0 | 1);
        value ^= value.wrapping_add((value ^ (value >> 7)).wrapping_mul(value | 0x3d));
        f64::from(value ^ (value >> 14)) / 4_294_967_296.0
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `count`")]
    fn below(&mut self, count: u32) -> usize {
        (self.next() * f64::from(count)) as usize
    }

    fn word(&mut self) -> String {
        let syllables = 3 + self.below(2);
        (0..syllables).map(|_| SYLLABLES[self.below(16)]).collect()
    }
}

/// Notes, and the words that they and their chat are made of.
pub(super) struct World {
    pub(super) notes: Vec<Note>,
    vocabulary: Vec<String>,
}

impl World {
    pub(super) fn new(count: u32) -> Self {
        let mut random = Random(42);
        let vocabulary: Vec<String> = (0..VOCABULARY).map(|_| random.word()).collect();
        let notes = (0..count).map(|at| note(&mut random, &vocabulary, at)).collect();
        Self { notes, vocabulary }
    }

    /// A chat of so many messages and bytes: name, whether it is the user's, text.
    pub(super) fn chat(&self, messages: usize, bytes: usize) -> Vec<(&'static str, bool, String)> {
        let mut random = Random(7);
        let count = u32::try_from(self.notes.len()).unwrap_or(u32::MAX);
        let lines = (0..messages).map(|at| {
            let mut text = String::new();
            while text.len() < bytes / messages {
                if !text.is_empty() {
                    text.push(' ');
                }
                if random.next() < 0.02 {
                    text.push_str(&self.notes[random.below(count)].title);
                } else {
                    text.push_str(&self.vocabulary[random.below(VOCABULARY)]);
                }
            }
            (if at % 2 == 0 { "User" } else { "Bot" }, at % 2 == 0, text)
        });
        lines.collect()
    }
}

/// A chat as vaults scan it.
pub(super) fn lines(chat: &[(&'static str, bool, String)]) -> Lines {
    let mut lines = Lines::default();
    for (name, user, text) in chat {
        lines.push(name, text, *user, true);
    }
    lines
}

fn note(random: &mut Random, vocabulary: &[String], at: u32) -> Note {
    let name = format!("{}{}", random.word(), base36(at));
    let title = name[..1].to_uppercase() + &name[1..];
    let mut note = Note::new("", &format!("{title}.md"), &title);
    let pair = format!("{} {}", random.word(), random.word());
    let third = if random.next() < 0.15 {
        vocabulary[random.below(VOCABULARY)].clone()
    } else {
        random.word() + &random.word()
    };
    note.keys = vec![name, pair, third];
    let words: Vec<&str> =
        (0..120).map(|_| vocabulary[random.below(VOCABULARY)].as_str()).collect();
    note.content = words.join(" ") + ".";
    note.priority = f64::from(u32::try_from(random.below(100)).unwrap_or_default() + 1);
    note
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or_default());
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}
