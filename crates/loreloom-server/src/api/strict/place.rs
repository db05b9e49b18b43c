//! Where in a document a reader is.

use std::cell::RefCell;

/// A step from a value to a part of it.
pub(super) enum PathStep {
    Field(String),
    Item(usize),
    Variant(String),
}

/// Where the reader is.
#[derive(Default)]
pub(super) struct ReadPlace {
    steps: RefCell<Vec<PathStep>>,
    /// The first field that a type does not know.
    pub(super) unknown: RefCell<Option<String>>,
    /// Where the first error was.
    pub(super) failed: RefCell<Option<String>>,
}

impl ReadPlace {
    pub(super) fn enter(&self, step: PathStep) {
        self.steps.borrow_mut().push(step);
    }

    pub(super) fn leave<T, E>(&self, read: &Result<T, E>) {
        self.left(read.is_err());
    }

    pub(super) fn left(&self, is_failed: bool) {
        if is_failed {
            self.failed.borrow_mut().get_or_insert_with(|| self.of_error());
        }
        self.steps.borrow_mut().pop();
    }

    /// As `entries[2].keys`.
    fn of_error(&self) -> String {
        let mut path = String::new();
        for step in self.steps.borrow().iter() {
            match step {
                PathStep::Item(index) => path.extend(["[", &index.to_string(), "]"]),
                PathStep::Field(name) | PathStep::Variant(name) => join(&mut path, name),
            }
        }
        path
    }

    /// As `entries.2.keys`.
    pub(super) fn note_unknown(&self) {
        let mut path = String::new();
        for step in self.steps.borrow().iter() {
            match step {
                PathStep::Item(index) => join(&mut path, &index.to_string()),
                PathStep::Field(name) => join(&mut path, name),
                PathStep::Variant(_) => {}
            }
        }
        self.unknown.borrow_mut().get_or_insert(path);
    }
}

fn join(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}
