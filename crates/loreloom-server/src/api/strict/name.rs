//! Names of fields and variants.

use std::{cell::Cell, marker::PhantomData};

use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeSeed, Error, IntoDeserializer as _, Visitor},
    forward_to_deserialize_any,
};

/// A name, which is kept beside what it is read as.
pub(super) struct KeptName<'name, S> {
    pub(super) seed: S,
    pub(super) name: &'name mut String,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for KeptName<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<S::Value, D::Error> {
        *self.name = String::deserialize(json)?;
        self.seed.deserialize(Name { text: self.name, error: PhantomData })
    }
}

/// Reads from a name.
struct Name<'name, E> {
    text: &'name str,
    error: PhantomData<Cell<E>>,
}

impl<'de, E: Error> Deserializer<'de> for Name<'_, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        self.text.into_deserializer().deserialize_enum(name, variants, visitor)
    }

    // No field of ours is named by a number.
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
