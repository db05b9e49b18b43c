//! Light stemming of English words, so that "painted" matches "painting".
//!
//! Stems need not be words; related words only need the same stem. In doubt a word stays unchanged,
//! and so do words of other alphabets.

/// The stem of a lower-case word.
pub fn stem(word: &str) -> String {
    if word.len() <= 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let word = without_plural(word);
    let word = without_ending(&word);
    without_suffix(word)
}

fn without_plural(word: &str) -> String {
    if let Some(start) = word.strip_suffix("ies").filter(|start| start.len() > 1) {
        return format!("{start}y");
    }
    if let Some(start) = word.strip_suffix("es")
        && word.len() > 4
        && start.ends_with(['s', 'x', 'z', 'h'])
    {
        return start.to_owned();
    }
    match word.strip_suffix('s') {
        Some(start) if !start.ends_with(['s', 'u', 'i']) => start.to_owned(),
        _ => word.to_owned(),
    }
}

/// Removes `-ing`, `-ed` and `-ly` where a syllable is left.
fn without_ending(word: &str) -> String {
    for ending in ["ingly", "edly", "ing", "ed", "ly"] {
        let Some(start) = word.strip_suffix(ending) else { continue };
        if start.len() < 3 || !start.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            continue;
        }
        if ending == "ly" {
            return start.to_owned();
        }
        if start.ends_with("at") || start.ends_with("bl") || start.ends_with("iz") {
            return format!("{start}e");
        }
        let bytes = start.as_bytes();
        let [.., before, last] = bytes else { return start.to_owned() };
        if bytes.len() > 3 && before == last && !b"lsz".contains(last) {
            return start[..start.len() - 1].to_owned();
        }
        return start.to_owned();
    }
    word.to_owned()
}

/// Removes suffixes that make nouns and adjectives of a root of at least four letters.
fn without_suffix(mut word: String) -> String {
    const SUFFIXES: [(&str, &str); 19] = [
        ("ational", "ate"),
        ("ization", "ize"),
        ("fulness", "ful"),
        ("ousness", "ous"),
        ("iveness", "ive"),
        ("ation", "ate"),
        ("ment", ""),
        ("ness", ""),
        ("ful", ""),
        ("able", ""),
        ("ible", ""),
        ("er", ""),
        ("or", ""),
        ("ion", ""),
        ("ist", ""),
        ("ive", ""),
        ("al", ""),
        ("ous", ""),
        ("ity", ""),
    ];
    for (suffix, root) in SUFFIXES {
        if let Some(start) = word.strip_suffix(suffix).filter(|start| start.len() >= 4) {
            word = format!("{start}{root}");
            break;
        }
    }
    if word.len() > 4 && word.ends_with('e') {
        word.pop();
    }
    if word.len() > 3 && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_meet_and_different_words_do_not() {
        for family in [
            &["paint", "paints", "painted", "painting", "painter"][..],
            &["hobby", "hobbies"],
            &["adopt", "adopted", "adoption", "adopting"],
            &["run", "running"],
            &["create", "created", "creating", "creation"],
            &["class", "classes"],
        ] {
            let stems: Vec<String> = family.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|form| *form == stems[0]), "{family:?}: {stems:?}");
        }
        for (one, other) in [("sing", "s"), ("bed", "b"), ("bus", "bu")] {
            assert_ne!(stem(one), stem(other));
        }
        assert_eq!(stem("домами"), "домами");
    }
}
