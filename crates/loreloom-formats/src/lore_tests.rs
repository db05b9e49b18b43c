//! Files of lore tests: YAML, written by hand beside the lore.
//!
//! ```
//! let file = "
//! tests:
//!   - name: the bell is known
//!     as: Mira
//!     messages:
//!       - user: I hear a bell.
//!     fires: [The bell]
//!     does_not_fire: [The heir]
//!     at_most_tokens: 400
//! ";
//! let tests = loreloom_formats::lore_tests::read(file)?;
//! assert_eq!(tests[0].speaker.as_deref(), Some("Mira"));
//! assert_eq!(tests[0].expected.len(), 3);
//! # Ok::<(), loreloom_formats::lore_tests::TestsError>(())
//! ```

use loreloom_core::{
    chat::Role,
    ids::ChatId,
    lore_tests::{Expectation, LoreTest, TestMessage},
    units::Tokens,
};
use serde::Deserialize;

/// Tests that one file may hold.
pub const MOST_TESTS: usize = 1000;
/// Messages that all tests of a file may have together.
pub const MOST_MESSAGES: usize = 10_000;
/// Entries that all tests of a file may expect something of together.
pub const MOST_EXPECTED: usize = 10_000;
/// Events that aliases may repeat: a few lines must not unfold to gigabytes.
const MOST_REPEATED: usize = 10_000;

/// A file that cannot be read as tests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestsError {
    /// It is not YAML, or has a word that tests do not know.
    #[error("a file of tests must be YAML with `tests`: {problem}")]
    Form {
        /// What is wrong, and where.
        problem: String,
    },
    /// It holds too many tests.
    #[error("a file may hold {MOST_TESTS} tests, found {found}")]
    TooManyTests {
        /// Tests found.
        found: usize,
    },
    /// It holds no test.
    #[error("a file must hold at least one test, found none")]
    NoTests,
    /// It holds too many messages.
    #[error("the tests of a file may have {MOST_MESSAGES} messages together, found {found}")]
    TooManyMessages {
        /// Messages found.
        found: usize,
    },
    /// It expects something of too many entries.
    #[error("the tests of a file may name {MOST_EXPECTED} entries together, found {found}")]
    TooManyExpected {
        /// Entries found.
        found: usize,
    },
    /// A message has no speaker, or two.
    #[error(
        "message {message} of test `{test}` must have one of `user`, `assistant` and `system`, \
         found {found}"
    )]
    Message {
        /// The test.
        test: String,
        /// The message, from 1.
        message: usize,
        /// How many of them it has.
        found: usize,
    },
    /// A test has no messages.
    #[error("test `{test}` must have messages, found none")]
    NothingSaid {
        /// The test.
        test: String,
    },
    /// A test expects nothing.
    #[error(
        "test `{test}` must have one of `fires`, `does_not_fire`, `order` and `at_most_tokens`, \
         found none"
    )]
    NothingExpected {
        /// The test.
        test: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tests: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    name: String,
    #[serde(default, rename = "as")]
    speaker: Option<String>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    chat: Option<String>,
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    context: Option<u32>,
    messages: Vec<Line>,
    #[serde(default)]
    fires: Vec<String>,
    #[serde(default)]
    does_not_fire: Vec<String>,
    #[serde(default)]
    order: Vec<String>,
    #[serde(default)]
    at_most_tokens: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    assistant: Option<String>,
    #[serde(default)]
    system: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

/// Reads a file of tests.
pub fn read(text: &str) -> Result<Vec<LoreTest>, TestsError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MOST_REPEATED,
        }
    };
    let File { tests } = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        // The first line says what is wrong; the others draw the place.
        let problem = error.to_string().lines().next().unwrap_or_default().to_owned();
        TestsError::Form { problem }
    })?;
    if tests.is_empty() {
        return Err(TestsError::NoTests);
    }
    if tests.len() > MOST_TESTS {
        return Err(TestsError::TooManyTests { found: tests.len() });
    }
    let found = tests.iter().map(|test| test.messages.len()).sum();
    if found > MOST_MESSAGES {
        return Err(TestsError::TooManyMessages { found });
    }
    let named = |test: &Test| test.fires.len() + test.does_not_fire.len() + test.order.len();
    let found = tests.iter().map(named).sum();
    if found > MOST_EXPECTED {
        return Err(TestsError::TooManyExpected { found });
    }
    tests.into_iter().map(Test::read).collect()
}

