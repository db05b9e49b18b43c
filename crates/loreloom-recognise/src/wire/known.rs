//! Messages that were read before, known by how they are written.
//!
//! A request brings the whole story again, and nearly every message of it is written as last
//! time, after the same one. That is seen by comparing bytes: neither must the message be looked
//! through for its end, nor its JSON read.

use std::{hash::Hasher as _, ops::Range};

use rustc_hash::{FxHashMap, FxHasher};

use super::{item::Item, outline::value};

/// Bytes of all messages that are kept, roughly. With more of them all are forgotten, which costs
/// the next request of each story as much as its first one.
const MOST_BYTES: usize = 4 << 20;

/// What a message takes besides its texts.
const MESSAGE: usize = 256;

/// A message's place.
type At = usize;

/// Messages that were read before.
#[derive(Debug, Default)]
pub struct Known {
    messages: Vec<Written>,
    /// By the hash of how they are written; of two with the same one, the later.
    by_hash: FxHashMap<u64, At>,
    bytes: usize,
}

/// A message and how it is written.
#[derive(Debug)]
struct Written {
    text: Box<str>,
    item: Item,
    /// The message that followed it last time.
    next: Option<At>,
}

impl Known {
    /// Reads a body's messages along what is known.
    pub(super) fn along<'a>(&'a mut self, body: &'a str) -> Along<'a> {
        if self.bytes > MOST_BYTES {
            *self = Self::default();
        }
        Along { known: self, body, last: None, met: Vec::new() }
    }

    fn find(&self, text: &str) -> Option<At> {
        let at = *self.by_hash.get(&hash(text))?;
        (*self.messages[at].text == *text).then_some(at)
    }

    /// Keeps a message, unless it is no object: then its end is not its own.
    fn keep(&mut self, text: &str, item: &Item) -> Option<At> {
        if !item.is_object {
            return None;
        }
        let at = self.messages.len();
        self.by_hash.insert(hash(text), at);
        self.bytes += MESSAGE + text.len() + item.message.text.len();
        self.messages.push(Written { text: text.into(), item: item.clone(), next: None });
        Some(at)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Somebody who reads a body along what is known.
pub(super) struct Along<'a> {
    known: &'a mut Known,
    body: &'a str,
    last: Option<At>,
    /// Where messages begin that are known.
    met: Vec<(usize, At)>,
}

impl Along<'_> {
    /// Where the message ends that begins at a place.
    pub(super) fn end(&mut self, from: usize) -> Option<usize> {
        let rest = self.body.as_bytes().get(from..)?;
        let next = self.last.and_then(|last| self.known.messages[last].next);
        if let Some(next) = next {
            let text = self.known.messages[next].text.as_bytes();
            // An object says itself where it ends.
            if rest.starts_with(text) {
                self.last = Some(next);
                self.met.push((from, next));
                return Some(from + text.len());
            }
        }
        let end = value(self.body.as_bytes(), from)?;
        self.last = self.known.find(self.body.get(from..end)?);
        self.met.extend(self.last.map(|at| (from, at)));
        Some(end)
    }

    /// The messages that stand at these places; `None` if one is no JSON.
    pub(super) fn items(&mut self, places: &[Range<usize>]) -> Option<Vec<Item>> {
        let (mut items, mut last) = (Vec::with_capacity(places.len()), None);
        let first = places.first().map_or(0, |place| place.start);
        let mut next = self.met.partition_point(|(start, _)| *start < first);
        for place in places {
            let met = self.met.get(next).filter(|(start, _)| *start == place.start);
            let (at, item) = if let Some(&(_, at)) = met {
                next += 1;
                (Some(at), self.known.messages[at].item.clone())
            } else {
                let text = self.body.get(place.clone())?;
                let item = Item::read(text)?;
                (self.known.keep(text, &item), item)
            };
            if let Some(last) = last {
                let before: &mut Written = &mut self.known.messages[last];
                before.next = at.or(before.next);
            }
            last = at;
            items.push(item);
        }
        Some(items)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::WireBody, *};

    fn body(messages: &[&str]) -> String {
        format!(r#"{{"n":1,"messages":[{}]}}"#, messages.join(","))
    }

    fn read(text: &str, known: &mut Known) -> Option<Vec<Item>> {
        WireBody::read(text, known).and_then(|(body, _)| body.messages)
    }

    const TALK: [&str; 5] = [
        r#"{"role":"system","content":"card"}"#,
        r#"{"role":"user","content":"Who rang?"}"#,
        r#"{"role":"assistant","content":"Orla."}"#,
        r#"{"role":"user","content":"Who rang?","name":"Wren"}"#,
        r#"{ "role": "developer" }"#,
    ];

    #[test]
    fn a_message_is_read_once_and_the_next_is_found_after_the_last() {
        let mut known = Known::default();
        read(&body(&TALK[..3]), &mut known).unwrap();
        assert_eq!(known.messages.len(), 3);
        let longer = body(&TALK);
        let mut along = known.along(&longer);
        let from = longer.find('[').unwrap() + 1;
        assert_eq!(along.end(from), Some(from + TALK[0].len()), "by its hash");
        let from = from + TALK[0].len() + 1;
        assert_eq!(along.end(from), Some(from + TALK[1].len()), "after the one before it");
        assert_eq!(along.met.len(), 2);
        read(&longer, &mut known).unwrap();
        assert_eq!(known.messages.len(), 5);
    }

    #[test]
    fn what_is_no_json_is_never_known() {
        let mut known = Known::default();
        for broken in [r#"{"role":user}"#, r#"{"role":"user"}}"#, "{", r#"{"a":1 "b":2}"#, "01"] {
            assert_eq!(read(&body(&[TALK[0], broken]), &mut known), None, "{broken}");
        }
        assert!(read(&body(&[TALK[0], TALK[1], "7"]), &mut known).is_some());
        assert_eq!(known.messages.len(), 2);
        // A number says not where it ends.
        let items = read(&body(&[TALK[0], TALK[1], "77"]), &mut known).unwrap();
        assert_eq!(items.len(), 3);
    }

    #[test]
    fn of_two_lists_the_last_counts_whether_known_or_not() {
        let mut known = Known::default();
        let twice = format!(r#"{{"messages":[{}],"messages":[{},7]}}"#, TALK[0], TALK[1]);
        let read_at_first = read(&twice, &mut known).unwrap();
        assert_eq!(read_at_first.len(), 2);
        assert_eq!(read_at_first[0].message.text, "Who rang?");
        assert_eq!(read(&twice, &mut known), Some(read_at_first));
    }

    #[test]
    fn with_too_many_all_are_forgotten() {
        let mut known = Known::default();
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(MOST_BYTES));
        read(&body(&[TALK[0], &long]), &mut known).unwrap();
        assert_eq!(known.messages.len(), 2);
        read(&body(&TALK[..1]), &mut known).unwrap();
        assert_eq!(known.messages.len(), 1);
    }

    proptest! {
        #[test]
        fn what_is_known_is_read_as_if_it_were_not(
            stories in prop::collection::vec(prop::collection::vec(0..TALK.len(), 0..8), 1..6),
        ) {
            let mut known = Known::default();
            for story in stories {
                let messages: Vec<&str> = story.into_iter().map(|at| TALK[at]).collect();
                let text = body(&messages);
                prop_assert_eq!(read(&text, &mut known), read(&text, &mut Known::default()));
            }
        }
    }
}
