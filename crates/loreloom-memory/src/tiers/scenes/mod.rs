//! Scenes: when one ends, and what happened in it.

mod cast;
mod headings;
mod heuristic;
mod narration;
mod pass;
mod prompt;
mod signs;
mod told_time;

pub use self::{
    cast::cast_changed,
    heuristic::{Break, find_break, is_break},
    pass::{ScenesInput, ScenesOutcome, run},
    prompt::{break_prompt, summary_prompt},
    signs::{SceneSign, scene_sign},
};

/// Whether an answer to [`break_prompt`] means that the scene ended. Models make the word bold or
/// begin with a list mark.
pub fn parse_break(reply: &str) -> bool {
    let word: String = reply
        .trim_start_matches(|letter: char| !letter.is_alphanumeric())
        .chars()
        .take_while(|letter| letter.is_alphabetic())
        .collect();
    word.eq_ignore_ascii_case("yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_whatever_marks_are_around_it() {
        for (reply, expected) in [
            ("YES", true),
            ("yes.", true),
            ("**Yes**, time passes.", true),
            ("- YES", true),
            ("NO", false),
            ("No, yes would be wrong.", false),
            ("Yesterday they left.", false),
            ("", false),
        ] {
            assert_eq!(parse_break(reply), expected, "{reply}");
        }
    }
}
