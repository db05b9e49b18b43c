//! The next place of something in a text, asked for again and again from the front to the back.
//!
//! Each part of the text is searched once, however often the place is asked for. A plain `find`
//! at every opening bracket takes time that grows with the square of a text without closing
//! ones.

/// What is looked for.
pub(crate) trait Wanted {
    /// Its first place in a text.
    fn find_in(&self, text: &str) -> Option<usize>;
}

impl Wanted for &str {
    fn find_in(&self, text: &str) -> Option<usize> {
        text.find(*self)
    }
}

impl<const N: usize> Wanted for [char; N] {
    fn find_in(&self, text: &str) -> Option<usize> {
        text.find(*self)
    }
}

/// The next place of something.
pub(crate) struct Ahead<'text, W = &'static str> {
    text: &'text str,
    wanted: W,
    /// From where the answer is known, and the answer.
    known: Option<(usize, Option<usize>)>,
}

impl<'text, W: Wanted> Ahead<'text, W> {
    pub(crate) fn new(text: &'text str, wanted: W) -> Self {
        Self { text, wanted, known: None }
    }

    /// The first place at `from` or later.
    pub(crate) fn from(&mut self, from: usize) -> Option<usize> {
        match self.known {
            Some((since, next)) if since <= from && next.is_none_or(|next| next >= from) => next,
            Some(_) | None => {
                let rest = self.text.get(from..)?;
                let next = self.wanted.find_in(rest).map(|at| from + at);
                self.known = Some((from, next));
                next
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Counts the bytes that are searched.
    struct Counting<'a>(&'a Cell<usize>);

    impl Wanted for Counting<'_> {
        fn find_in(&self, text: &str) -> Option<usize> {
            let found = text.find(']');
            self.0.set(self.0.get() + found.map_or(text.len(), |at| at + 1));
            found
        }
    }

    #[test]
    fn each_byte_is_searched_once_however_often_it_is_asked_for() {
        for text in ["[".repeat(1000), "[]".repeat(500), format!("{}]", "[".repeat(999))] {
            let searched = Cell::new(0);
            let mut ahead = Ahead::new(&text, Counting(&searched));
            for from in 0..text.len() {
                assert_eq!(ahead.from(from), text[from..].find(']').map(|at| from + at));
            }
            assert_eq!(searched.get(), 1000);
        }
    }
}
