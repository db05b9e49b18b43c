//! Characters that nobody sees.
//!
//! Invisible characters next to each other are judged together, by the characters around them.

use super::{Hazard, HazardKind, Hygiene, replaced};

/// From this length on, a run of invisible characters can hold a text.
const HIDDEN_TEXT: usize = 3;

/// The longest name of a flag.
const LONGEST_FLAG: usize = 32;

const FLAG: char = '\u{1f3f4}';
const FLAG_END: char = '\u{e007f}';
const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';

/// What an invisible character is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Invisible {
    /// A tag: an invisible copy of ASCII.
    Tag,
    /// A variant of the character before it.
    Selector,
    /// Joins or separates letters.
    Joiner,
    /// A break without a width, and the like.
    Blank,
    /// A letter of a direction without a width.
    Mark,
    /// Begins or ends a direction.
    Control,
}

fn class(char: char) -> Option<Invisible> {
    Some(match char {
        '\u{e0000}'..='\u{e007f}' => Invisible::Tag,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Invisible::Selector,
        NON_JOINER | JOINER => Invisible::Joiner,
        '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}' => Invisible::Blank,
        '\u{200e}' | '\u{200f}' | '\u{061c}' => Invisible::Mark,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Invisible::Control,
        _ => return None,
    })
}

/// Whether nobody sees this character.
pub(super) fn is_invisible(char: char) -> bool {
    class(char).is_some()
}

/// How often a text is looked at again: what a character is next to changes when others go.
const ROUNDS: usize = 4;

/// The text without its hazards of this kind.
pub(super) fn cleaned(text: &str, hygiene: Hygiene) -> String {
    let mut out = text.to_owned();
    for _ in 0..ROUNDS {
        let found = hazards(&out);
        if found.is_empty() {
            return out;
        }
        out = replaced(&out, &found, |piece, kind| match (kind, hygiene) {
            (HazardKind::HiddenText, Hygiene::Escape) => {
                format!("[{} hidden characters]", piece.chars().count())
            }
            // There is nothing to read, so nothing stays.
            _ => String::new(),
        });
    }
    if hazards(&out).is_empty() { out } else { out.replace(is_invisible, "") }
}

/// The hazards of this kind in a text, in order.
pub(super) fn hazards(text: &str) -> Vec<Hazard> {
    // All of them begin with one of these bytes.
    if !text.bytes().any(|byte| matches!(byte, 0xd8 | 0xe1 | 0xe2 | 0xef | 0xf3)) {
        return Vec::new();
    }
    let mut found = directions(text);
    let mut rest = text.char_indices().peekable();
    let mut before = None;
    while let Some((start, char)) = rest.next() {
        if !is_invisible(char) {
            before = Some(char);
            continue;
        }
        let mut run = vec![char];
        while let Some((_, next)) = rest.next_if(|(_, next)| is_invisible(*next)) {
            run.push(next);
        }
        let after = rest.peek().map(|(_, char)| *char);
        found.extend(InvisibleRun { start, run: &run, before, after }.hazards());
        before = None;
    }
    // What hides a text is named as a whole.
    let mut hidden: Vec<Hazard> =
        found.iter().filter(|one| one.kind == HazardKind::HiddenText).copied().collect();
    hidden.sort_by_key(|run| run.start);
    // Runs do not overlap, so only the last that begins before a hazard can hold it.
    let inside = |one: &Hazard| {
        let after = hidden.partition_point(|run| run.start <= one.start);
        after.checked_sub(1).is_some_and(|at| one.end <= hidden[at].end)
    };
    found.retain(|one| one.kind == HazardKind::HiddenText || !inside(one));
    found.sort_by_key(|hazard| hazard.start);
    found
}

/// Invisible characters next to each other.
struct InvisibleRun<'text> {
    start: usize,
    run: &'text [char],
    /// The visible characters around them.
    before: Option<char>,
    after: Option<char>,
}

