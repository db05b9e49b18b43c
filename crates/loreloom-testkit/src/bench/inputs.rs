//! Books and chats to measure with: the shared ones where they are, else made alike.

use std::{fmt::Write as _, path::PathBuf, sync::Arc};

use loreloom_core::{
    book::{Book, Entry, Key, Position},
    chat::Role,
    turn::Transcript,
};
use serde_json::Value;

/// Where the recorded inputs and SillyTavern's times are.
fn shared() -> Option<PathBuf> {
    let folder =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/bench/worldinfo"));
    folder.is_dir().then_some(folder)
}

/// A message of a benchmark chat: name, whether it is the user's, text.
pub(super) type ChatLine = (String, bool, String);

/// The inputs of one combination.
pub(super) struct Inputs {
    pub(super) book: Arc<Book>,
    pub(super) chat: Vec<ChatLine>,
}

/// SillyTavern's recorded CPU time, hits and loops.
pub(super) struct Recorded {
    pub(super) cpu_ms: f64,
    pub(super) hits: usize,
    pub(super) loops: usize,
}

impl Inputs {
    /// The book of `entries` entries and the chat of that size.
    pub(super) fn load(entries: usize, text: &str) -> Result<Self, String> {
        let Some(folder) = shared() else { return Ok(Self::generate(entries, text)) };
        let book = read(&folder.join(format!("book-{entries}.json")))?;
        let chat = read(&folder.join(format!("chat-{entries}-{text}.json")))?;
        let lines = chat["chat"].as_array().into_iter().flatten().map(|message| {
            let field = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
            (field("name"), message["is_user"] == true, field("mes"))
        });
        Ok(Self { book: Arc::new(book_of(&book)), chat: lines.collect() })
    }

    /// Books and chats with the same statistics, from a fixed seed.
    fn generate(entries: usize, text: &str) -> Self {
        let (bytes, messages) = match text {
            "2k" => (2_000, 4),
            "20k" => (20_000, 20),
            _ => (200_000, 100),
        };
        let mut words = Words(entries as u64 * 31 + bytes as u64);
        let mut book = Book::new("bench", "Bench");
        for at in 0..entries {
            let mut entry = entry(at);
            let name = |salt: &str| format!("{}{salt}{at:x}", words_of(at));
            entry.activation.keys = vec![
                Key::Literal(name("q")),
                Key::Literal(name("z")),
                Key::Literal(format!("{} {}", name("k"), words.next())),
            ];
            let mention = (at % 2 == 0).then(|| format!("{}q{:x}", words_of(at / 2), at / 2));
            entry.content = words.sentence(32, mention.as_deref());
            book.entries.push(entry);
        }
        let planted = (entries / 100).clamp(1, bytes / 40);
        let chat = (0..messages).map(|at| {
            let mut text = String::new();
            while text.len() < bytes / messages {
                let _infallible = write!(text, "{} ", words.next());
            }
            for plant in (0..planted).filter(|plant| plant % messages == at) {
                let entry = plant * 97 % entries;
                let _infallible = write!(text, "{}q{entry:x} ", words_of(entry));
            }
            (if at % 2 == 0 { "Mira" } else { "Torvald" }.to_owned(), at % 2 == 0, text)
        });
        Self { chat: chat.collect(), book: Arc::new(book) }
    }

    /// The chat as it is scanned.
    pub(super) fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::new(true);
        for (name, is_user, text) in &self.chat {
            let role = if *is_user { Role::User } else { Role::Assistant };
            transcript.push(role, Some(name), text);
        }
        transcript
    }
}

/// SillyTavern's time for a combination, where it was recorded.
pub(super) fn recorded(entries: usize, text: &str, mode: &str) -> Option<Recorded> {
    let results = read(&shared()?.join("results-st.json")).ok()?;
    let row = results
        .as_array()?
        .iter()
        .find(|row| row["N"] == entries && row["text"] == text && row["mode"] == mode)?;
    let count = |key: &str| row[key].as_u64().and_then(|count| usize::try_from(count).ok());
    Some(Recorded { cpu_ms: row["cpu_ms"].as_f64()?, hits: count("hits")?, loops: count("loops")? })
}

fn read(path: &std::path::Path) -> Result<Value, String> {
    #[expect(clippy::disallowed_methods, reason = "the path is in the error")]
    let bytes = std::fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn book_of(value: &Value) -> Book {
    let mut book = Book::new("bench", value["name"].as_str().unwrap_or("Bench"));
    for (at, row) in value["entries"].as_array().into_iter().flatten().enumerate() {
        let mut entry = entry(at);
        let keys = row["key"].as_array().into_iter().flatten().filter_map(Value::as_str);
        entry.activation.keys = keys.map(Key::parse).collect();
        row["content"].as_str().unwrap_or_default().clone_into(&mut entry.content);
        entry.placement.order = row["order"].as_f64();
        book.entries.push(entry);
    }
    book
}

fn entry(at: usize) -> Entry {
    let mut entry = Entry::new(format!("bench/{at}"));
    entry.placement.position = Position::BeforeCharacter;
    entry.activation.secondary.active = true;
    entry
}

const COMMON: [&str; 24] = [
    "people", "winter", "then", "morning", "said", "the", "salt", "time", "fell", "quiet", "comes",
    "over", "road", "trade", "and", "nothing", "until", "river", "bends", "hills", "bread",
    "cloth", "slowly", "lantern",
];

/// An invented word, another one for each entry.
fn words_of(at: usize) -> String {
    const PARTS: [&str; 8] = ["kar", "vaz", "zas", "dra", "tha", "mak", "bra", "gra"];
    format!("{}{}", PARTS[at % 8], PARTS[at / 8 % 8])
}

/// Words from a fixed sequence.
struct Words(u64);

impl Words {
    fn next(&mut self) -> &'static str {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(self.0 >> 33).unwrap_or(0);
        COMMON[at % COMMON.len()]
    }

    fn sentence(&mut self, length: usize, mention: Option<&str>) -> String {
        let mut words: Vec<&str> = (0..length).map(|_| self.next()).collect();
        if let Some(mention) = mention {
            words[length / 2] = mention;
        }
        words.join(" ") + "."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_inputs_plant_keys_and_feed_recursion() {
        for (entries, text, bytes, planted) in
            [(1000, "20k", 20_000, 10), (10_000, "2k", 2_000, 50)]
        {
            let inputs = Inputs::generate(entries, text);
            let chat: String = inputs.chat.iter().map(|(_, _, text)| text.as_str()).collect();
            assert!(chat.len() >= bytes, "{} bytes", chat.len());
            let first = |entry: &Entry| entry.activation.keys[0].raw().to_owned();
            let named: Vec<String> = inputs.book.entries.iter().map(first).collect();
            let hits = named.iter().filter(|key| chat.contains(&format!("{key} "))).count();
            assert_eq!(hits, planted, "{entries} x {text}");
            let fed = inputs.book.entries.iter().filter(|entry| {
                let words: Vec<&str> = entry.content.split(' ').collect();
                named.iter().take(600).any(|key| words.contains(&key.as_str()))
            });
            assert!(fed.take(100).count() == 100);
            let again = Inputs::generate(entries, text);
            assert_eq!((again.book, again.chat), (inputs.book, inputs.chat));
        }
    }
}
