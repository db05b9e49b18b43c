//! The filter language of the table: `key:bell book:reach is:disabled tokens>200 cracked`.
//!
//! Terms are separated by spaces and must all hold; quotes keep a term with spaces together,
//! a leading `-` turns it round. A term without a name looks into title, keys and text.

use std::cmp::Ordering;

use super::{CatalogFacts, FiresBy, Row, findings};
use crate::stored_books::Maker;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Filter(Vec<(bool, Term)>);

#[derive(Debug, PartialEq)]
enum Term {
    Text(String),
    Key(String),
    Book(String),
    Tag(String),
    Folder(String),
    Title(String),
    By(FiresBy),
    Note,
    NeverFired,
    AlwaysCut,
    Tokens(Ordering, u32),
    /// With findings of the linter: of this code, or any.
    Lint(Option<String>),
    /// Says something else than so many milliseconds ago.
    Changed(i64),
    /// Says what it says by this maker; by nobody who was recorded.
    MadeBy(Option<Maker>),
    MadeByModel,
}

/// A term that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FilterError {
    pub(crate) term: String,
    pub(crate) rule: &'static str,
}

const NAMES: &str = "must begin with `key:`, `book:`, `tag:`, `folder:`, `title:`, `is:`, `lint:`, \
                     `changed:`, `by:`, `tokens>`, `tokens<` or `tokens=`";
const BY: &str = "must be `by:hand`, `by:import`, `by:model` or `by:unknown`";
const LINT: &str =
    "must be `lint:any`, or `lint:` with the `code` of a finding as `GET /lint` names it";
const CHANGED: &str =
    "must be `changed:` with a number of hours, days or weeks above 0: `12h`, `7d`, `2w`";
const IS: &str = "must be `is:disabled`, `is:constant`, `is:meaning`, `is:keys`, `is:note`, \
                  `is:never-fired` or `is:always-cut`";

impl Filter {
    /// Reads a filter.
    pub(crate) fn parse(text: &str) -> Result<Self, FilterError> {
        let terms = split(text).into_iter().map(|term| {
            let (negated, rest) = match term.strip_prefix('-') {
                Some(rest) if !rest.is_empty() => (true, rest),
                Some(_) | None => (false, term.as_str()),
            };
            Ok((negated, Term::parse(rest)?))
        });
        terms.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a row fits.
    pub(crate) fn fits(&self, row: &Row<'_>, known: &CatalogFacts) -> bool {
        self.0.iter().all(|(negated, term)| term.fits(row, known) != *negated)
    }

    /// Whether it asks what the linter found.
    pub(super) fn asks_for_findings(&self) -> bool {
        self.0.iter().any(|(_, term)| matches!(term, Term::Lint(_)))
    }

    /// Whether it filters by book.
    pub(super) fn asks_for_books(&self) -> bool {
        self.0.iter().any(|(_, term)| matches!(term, Term::Book(_)))
    }

    /// Whether it asks who made entries.
    pub(super) fn asks_for_makers(&self) -> bool {
        self.0.iter().any(|(_, term)| matches!(term, Term::MadeBy(_)))
    }

    /// The spans of time it asks about, in milliseconds before now.
    pub(crate) fn spans(&self) -> impl Iterator<Item = i64> {
        let span = |term: &Term| if let Term::Changed(ago) = term { Some(*ago) } else { None };
        self.0.iter().filter_map(move |(_, term)| span(term))
    }
}

impl Term {
    fn parse(term: &str) -> Result<Self, FilterError> {
        let wrong = |rule| FilterError { term: term.to_owned(), rule };
        if let Some(rest) = term.strip_prefix("tokens") {
            let mut rest = rest.chars();
            let ordering = match rest.next() {
                Some('>') => Ordering::Greater,
                Some('<') => Ordering::Less,
                Some('=') => Ordering::Equal,
                Some(_) | None => return Ok(Self::Text(term.to_lowercase())),
            };
            let number = rest.as_str().parse();
            return Ok(Self::Tokens(ordering, number.map_err(|_| wrong("must name a number"))?));
        }
        let Some((name, value)) = term.split_once(':') else {
            return Ok(Self::Text(term.to_lowercase()));
        };
        let value = value.to_lowercase();
        Ok(match name {
            "key" => Self::Key(value),
            "book" => Self::Book(value),
            "tag" => Self::Tag(value),
            "folder" => Self::Folder(value),
            "title" => Self::Title(value),
            "is" => match value.as_str() {
                "disabled" => Self::By(FiresBy::Nothing),
                "constant" => Self::By(FiresBy::Constant),
                "meaning" => Self::By(FiresBy::Meaning),
                "keys" => Self::By(FiresBy::Keys),
                "note" => Self::Note,
                "never-fired" => Self::NeverFired,
                "always-cut" => Self::AlwaysCut,
                _ => return Err(wrong(IS)),
            },
            "lint" if value == "any" => Self::Lint(None),
            "lint" if findings::is_code(&value) => Self::Lint(Some(value)),
            "lint" => return Err(wrong(LINT)),
            "changed" => Self::Changed(span(&value).ok_or_else(|| wrong(CHANGED))?),
            "by" => match value.as_str() {
                "hand" => Self::MadeBy(Some(Maker::Hand)),
                "import" => Self::MadeBy(Some(Maker::Import)),
                "unknown" => Self::MadeBy(None),
                "model" => Self::MadeByModel,
                _ => return Err(wrong(BY)),
            },
            _ => return Err(wrong(NAMES)),
        })
    }

