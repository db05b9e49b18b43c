//! Reads a body field by field; the outline has the places of the fields.

use std::ops::Range;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::{
    WireBody,
    item::{Item, Text},
    lenient::Any,
    outline::{Field, Outline},
};

impl WireBody {
    /// Reads a body, and where its parts are; `None` if it is no JSON object.
    pub fn read(text: &str) -> Option<(Self, Outline)> {
        let outline = Outline::of(text)?;
        let mut body = Self::default();
        for field in outline.fields() {
            body.take(field, text)?;
        }
        Some((body, outline))
    }

    /// Reads one field; `None` if its value is not JSON.
    fn take(&mut self, field: &Field, text: &str) -> Option<()> {
        let value = text.get(field.value.clone())?;
        match &*field.name(text)? {
            "messages" => {
                self.messages = if let Some(places) = &field.items {
                    let read = |place: &Range<usize>| Item::read(text.get(place.clone())?);
                    Some(places.iter().map(read).collect::<Option<_>>()?)
                } else {
                    read::<IgnoredAny>(value)?;
                    None
                }
            }
            "model" => self.model = read::<Any<Text>>(value)?.0.0,
            "previous_response_id" => {
                self.previous_response_id = read::<Any<Text>>(value)?.0.0;
            }
            "instructions" => self.instructions = read::<Any<Text>>(value)?.0.0,
            "loreloom" => self.own = Some(read(value)?),
            "prompt" => self.prompt = Some(read(value)?),
            "input" => self.input = Some(read(value)?),
            "stream" => self.stream = read::<Value>(value)?.as_bool(),
            "response_format" => self.response_format = Some(read(value)?),
            "stop" => self.stop = Some(read(value)?),
            "stopping_strings" => self.stopping_strings = Some(read(value)?),
            "stop_sequence" => self.stop_sequence = Some(read(value)?),
            "options" => self.options = Some(read(value)?),
            "json_schema" => {
                self.has_schema = true;
                read::<IgnoredAny>(value)?;
            }
            _ => {
                read::<IgnoredAny>(value)?;
            }
        }
        Some(())
    }
}

fn read<T: DeserializeOwned>(value: &str) -> Option<T> {
    serde_json::from_str(value).ok()
}
