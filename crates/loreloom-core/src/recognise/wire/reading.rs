//! A body read field by field: messages at once into what they are, the few others as values.

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{
    WireBody,
    item::{Item, Text},
    lenient::{Any, Lenient},
};

impl<'de> Deserialize<'de> for WireBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = WireBody;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireBody, A::Error> {
                let mut body = WireBody::default();
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    body.take(&name, &mut map)?;
                }
                Ok(body)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

impl WireBody {
    /// Takes up the value of a field.
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "messages" => self.messages = map.next_value::<Any<Items>>()?.0.0,
            "model" => self.model = map.next_value::<Any<Text>>()?.0.0,
            "instructions" => self.instructions = map.next_value::<Any<Text>>()?.0.0,
            "loreloom" => self.own = Some(map.next_value()?),
            "prompt" => self.prompt = Some(map.next_value()?),
            "input" => self.input = Some(map.next_value()?),
            "stream" => self.stream = map.next_value::<Value>()?.as_bool(),
            "response_format" => self.response_format = Some(map.next_value()?),
            "stop" => self.stop = Some(map.next_value()?),
            "stopping_strings" => self.stopping_strings = Some(map.next_value()?),
            "stop_sequence" => self.stop_sequence = Some(map.next_value()?),
            "options" => self.options = Some(map.next_value()?),
            "json_schema" => {
                self.has_schema = true;
                map.next_value::<IgnoredAny>()?;
            }
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// A list of messages, if it is one.
#[derive(Default)]
struct Items(Option<Vec<Item>>);

impl<'de> Lenient<'de> for Items {
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut items = Vec::new();
        while let Some(Any(item)) = list.next_element()? {
            items.push(item);
        }
        Ok(Self(Some(items)))
    }
}
