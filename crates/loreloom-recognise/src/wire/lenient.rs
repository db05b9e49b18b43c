//! Reads JSON of any shape: a value of the wrong type counts as missing.

use std::{fmt, marker::PhantomData};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value that can be read from any JSON value; the default for other types.
pub(super) trait Lenient<'de>: Default {
    /// From a string.
    fn of_text(_text: &str) -> Self {
        Self::default()
    }

    /// From a list.
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// From an object.
    fn of_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// Reads a value of any type.
pub(super) struct Any<T>(pub(super) T);

impl<'de, T: Lenient<'de>> Deserialize<'de> for Any<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientReader(PhantomData)).map(Self)
    }
}

struct LenientReader<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for LenientReader<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::of_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::of_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::of_object(object)
    }
}
