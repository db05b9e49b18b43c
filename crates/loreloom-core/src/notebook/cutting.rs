//! Cutting the model's notes out of its reply, also while the reply is still being written.
//!
//! The story keeps what readers see, so that a front end which sends the reply back sends the
//! same message: both come from here. Only what may yet become a tag waits, and blanks before
//! one, since a note at the end takes the blanks before it along. What a reasoning model thinks
//! passes as it is: there it talks about its notes rather than making them.

/// The names of the tags between which models think.
const THINKING: [&str; 3] = ["think", "thinking", "reasoning"];

/// Cuts what is between `<tag>` and `</tag>` out of a text that comes in pieces.
#[derive(Clone, Debug)]
pub struct NoteCutter {
    open: String,
    close: String,
    thinks: Vec<(String, String)>,
    place: NotebookSection,
    /// What came and is not decided about.
    held: String,
    /// Up to where that was searched.
    searched: usize,
    /// Blanks that go on only if text follows.
    blanks: String,
    /// Whether a note was cut out after the last text.
    at_a_cut: bool,
    /// Whether anything was cut out.
    has_cut: bool,
    /// Whether any text went on.
    has_shown: bool,
    notes: Vec<String>,
}

/// Where the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotebookSection {
    Story,
    Note,
    Thought,
}

/// A tag that was looked for.
enum FoundTag {
    /// Which one, where it begins, and where it ends.
    Tag(Tag, usize, usize),
    /// Something that may become one begins here.
    Begun(usize),
    Nothing,
}

#[derive(Clone, Copy)]
enum Tag {
    Open,
    Close,
    Think,
    ThoughtEnd,
}

impl NoteCutter {
    /// Cuts out what is between tags of this name.
    pub fn new(tag: &str) -> Self {
        let think = |name: &str| (format!("<{name}>"), format!("</{name}>"));
        Self {
            open: format!("<{tag}>"),
            close: format!("</{tag}>"),
            thinks: THINKING.into_iter().map(think).collect(),
            place: NotebookSection::Story,
            held: String::new(),
            searched: 0,
            blanks: String::new(),
            at_a_cut: false,
            has_cut: false,
            has_shown: false,
            notes: Vec::new(),
        }
    }

    /// Takes the next piece of a text, and returns what of the text can be shown.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut shown = String::new();
        loop {
            match (self.find(), self.place) {
                (FoundTag::Tag(Tag::Open, start, end), _) => {
                    let before = self.take(end);
                    self.show(&before[..start], &mut shown);
                    self.place = NotebookSection::Note;
                }
                (FoundTag::Tag(Tag::Close, start, end), _) => {
                    let note = self.take(end);
                    self.notes.extend(Some(note[..start].trim().to_owned()));
                    (self.place, self.at_a_cut, self.has_cut) =
                        (NotebookSection::Story, true, true);
                }
                (FoundTag::Tag(Tag::Think, _, end), _) => {
                    let before = self.take(end);
                    self.show(&before, &mut shown);
                    self.place = NotebookSection::Thought;
                }
                (FoundTag::Tag(Tag::ThoughtEnd, _, end), place) => {
                    // A note in which a thought ends was none: the reply began in a thought.
                    let opened = if place == NotebookSection::Note {
                        self.open.clone()
                    } else {
                        String::new()
                    };
                    let thought = opened + &self.take(end);
                    self.show(&thought, &mut shown);
                    self.place = NotebookSection::Story;
                }
                (FoundTag::Begun(at), NotebookSection::Story | NotebookSection::Thought) => {
                    let before = self.take(at);
                    self.show(&before, &mut shown);
                    return shown;
                }
                (FoundTag::Nothing, NotebookSection::Story | NotebookSection::Thought) => {
                    let all = self.take(self.held.len());
                    self.show(&all, &mut shown);
                    return shown;
                }
                (FoundTag::Begun(at), NotebookSection::Note) => {
                    self.searched = at;
                    return shown;
                }
                (FoundTag::Nothing, NotebookSection::Note) => {
                    self.searched = self.held.len();
                    return shown;
                }
            }
        }
    }

    /// What else can be shown now that the text is over. A note that was never closed was
    /// none. Afterwards the cutter is as new, but for its notes.
    pub fn finish(&mut self) -> String {
        let mut rest =
            if self.place == NotebookSection::Note { self.open.clone() } else { String::new() };
        rest += &self.take(self.held.len());
        let mut shown = String::new();
        self.show(&rest, &mut shown);
        let blanks = std::mem::take(&mut self.blanks);
        if !self.has_cut {
            shown += &blanks;
        }
        self.place = NotebookSection::Story;
        (self.at_a_cut, self.has_cut, self.has_shown) = (false, false, false);
        shown
    }

    /// Whether anything that came waits.
    pub fn holds(&self) -> bool {
        !self.held.is_empty() || !self.blanks.is_empty() || self.place == NotebookSection::Note
    }

    /// The notes that were cut out, without blank ones.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str).filter(|note| !note.is_empty())
    }

    /// Takes the beginning of what is held.
    fn take(&mut self, end: usize) -> String {
        self.searched = 0;
        let rest = self.held.split_off(end);
        std::mem::replace(&mut self.held, rest)
    }

    /// Shows a text, but keeps the blanks at its end. Where a note was cut out, lines that
    /// stood around it do not add up to a gap.
    fn show(&mut self, text: &str, shown: &mut String) {
        let end = text.trim_end().len();
        if end == 0 {
            self.blanks += text;
            return;
        }
        let begin = end - text[..end].trim_start().len();
        self.blanks += &text[..begin];
        if !self.at_a_cut {
            shown.push_str(&self.blanks);
        } else if self.has_shown {
            shown.push_str(&narrowed(&self.blanks));
        }
        shown.push_str(&text[begin..end]);
        text[end..].clone_into(&mut self.blanks);
        (self.at_a_cut, self.has_shown) = (false, true);
    }

    /// The first tag that means something here.
    fn find(&self) -> FoundTag {
        let text = &self.held[self.searched..];
        for (at, _) in text.match_indices('<') {
            let at = self.searched + at;
            let rest = &self.held.as_bytes()[at..];
            let mut begun = false;
            for (tag, name, exact) in self.looked_for() {
                let shared = rest.len().min(name.len());
                let (found, wanted) = (&rest[..shared], &name.as_bytes()[..shared]);
                let is_same =
                    if exact { found == wanted } else { found.eq_ignore_ascii_case(wanted) };
                if is_same && shared == name.len() {
                    return FoundTag::Tag(tag, at, at + shared);
                }
                begun |= is_same;
            }
            if begun {
                return FoundTag::Begun(at);
            }
        }
        FoundTag::Nothing
    }

    /// The tags that mean something here, and whether they are spelt in one way only.
    fn looked_for(&self) -> impl Iterator<Item = (Tag, &str, bool)> {
        let own = match self.place {
            NotebookSection::Story => Some((Tag::Open, self.open.as_str(), true)),
            NotebookSection::Note => Some((Tag::Close, self.close.as_str(), true)),
            NotebookSection::Thought => None,
        };
        let is_story = self.place == NotebookSection::Story;
        let thinks = self.thinks.iter().map(move |(open, close)| {
            if is_story {
                (Tag::Think, open.as_str(), false)
            } else {
                (Tag::ThoughtEnd, close.as_str(), false)
            }
        });
        own.into_iter().chain(thinks)
    }
}