impl InvisibleRun<'_> {
    /// What is dangerous about it. Controls are judged by their lines.
    fn hazards(&self) -> Vec<Hazard> {
        let (start, end) = (self.start, self.start + length(self.run));
        if self.is_flag() || self.is_script() {
            return Vec::new();
        }
        let is_tag = |char: &char| class(*char) == Some(Invisible::Tag);
        let hiding = self.run.iter().filter(|char| class(**char) != Some(Invisible::Control));
        if self.run.iter().any(is_tag) || hiding.count() >= HIDDEN_TEXT {
            return vec![Hazard { kind: HazardKind::HiddenText, start, end }];
        }
        let mut at = start;
        let mut found = Vec::new();
        for char in self.run {
            let next = at + char.len_utf8();
            if matches!(class(*char), Some(Invisible::Joiner | Invisible::Blank)) {
                found.push(Hazard { kind: HazardKind::ZeroWidth, start: at, end: next });
            }
            at = next;
        }
        found
    }

    /// Whether it is the name of a flag.
    fn is_flag(&self) -> bool {
        let Some((last, name)) = self.run.split_last() else { return false };
        let is_letter = |char: &char| ('\u{e0020}'..='\u{e007e}').contains(char);
        self.before == Some(FLAG)
            && *last == FLAG_END
            && (1..=LONGEST_FLAG).contains(&name.len())
            && name.iter().all(is_letter)
    }

    /// Whether a script or an emoji needs it.
    fn is_script(&self) -> bool {
        let around = |is: fn(char) -> bool| [self.before, self.after].into_iter().flatten().any(is);
        // A variant of an emoji may be joined to the next one.
        let run = match self.run {
            [first, rest @ ..] if class(*first) == Some(Invisible::Selector) => rest,
            run => run,
        };
        match run {
            [] => true,
            [JOINER] => {
                let emoji = self.before.is_some_and(is_emoji) && self.after.is_some_and(is_emoji);
                emoji || around(needs_joiners)
            }
            [NON_JOINER] => around(needs_joiners),
            ['\u{200b}' | '\u{2060}'] => around(is_unspaced),
            _ => false,
        }
    }
}

fn length(run: &[char]) -> usize {
    run.iter().map(|char| char.len_utf8()).sum()
}

/// Emoji and the symbols that become one.
fn is_emoji(char: char) -> bool {
    matches!(char, '\u{1f000}'..='\u{1faff}' | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}')
}

/// Letters of scripts that join: everything after Latin, Greek, Cyrillic and Armenian, without
/// symbols and Latin supplements.
fn needs_joiners(char: char) -> bool {
    char.is_alphanumeric()
        && matches!(char, '\u{0590}'..='\u{1dbf}' | '\u{a840}'..='\u{abff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{16fff}' | '\u{1e800}'..='\u{1efff}')
        || is_indic_sign(char)
}

/// Signs inside of words that are no letters by themselves, such as the virama.
fn is_indic_sign(char: char) -> bool {
    matches!(char, '\u{0900}'..='\u{0dff}' | '\u{0f00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

/// Letters of scripts that write no blanks between words.
fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{0e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{1aad}' | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether text with this letter runs from right to left.
fn is_right_to_left(char: char) -> bool {
    matches!(char, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && class(char).is_none()
}

/// Controls of direction that are not closed in their line, override a direction, or turn text
/// around that has no letters of such a script.
fn directions(text: &str) -> Vec<Hazard> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\u{2029}']) {
        let turns = line.chars().any(is_right_to_left);
        let mut open: Vec<(usize, char)> = Vec::new();
        let mut bad = Vec::new();
        for (at, char) in
            line.char_indices().filter(|(_, one)| class(*one) == Some(Invisible::Control))
        {
            let is_end = matches!(char, '\u{202c}' | '\u{2069}');
            if !is_end {
                open.push((at, char));
                continue;
            }
            let Some((began, opener)) = open.pop_if(|(_, opener)| ends(*opener, char)) else {
                bad.push(at);
                continue;
            };
            let harmless = match opener {
                '\u{202d}' | '\u{202e}' => false,
                '\u{202b}' | '\u{2067}' => turns,
                _ => true,
            };
            if !harmless {
                bad.extend([began, at]);
            }
        }
        bad.extend(open.into_iter().map(|(at, _)| at));
        found.extend(bad.into_iter().map(|at| {
            let (kind, start) = (HazardKind::Direction, start + at);
            Hazard { kind, start, end: start + '\u{202a}'.len_utf8() }
        }));
        start += line.len();
    }
    found
}

/// Whether a control ends what another began.
fn ends(opener: char, end: char) -> bool {
    let isolates = matches!(opener, '\u{2066}'..='\u{2068}');
    isolates == (end == '\u{2069}')
}