    fn fits(&self, row: &Row<'_>, known: &CatalogFacts) -> bool {
        let fires = || known.fires(row.id);
        let has = |text: &str, wanted: &str| text.to_lowercase().contains(wanted);
        match self {
            Self::Text(wanted) => {
                has(row.title(), wanted)
                    || row.keys().iter().any(|key| has(key, wanted))
                    || has(row.content(), wanted)
            }
            Self::Key(wanted) => row.keys().iter().any(|key| has(key, wanted)),
            // A whole id means that book, and not those whose ids hold it.
            Self::Book(wanted) if known.books.contains(wanted) => {
                row.book.to_lowercase() == *wanted
            }
            Self::Book(wanted) => has(row.book, wanted),
            Self::Tag(wanted) => row.tags().iter().any(|tag| has(tag, wanted)),
            Self::Folder(wanted) => row.folder().is_some_and(|folder| has(folder, wanted)),
            Self::Title(wanted) => has(row.title(), wanted),
            Self::By(by) => row.fires_by() == *by,
            Self::Note => row.is_note(),
            Self::NeverFired => fires().fired == 0,
            Self::AlwaysCut => fires().fired == 0 && fires().cut > 0,
            Self::Tokens(ordering, number) => {
                known.counter.count(row.content()).0.cmp(number) == *ordering
            }
            Self::Lint(code) => known
                .codes
                .get(row.id)
                .is_some_and(|codes| code.as_ref().is_none_or(|code| codes.contains(code))),
            Self::Changed(ago) => {
                known.changed.get(ago).is_some_and(|changed| changed.contains(row.id))
            }
            Self::MadeBy(maker) => known.makers.get(row.id) == maker.as_ref(),
            // There is no way by which a model could write lore.
            Self::MadeByModel => false,
        }
    }
}

/// Reads `12h`, `7d` or `2w`, in milliseconds.
fn span(text: &str) -> Option<i64> {
    let hours = match text.chars().last()? {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        _ => return None,
    };
    let number: i64 = text[..text.len() - 1].parse().ok()?;
    let span = number.checked_mul(hours * 60 * 60 * 1000)?;
    (span > 0).then_some(span)
}

/// Splits at spaces outside of double quotes.
fn split(text: &str) -> Vec<String> {
    let (mut terms, mut term, mut quoted) = (Vec::new(), String::new(), false);
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            space if space.is_whitespace() && !quoted => terms.push(std::mem::take(&mut term)),
            other => term.push(other),
        }
    }
    terms.push(term);
    terms.retain(|term| !term.is_empty());
    terms
}

/// The order of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) column: Column,
    pub(crate) descending: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Column {
    #[default]
    Book,
    Title,
    Tokens,
    Order,
    Fired,
}

impl Order {
    /// Reads `title`, `-tokens` and so on.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (descending, name) = match text.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, text),
        };
        let column = match name {
            "book" => Column::Book,
            "title" => Column::Title,
            "tokens" => Column::Tokens,
            "order" => Column::Order,
            "fired" => Column::Fired,
            _ => return None,
        };
        Some(Self { column, descending })
    }

    /// A row's place in this order: a number, a text, and its place among all.
    pub(crate) fn key(self, row: &Row<'_>, known: &CatalogFacts) -> (i64, String, i64) {
        let at = i64::try_from(row.at).unwrap_or(i64::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "orders are far below 2^53")]
        let number = match self.column {
            Column::Book | Column::Title => 0,
            Column::Tokens => i64::from(known.counter.count(row.content()).0),
            Column::Order => (row.order().unwrap_or_default() * 1000.0) as i64,
            Column::Fired => i64::try_from(known.fires(row.id).fired).unwrap_or(i64::MAX),
        };
        let text = match self.column {
            Column::Title => row.title().to_lowercase(),
            Column::Book | Column::Tokens | Column::Order | Column::Fired => String::new(),
        };
        if self.descending { (-number, text, -at) } else { (number, text, at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_and_wrong_ones_named() {
        let filter = Filter::parse(
            r#"key:bell -is:disabled "the north" tokens>200 lint:any -lint:NO_KEYS changed:2w by:hand -by:unknown by:model"#,
        );
        assert_eq!(
            filter.unwrap().0,
            [
                (false, Term::Key("bell".to_owned())),
                (true, Term::By(FiresBy::Nothing)),
                (false, Term::Text("the north".to_owned())),
                (false, Term::Tokens(Ordering::Greater, 200)),
                (false, Term::Lint(None)),
                (true, Term::Lint(Some("no_keys".to_owned()))),
                (false, Term::Changed(1_209_600_000)),
                (false, Term::MadeBy(Some(Maker::Hand))),
                (true, Term::MadeBy(None)),
                (false, Term::MadeByModel),
            ]
        );
        for (text, rule) in [
            ("is:odd", IS),
            ("colour:red", NAMES),
            ("tokens>x", "must name a number"),
            ("lint:nokeys", LINT),
            ("changed:", CHANGED),
            ("changed:7", CHANGED),
            ("changed:0d", CHANGED),
            ("changed:-1d", CHANGED),
            ("changed:99999999999999w", CHANGED),
            ("changed:7ß", CHANGED),
            ("by:somebody", BY),
        ] {
            let error = Filter::parse(text).unwrap_err();
            assert_eq!(error, FilterError { term: text.to_owned(), rule });
        }
    }
}
