//! Tags in the text of a note, as Obsidian reads them: `#npc`, `#place/harbour`.

/// The tags of a text, in lower case, each once. Code holds none.
pub(super) fn inline_tags(body: &str) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in body.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                for tag in tags_of(line) {
                    if !tags.contains(&tag) {
                        tags.push(tag);
                    }
                }
            }
        }
    }
    tags
}

/// The tags of a line. What is between backticks is code.
fn tags_of(line: &str) -> impl Iterator<Item = String> {
    let texts = line.split('`').step_by(2);
    texts.flat_map(|text| {
        text.match_indices('#').filter_map(|(at, _)| {
            // Inside a word it is part of an address or a number.
            let before = text[..at].chars().next_back();
            let is_free = before.is_none_or(|one| one.is_whitespace() || "([{,;>*_".contains(one));
            let rest = &text[at + 1..];
            let end = rest.find(|one| !is_part(one)).unwrap_or(rest.len());
            let tag = rest[..end].trim_matches('/');
            let says = tag.chars().any(|one| !one.is_ascii_digit());
            (is_free && says && !tag.is_empty()).then(|| tag.to_lowercase())
        })
    })
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || "_-/".contains(letter) || !letter.is_ascii() && is_symbol(letter)
}

/// Obsidian allows signs such as emoji, but no punctuation and no blanks.
fn is_symbol(letter: char) -> bool {
    !letter.is_whitespace() && !('\u{2000}'..='\u{206f}').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words_after_a_hash_outside_of_code() {
        for (text, tags) in [
            ("#NPC and #place/harbour.", &["npc", "place/harbour"][..]),
            ("# Heading\n## Another", &[]),
            ("#1984 #y1984 #1984a", &["y1984", "1984a"]),
            ("see https://a.b/#part and a#b", &[]),
            ("`#code` but #real", &["real"]),
            ("```\n#code\n```\n#after #after", &["after"]),
            ("~~~\n```\n#code\n~~~\n(#inside)", &["inside"]),
            ("#größe-2 #日本 #🏰", &["größe-2", "日本", "🏰"]),
            ("#", &[]),
        ] {
            assert_eq!(inline_tags(text), tags, "{text}");
        }
    }
}
