//! Whether an expression can take too many steps, for lints.
//!
//! It is tried on long texts of the characters that it is made of: that is what makes an
//! expression try again and again. A search for the worst text could take for ever, so some
//! slow expressions are not noticed here but in their first turn.

use super::{
    JsRegex, RegexOutcome, RegexText, Steps,
    program::{Insn, Program, Single},
};

/// The length of a text that is tried.
const LENGTH: usize = 20_000;
/// The most characters that are tried.
const MOST: usize = 6;

impl JsRegex {
    /// Whether it takes too many steps in a text made for that.
    pub fn can_be_slow(&self, steps: &Steps) -> bool {
        let looks = |insn: &Insn| matches!(insn, Insn::Look { .. });
        // Others take no more steps than their length times that of the text.
        if self.program.sites.is_some() && !self.program.insns.iter().any(looks) {
            return false;
        }
        let characters = characters(&self.program);
        let alone = characters.iter().map(|one| one.to_string().repeat(LENGTH));
        let together: String = characters.iter().collect();
        let times = LENGTH / together.chars().count().max(1);
        let mut texts = alone.chain([together.repeat(times)]);
        texts.any(|text| self.find_within(&RegexText::new(text), steps) == RegexOutcome::TooSlow)
    }
}

/// A character of each set that the program compares with, in its order.
fn characters(program: &Program) -> Vec<char> {
    let mut characters = Vec::new();
    for insn in &program.insns {
        let (Insn::One(single, _)
        | Insn::Exactly(single, ..)
        | Insn::Star { single, .. }
        | Insn::UpTo { single, .. }) = insn
        else {
            continue;
        };
        let one = match single {
            Single::Is(one) | Single::Either(one, _) => char::from_u32(*one),
            Single::In(set) => {
                let set = &program.sets[*set as usize];
                ['a', ' ', '1', '.', 'Z'].into_iter().find(|one| set.contains(u32::from(*one)))
            }
        };
        if let Some(one) = one.filter(|one| !characters.contains(one)) {
            characters.push(one);
        }
        if characters.len() >= MOST {
            break;
        }
    }
    characters
}
