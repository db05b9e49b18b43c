//! Fields of a front end that we do not model, as a message keeps them.

use std::{ops::Deref, sync::LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::book::Extensions;

/// The fields in their order. A path of a long story is held and compared at every turn, and few
/// of its messages have any, so that without them they take no room.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Extensions")]
pub struct Extras(Option<Box<Extensions>>);

static NONE: LazyLock<Extensions> = LazyLock::new(Extensions::new);

impl Extras {
    /// Adds a field; one of that name is replaced.
    pub fn insert(&mut self, name: String, value: Value) {
        self.0.get_or_insert_default().insert(name, value);
    }
}

impl From<Extensions> for Extras {
    fn from(fields: Extensions) -> Self {
        Self((!fields.is_empty()).then(|| Box::new(fields)))
    }
}

impl Deref for Extras {
    type Target = Extensions;

    fn deref(&self) -> &Extensions {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl Serialize for Extras {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_written_as_they_were_read_and_none_are_an_empty_object() {
        for written in [r#"{"b":1,"a":[null]}"#, "{}"] {
            let extras: Extras = serde_json::from_str(written).unwrap();
            assert_eq!(serde_json::to_string(&extras).unwrap(), written);
        }
        assert_eq!(Extras::from(Extensions::new()), Extras::default());
    }

    #[test]
    fn a_field_is_added_and_replaced() {
        let mut extras = Extras::default();
        for value in [json!(1), json!(2)] {
            extras.insert("a".to_owned(), value.clone());
            assert_eq!((extras.len(), &extras["a"]), (1, &value));
        }
    }
}