/// Blanks with at most one empty line among them.
fn narrowed(blanks: &str) -> String {
    let lines = blanks.matches('\n').count();
    if lines <= 2 { blanks.to_owned() } else { "\n\n".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown if a text comes in pieces of so many characters, and what is noted.
    fn cut(text: &str, size: usize) -> (String, Vec<String>) {
        let mut cutter = NoteCutter::new("n");
        let characters: Vec<char> = text.chars().collect();
        let pieces = characters.chunks(size).map(|piece| piece.iter().collect::<String>());
        let mut shown: String = pieces.map(|piece| cutter.push(&piece)).collect();
        shown += &cutter.finish();
        (shown, cutter.notes().map(str::to_owned).collect())
    }

    #[test]
    fn notes_are_cut_out_however_the_text_comes() {
        for (text, shown, notes) in [
            ("", "", vec![]),
            ("She nods. \n", "She nods. \n", vec![]),
            ("\n\n\n\nA\n\n\n\nB", "\n\n\n\nA\n\n\n\nB", vec![]),
            ("She nods.\n<n>Mira limps.</n>\n", "She nods.", vec!["Mira limps."]),
            ("A <n>x</n>\n\n\n\n<n> y </n> ", "A", vec!["x", "y"]),
            ("A\n\n<n>x</n>\n\nB", "A\n\nB", vec!["x"]),
            ("A <n>x</n>B", "A B", vec!["x"]),
            ("<n>x</n>\n\nB\n", "B", vec!["x"]),
            ("A <n> </n> b", "A  b", vec![]),
            ("A <n>open ", "A <n>open ", vec![]),
            ("a < b, <nn>c</nn>, </n> <", "a < b, <nn>c</nn>, </n> <", vec![]),
            ("A <<n>x</n>", "A <", vec!["x"]),
            ("Ä<n>日</n>本", "Ä本", vec!["日"]),
            ("<n>a < b</n>", "", vec!["a < b"]),
        ] {
            for size in [1, 2, 3, 5, 1000] {
                assert_eq!(cut(text, size), (shown.to_owned(), notes_of(&notes)), "{size}: {text}");
            }
        }
    }

    fn notes_of(notes: &[&str]) -> Vec<String> {
        notes.iter().map(|&note| note.to_owned()).collect()
    }

    #[test]
    fn thoughts_about_notes_are_none() {
        for (text, shown, notes) in [
            (
                "<think>I may use <n>.</think>Yes.<n>x</n>",
                "<think>I may use <n>.</think>Yes.",
                vec!["x"],
            ),
            (
                "I may use <n> here.</Think>\nYes.<n>x</n>",
                "I may use <n> here.</Think>\nYes.",
                vec!["x"],
            ),
            ("<think>never <n>x</n>", "<think>never <n>x</n>", vec![]),
        ] {
            for size in [1, 4, 1000] {
                assert_eq!(cut(text, size), (shown.to_owned(), notes_of(&notes)), "{size}: {text}");
            }
        }
    }

    #[test]
    fn only_what_may_become_a_tag_waits() {
        let mut cutter = NoteCutter::new("notes");
        for (piece, shown) in [
            ("She ", "She"),
            ("nods <", " nods"),
            ("no", ""),
            ("d>", " <nod>"),
            ("\n<notes>se", ""),
            ("cret", ""),
            ("</not", ""),
            ("es> And", "\n And"),
        ] {
            assert_eq!(cutter.push(piece), shown, "{piece}");
        }
        assert_eq!(cutter.finish(), "");
        assert_eq!(cutter.notes().collect::<Vec<_>>(), ["secret"]);
    }
}
