//! What a conversion loses, in words. Losses of one field are one line, so that a large book does
//! not bury what matters; `--json` has each of them.

use std::{collections::HashMap, io::Write};

use loreloom_core::{book::Book, ids::EntryId};
use loreloom_formats::{Loss, RoundTripProof, own_words};

use crate::plural::counted;

/// How many lines of lost fields are printed.
const SHOWN: usize = 20;

/// What is lost of a book, in the words of its own format.
pub(super) fn in_words(book: &Book, losses: &[Loss]) -> Vec<String> {
    let titles: HashMap<&EntryId, &str> =
        book.entries.iter().map(|entry| (&entry.id, entry.title())).collect();
    let mut groups: Vec<Group> = Vec::new();
    for (loss, word) in losses.iter().zip(own_words(book, losses)) {
        let value = shortened(&loss.value.to_string());
        let (of, field) = match (&loss.entry, loss.field.strip_prefix("card.")) {
            (Some(id), _) => (titles.get(id).copied().unwrap_or(id.as_str()), word.as_str()),
            (None, Some(field)) => ("the character", field),
            (None, None) => ("the book", word.as_str()),
        };
        let example = format!("{of}: {field} = {value}");
        match &loss.entry {
            Some(_) => Group::add(&mut groups, field, example),
            None => groups.push(Group { field: field.to_owned(), example, count: 1 }),
        }
    }
    groups.iter().map(|group| group.line("entry", "entries")).collect()
}

/// Losses of one field.
struct Group {
    field: String,
    example: String,
    count: u64,
}

impl Group {
    fn add(groups: &mut Vec<Self>, field: &str, example: String) {
        match groups.iter_mut().find(|group| group.field == field) {
            Some(group) => group.count += 1,
            None => groups.push(Self { field: field.to_owned(), example, count: 1 }),
        }
    }

    fn line(&self, one: &str, many: &str) -> String {
        if self.count == 1 {
            return self.example.clone();
        }
        let count = counted(self.count, one, many);
        format!("{} of {count}, such as {}", self.field, self.example)
    }
}

/// Prints what a format has no place for.
pub(super) fn print_losses(out: &mut dyn Write, lost: &[String]) -> anyhow::Result<()> {
    if !lost.is_empty() {
        writeln!(out, "  no place for:")?;
    }
    print_lines(out, lost)
}

fn print_lines(out: &mut dyn Write, lines: &[String]) -> anyhow::Result<()> {
    for line in lines.iter().take(SHOWN) {
        writeln!(out, "    {line}")?;
    }
    if lines.len() > SHOWN {
        writeln!(out, "    and {} more; `--json` has all", lines.len() - SHOWN)?;
    }
    Ok(())
}

/// Says what the way back shows, and that nothing is lost if it shows that.
pub(super) fn print_proof(
    out: &mut dyn Write,
    no_losses: bool,
    proof: Option<&RoundTripProof>,
) -> anyhow::Result<()> {
    let Some(proof) = proof else {
        if no_losses {
            writeln!(out, "  no field without a place")?;
        }
        return Ok(());
    };
    if no_losses && proof.is_clean() {
        writeln!(out, "  nothing is lost")?;
    }
    if let Some(why) = &proof.untried {
        writeln!(out, "  the way back could not be tried: {why}")?;
    }
    if !proof.lost.is_empty() {
        writeln!(out, "  not there again after the way back:")?;
    }
    let mut groups: Vec<Group> = Vec::new();
    for Loss { field, value, .. } in &proof.lost {
        let example = format!("{field} = {}", shortened(&value.to_string()));
        Group::add(&mut groups, &without_numbers(field), example);
    }
    let lines: Vec<String> = groups.iter().map(|group| group.line("place", "places")).collect();
    print_lines(out, &lines)?;
    if let Some(first) = proof.gained.first() {
        let new = counted(proof.gained.len() as u64, "field", "fields");
        writeln!(out, "  new after the way back: {new}, such as `{first}`")?;
    }
    Ok(())
}

/// A path without the numbers of rows: `entries.*.comment`.
fn without_numbers(path: &str) -> String {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = path.split('.').map(|part| if is_number(part) { "*" } else { part });
    parts.collect::<Vec<_>>().join(".")
}

/// A value that fits on a line; `--json` has it whole.
fn shortened(value: &str) -> String {
    const MOST: usize = 100;
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    value.chars().take(MOST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use loreloom_core::book::Entry;
    use serde_json::json;

    use super::*;

    fn loss(entry: Option<&str>, field: &str) -> Loss {
        Loss { entry: entry.map(EntryId::from), field: field.to_owned(), value: json!(3) }
    }

    #[test]
    fn losses_of_one_field_are_one_line() {
        let mut book = Book::new("b", "B");
        book.entries = ["0", "1"].map(Entry::new).to_vec();
        book.entries[0].name = "Bell".to_owned();
        let sticky = "activation.timed.sticky";
        let losses = [
            loss(Some("0"), sticky),
            loss(None, "card.creator"),
            loss(Some("1"), sticky),
            loss(Some("1"), "group.weight"),
        ];
        let [word, _, _, weight] = own_words(&book, &losses).try_into().unwrap();
        assert_eq!(
            in_words(&book, &losses),
            [
                format!("{word} of 2 entries, such as Bell: {word} = 3"),
                "the character: creator = 3".to_owned(),
                format!("1: {weight} = 3"),
            ]
        );
    }

    #[test]
    fn rows_of_a_file_are_counted_and_no_line_is_too_much() {
        let lost = ["entries.0.a", "entries.12.a", "b"].map(|field| loss(None, field)).to_vec();
        let proof = RoundTripProof { lost, ..RoundTripProof::default() };
        let mut out = Vec::new();
        print_proof(&mut out, true, Some(&proof)).unwrap();
        let expected = "  not there again after the way back:\n    \
            entries.*.a of 2 places, such as entries.0.a = 3\n    b = 3\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let many: Vec<String> = (0..25).map(|number| number.to_string()).collect();
        let mut out = Vec::new();
        print_losses(&mut out, &many).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 22);
        assert!(text.ends_with("    and 5 more; `--json` has all\n"), "{text}");
    }
}