impl Test {
    fn read(self) -> Result<LoreTest, TestsError> {
        let test = self.name;
        if self.messages.is_empty() {
            return Err(TestsError::NothingSaid { test });
        }
        let messages = (1..).zip(self.messages).map(|(message, line)| {
            line.read().map_err(|found| TestsError::Message { test: test.clone(), message, found })
        });
        let messages = messages.collect::<Result<_, _>>()?;
        let order = Some(self.order).filter(|entries| !entries.is_empty());
        let fires = self.fires.into_iter().map(|entry| Expectation::Fires { entry });
        let not = self.does_not_fire.into_iter().map(|entry| Expectation::DoesNotFire { entry });
        let order = order.map(|entries| Expectation::Order { entries });
        let most = self.at_most_tokens.map(|most| Expectation::AtMost { tokens: Tokens(most) });
        let expected: Vec<Expectation> = fires.chain(not).chain(order).chain(most).collect();
        if expected.is_empty() {
            return Err(TestsError::NothingExpected { test });
        }
        Ok(LoreTest {
            name: test,
            speaker: self.speaker,
            user: self.user,
            chat: self.chat.map(ChatId),
            group: self.group,
            context: self.context.map(Tokens),
            messages,
            expected,
        })
    }
}

impl Line {
    /// The message, or how many texts the line has.
    fn read(self) -> Result<TestMessage, usize> {
        let texts = [
            (Role::User, self.user),
            (Role::Assistant, self.assistant),
            (Role::System, self.system),
        ];
        let mut texts = texts.into_iter().filter_map(|(role, text)| Some((role, text?)));
        let first = texts.next();
        match (first, texts.count()) {
            (Some((role, text)), 0) => Ok(TestMessage { role, name: self.name, text }),
            (None, _) => Err(0),
            (Some(_), more) => Err(more + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "
tests:
  - name: in the tower
    as: Mira
    user: Wren
    chat: inn
    group: The watch
    context: 4096
    messages:
      - user: I hear a bell.
        name: Wren
      - assistant: 'no'
      - { system: It is night. }
    fires: [The bell, reach/0, 12]
    does_not_fire: [The heir]
    order: [The bell, The tower]
    at_most_tokens: 300
";

    #[test]
    fn a_test_says_who_takes_part_what_is_said_and_what_is_expected() {
        let said = |role, name: Option<&str>, text: &str| TestMessage {
            role,
            name: name.map(str::to_owned),
            text: text.to_owned(),
        };
        let fires = |entry: &str| Expectation::Fires { entry: entry.to_owned() };
        let expected = LoreTest {
            name: "in the tower".to_owned(),
            speaker: Some("Mira".to_owned()),
            user: Some("Wren".to_owned()),
            chat: Some("inn".into()),
            group: Some("The watch".to_owned()),
            context: Some(Tokens(4096)),
            messages: vec![
                said(Role::User, Some("Wren"), "I hear a bell."),
                said(Role::Assistant, None, "no"),
                said(Role::System, None, "It is night."),
            ],
            expected: vec![
                fires("The bell"),
                fires("reach/0"),
                fires("12"),
                Expectation::DoesNotFire { entry: "The heir".to_owned() },
                Expectation::Order { entries: vec!["The bell".to_owned(), "The tower".to_owned()] },
                Expectation::AtMost { tokens: Tokens(300) },
            ],
        };
        assert_eq!(read(ALL), Ok(vec![expected]));
    }

    #[test]
    fn so_many_names_are_too_many_in_all_lists_together() {
        let names = |count: usize| vec!["a"; count].join(",");
        let half = MOST_EXPECTED / 2;
        let file = |more: usize| {
            let (fires, order) = (names(half), names(MOST_EXPECTED - half + more));
            format!(
                "tests:\n  - name: t\n    messages: [{{ user: a }}]\n    fires: [{fires}]\n    \
                 order: [{order}]\n"
            )
        };
        assert!(read(&file(0)).is_ok());
        let found = MOST_EXPECTED + 1;
        assert_eq!(read(&file(1)), Err(TestsError::TooManyExpected { found }));
    }

    #[test]
    fn what_is_no_test_is_refused_by_what_is_wrong() {
        let test = |rest: &str| format!("tests:\n  - name: t\n{rest}");
        let said = "    messages: [{ user: a }]\n";
        for (file, found) in [
            ("tests: [".to_owned(), "a file of tests must be YAML with `tests`"),
            ("tests: []".to_owned(), "a file must hold at least one test, found none"),
            ("books: []".to_owned(), "a file of tests must be YAML with `tests`"),
            (test(&format!("{said}    fire: [a]")), "unknown field `fire`"),
            (test(said), "test `t` must have one of `fires`, `does_not_fire`, `order`"),
            (test("    messages: []\n    fires: [a]"), "test `t` must have messages, found none"),
            (
                test("    messages: [{ user: a }, { name: b }]\n    fires: [a]"),
                "message 2 of test `t` must have one of `user`, `assistant` and `system`, found 0",
            ),
            (
                test("    messages: [{ user: a, system: b }]\n    fires: [a]"),
                "message 1 of test `t` must have one of `user`, `assistant` and `system`, found 2",
            ),
            (
                format!("tests:\n{}", "  - { name: t, messages: [{ user: a }] }\n".repeat(1001)),
                "a file may hold 1000 tests, found 1001",
            ),
            (
                test(&format!("    messages: [{}]\n", "{ user: a },".repeat(10_001))),
                "the tests of a file may have 10000 messages together, found 10001",
            ),
        ] {
            let error = read(&file).unwrap_err().to_string();
            assert!(error.contains(found), "{error}");
        }
    }
}
