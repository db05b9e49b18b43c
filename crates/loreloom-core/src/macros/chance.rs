//! Random macros: `random`, `pick` and `roll`, by rolls of the turn's dice.

use std::borrow::Cow;

use super::Expansion;

/// Dice of one macro at the most, and sides of one die.
const MOST_DICE: u32 = 100;
const MOST_SIDES: u32 = 1_000_000;

/// A random macro asks for a roll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Which roll of the text it is, from 0.
    pub index: u32,
    /// Whether the choice holds for the life of the chat (`{{pick}}`) or for the turn.
    pub lasting: bool,
}

impl Expansion<'_, '_> {
    /// What a random macro gives; `None` if no macro has the name, or nothing rolls.
    pub(super) fn chance(&self, name: &str, argument: &str) -> Option<Cow<'static, str>> {
        self.roller.as_ref()?;
        match name {
            "random" => Some(Cow::Owned(self.choose(argument, false))),
            "pick" => Some(Cow::Owned(self.choose(argument, true))),
            "roll" => Some(Cow::Owned(self.roll_dice(argument))),
            _ => None,
        }
    }

    fn draw(&self, lasting: bool) -> f64 {
        let index = self.drawn.replace_with(|drawn| *drawn + 1);
        let roll = |roller: &super::Roller<'_>| (roller.borrow_mut())(Draw { index, lasting });
        self.roller.as_ref().map_or(0.0, roll)
    }

    fn choose(&self, argument: &str, lasting: bool) -> String {
        let options = options(argument);
        if options.is_empty() {
            return String::new();
        }
        options[below(self.draw(lasting), options.len())].clone()
    }

    /// `20`, `d20`, `2d6+1`: the sum of the dice; nothing for anything else.
    fn roll_dice(&self, argument: &str) -> String {
        let Some((count, sides, add)) = dice(argument.trim_matches([':', ' '])) else {
            return String::new();
        };
        let sides = usize::try_from(sides).unwrap_or(1);
        let sum: usize = (0..count).map(|_| below(self.draw(false), sides) + 1).sum();
        (i64::try_from(sum).unwrap_or(i64::MAX).saturating_add(add)).to_string()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a roll below 1 times a small number"
)]
fn below(roll: f64, count: usize) -> usize {
    ((roll * count as f64) as usize).min(count.saturating_sub(1))
}

/// The options of a choice: separated by `::`, else by commas; `\,` is a comma.
fn options(argument: &str) -> Vec<String> {
    if let Some(list) = argument.strip_prefix("::")
        && list.contains("::")
    {
        return list.split("::").map(str::to_owned).collect();
    }
    let list = argument.trim_start_matches([':', ' ']);
    let mut options = vec![String::new()];
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, options.last_mut()) {
            ('\\', Some(option)) if characters.peek() == Some(&',') => {
                option.extend(characters.next());
            }
            (',', _) => options.push(String::new()),
            (other, Some(option)) => option.push(other),
            (_, None) => {}
        }
    }
    let trimmed = options.into_iter().map(|option| option.trim().to_owned());
    trimmed.filter(|option| !option.is_empty()).collect()
}

fn dice(text: &str) -> Option<(u32, u32, i64)> {
    let text: String = text.to_ascii_lowercase().split_whitespace().collect();
    let (dice, add) = match text.find(['+', '-']) {
        Some(at) if at > 0 => (&text[..at], text[at..].parse().ok()?),
        _ => (text.as_str(), 0),
    };
    let (count, sides) = match dice.split_once('d') {
        Some(("", sides)) => (1, sides.parse().ok()?),
        Some((count, sides)) => (count.parse().ok()?, sides.parse().ok()?),
        None => (1, dice.parse().ok()?),
    };
    let sane = (1..=MOST_DICE).contains(&count) && (1..=MOST_SIDES).contains(&sides);
    sane.then_some((count, sides, add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::macros::{MacroValues, VariableChanges, Variables};

    fn expand(values: &MacroValues<'_>, text: &str, roll: &mut dyn FnMut(Draw) -> f64) -> String {
        let (variables, mut writes) = (Variables::default(), VariableChanges::default());
        values.expand_rolling(text, &variables, &mut writes, roll).into_owned()
    }

    #[test]
    fn rolls_decide_choices_and_dice() {
        let values = MacroValues::default();
        for (text, roll, expected) in [
            ("{{random::a::b::c}}", 0.0, "a"),
            ("{{random::a::b::c}}", 0.99, "c"),
            ("{{random:a, b\\, c,d}}", 0.5, "b, c"),
            ("{{pick::x::y}}", 0.5, "y"),
            ("{{roll:6}}", 0.99, "6"),
            ("{{roll:d20}}", 0.0, "1"),
            ("{{roll::2d6+1}}", 0.5, "9"),
            ("{{roll:0}}{{roll:x}}{{roll:101d6}}", 0.5, ""),
            ("{{random}}", 0.5, ""),
        ] {
            assert_eq!(expand(&values, text, &mut |_| roll), expected, "{text}");
        }
    }

    #[test]
    fn each_macro_of_a_text_has_its_own_roll() {
        let mut draws = Vec::new();
        expand(
            &MacroValues::default(),
            "{{random::a::b}} {{pick::a::b}} {{roll:2d6}}",
            &mut |draw| {
                draws.push((draw.index, draw.lasting));
                0.0
            },
        );
        assert_eq!(draws, [(0, false), (1, true), (2, false), (3, false)]);
    }
}
