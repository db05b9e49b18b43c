//! Keys written as one text.

/// Splits a list of keys at its commas. A comma inside `/.../` or after a backslash does
/// not split; blanks around a key and empty keys are dropped.
pub(crate) fn split(list: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut key = String::new();
    let mut in_regex = false;
    let mut escaped = false;
    for character in list.chars() {
        if character == ',' && !in_regex && !escaped {
            keys.push(std::mem::take(&mut key));
            continue;
        }
        if character == ',' && escaped && !in_regex {
            key.pop();
        }
        if character == '/' && !escaped {
            in_regex = if in_regex { false } else { key.trim().is_empty() };
        }
        escaped = character == '\\' && !escaped;
        key.push(character);
    }
    keys.push(key);
    keys.iter().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_split_except_in_patterns_and_after_a_backslash() {
        for (list, expected) in [
            ("harbor, quay ,pier", vec!["harbor", "quay", "pier"]),
            ("/a{1,2}/i, b", vec!["/a{1,2}/i", "b"]),
            (r"/a\/,b/, c", vec![r"/a\/,b/", "c"]),
            ("and/or, c", vec!["and/or", "c"]),
            (r"a\, b, c", vec!["a, b", "c"]),
            (" , ,", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(split(list), expected, "{list}");
        }
    }
}
