//! Reads JSON and notes where: which field a type does not know, and what an error is about.
//!
//! The compiler makes code for every type that is read, and for every reader around the one of
//! JSON. So there is one reader around it, and what does not depend on the type is in functions of
//! its own. A list is not read as an object's fields in their order, although serde could.

mod name;
mod parts;
mod place;

use serde::{
    Deserializer,
    de::{DeserializeOwned, Visitor},
};
use serde_json::de::SliceRead;

use self::{
    parts::{ReadAny, ReadEnum, ReadList, ReadObject, ReadOption},
    place::ReadPlace,
};

/// Why JSON was not read.
pub(super) enum Misread {
    /// It has a field that the type has not.
    Unknown(String),
    /// The error, and the path to what it is about; empty for the whole.
    Wrong(serde_json::Error, String),
}

/// Reads from the one kind of source that there is.
pub(super) fn read<T: DeserializeOwned>(
    json: &mut serde_json::Deserializer<SliceRead<'_>>,
) -> Result<T, Misread> {
    let place = ReadPlace::default();
    let read = T::deserialize(StrictReader { json, place: &place });
    match (read, place.unknown.into_inner()) {
        (Ok(value), None) => Ok(value),
        (Ok(_), Some(field)) => Err(Misread::Unknown(field)),
        (Err(error), _) => {
            Err(Misread::Wrong(error, place.failed.into_inner().unwrap_or_default()))
        }
    }
}

/// Reads a value and what is in it.
struct StrictReader<'place, D> {
    json: D,
    place: &'place ReadPlace,
}

/// Methods for values that have no parts.
macro_rules! plain {
    ($($method:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.json.$method(visitor)
        }
    )+};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for StrictReader<'_, D> {
    type Error = D::Error;

    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.json.deserialize_any(ReadAny { visitor, place: self.place })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.place.note_unknown();
        self.json.deserialize_ignored_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.json.deserialize_option(ReadOption { visitor, place: self.place })
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.json.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.json.deserialize_seq(ReadList { visitor, place: self.place })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.json.deserialize_map(ReadObject { visitor, place: self.place })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.json.deserialize_enum(name, variants, ReadEnum { visitor, place: self.place })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Whole {
        lists: Option<Vec<Kind>>,
        #[serde(default)]
        named: BTreeMap<Word, Box<[u8; 2]>>,
    }

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    struct Word(String);

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    enum Kind {
        Plain,
        Fields { size: u8 },
        Pair(u8, u8),
    }

    #[test]
    fn errors_and_unknown_fields_are_found_at_their_place() {
        for (text, expected) in [
            (r#"{"lists":["Plain",{"Fields":{"size":1}},{"Pair":[1,2]}]}"#, "read"),
            (r#"{"lists":null,"named":{"a":[1,2]}}"#, "read"),
            (r#"{"lists":["Plain",{"Fields":{"size":1,"x":[2]}}],"y":0}"#, "unknown lists.1.x"),
            (r#"{"lists":["Plain",{"Fields":{"size":-1}}]}"#, "wrong lists[1].Fields.size"),
            (r#"{"lists":[{"Pair":[1,"x"]}]}"#, "wrong lists[0].Pair[1]"),
            (r#"{"lists":["Other"]}"#, "wrong lists[0]"),
            (r#"{"lists":[{"Fields":[1]}]}"#, "wrong lists[0].Fields"),
            (r#"{"named":{"a":[1]}}"#, "wrong named.a"),
            (r#"{"named":{"b":[1,300]}}"#, "wrong named.b[1]"),
            ("3", "wrong "),
        ] {
            let found =
                match read::<Whole>(&mut serde_json::Deserializer::from_slice(text.as_bytes())) {
                    Ok(_) => "read".to_owned(),
                    Err(Misread::Unknown(path)) => format!("unknown {path}"),
                    Err(Misread::Wrong(_, path)) => format!("wrong {path}"),
                };
            assert_eq!(found, expected, "{text}");
        }
    }
}
