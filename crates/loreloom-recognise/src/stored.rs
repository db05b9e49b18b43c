//! A model's reply as front ends keep it.
//!
//! The next request does not have the reply as it was streamed: front ends trim it, remove the
//! speaker's name at its beginning and cut what the model wrote in the user's name. A reply must be
//! stored in the form in which it comes back, or every answer to it would be a branch. Other changes
//! (blanks, names, reasoning in front) do not change its [`TextKey`](super::TextKey). The reader of
//! the stream removes reasoning, because only it knows the model's tags.

use loreloom_core::chat::identity::without_speaker;

/// The reply as it will come back. `speaker` is who was asked to speak.
pub fn as_stored(reply: &str, speaker: Option<&str>, user: Option<&str>) -> String {
    let text = reply.replace("\r\n", "\n");
    let text = without_speaker(text.trim(), speaker).trim_start();
    let user = user.filter(|user| !user.is_empty());
    let end = user.and_then(|user| text.find(&format!("\n{user}:")));
    text[..end.unwrap_or(text.len())].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_cleaned_as_front_ends_do_and_only_once() {
        for (reply, expected) in [
            ("  She nods.\r\nThen she goes. \n", "She nods.\nThen she goes."),
            ("Mira Vell: Come in.", "Come in."),
            ("Come in.\nWren: I do.\nMira Vell: Good.", "Come in."),
            ("Tobin: Come in.", "Tobin: Come in."),
            ("Ask Wren: he knows.", "Ask Wren: he knows."),
            ("", ""),
        ] {
            let stored = as_stored(reply, Some("Mira Vell"), Some("Wren"));
            assert_eq!(stored, expected, "{reply}");
            assert_eq!(as_stored(&stored, Some("Mira Vell"), Some("Wren")), expected, "{reply}");
        }
        assert_eq!(
            as_stored("Mira Vell: Yes.\nWren: No.", None, None),
            "Mira Vell: Yes.\nWren: No."
        );
    }
}
