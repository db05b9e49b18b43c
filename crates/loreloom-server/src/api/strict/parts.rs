//! What is in a value: fields, items, variants.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor},
};

use super::{
    StrictReader,
    name::KeptName,
    place::{PathStep, ReadPlace},
};

/// Reads a part.
struct PartSeed<'place, S> {
    seed: S,
    place: &'place ReadPlace,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for PartSeed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(StrictReader { json, place: self.place })
    }
}

/// An object.
pub(super) struct ReadObject<'place, V> {
    pub(super) visitor: V,
    pub(super) place: &'place ReadPlace,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ReadObject<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, json: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(ReadFields { json, place: self.place, name: String::new() })
    }
}

/// The fields of an object.
struct ReadFields<'place, A> {
    json: A,
    place: &'place ReadPlace,
    /// Of the field that is next.
    name: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for ReadFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let read = self.json.next_key_seed(KeptName { seed, name: &mut self.name });
        if read.is_err() {
            self.place.enter(PathStep::Field(std::mem::take(&mut self.name)));
            self.place.left(true);
        }
        read
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.place.enter(PathStep::Field(std::mem::take(&mut self.name)));
        let read = self.json.next_value_seed(PartSeed { seed, place: self.place });
        self.place.leave(&read);
        read
    }

    fn size_hint(&self) -> Option<usize> {
        self.json.size_hint()
    }
}

/// A list.
pub(super) struct ReadList<'place, V> {
    pub(super) visitor: V,
    pub(super) place: &'place ReadPlace,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ReadList<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, json: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(ReadItems { json, place: self.place, index: 0 })
    }
}

/// The items of a list.
struct ReadItems<'place, A> {
    json: A,
    place: &'place ReadPlace,
    index: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for ReadItems<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.place.enter(PathStep::Item(self.index));
        self.index += 1;
        let read = self.json.next_element_seed(PartSeed { seed, place: self.place });
        self.place.leave(&read);
        read
    }

    fn size_hint(&self) -> Option<usize> {
        self.json.size_hint()
    }
}

/// A value or none.
pub(super) struct ReadOption<'place, V> {
    pub(super) visitor: V,
    pub(super) place: &'place ReadPlace,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ReadOption<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, json: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(StrictReader { json, place: self.place })
    }
}

/// One of several variants.
pub(super) struct ReadEnum<'place, V> {
    pub(super) visitor: V,
    pub(super) place: &'place ReadPlace,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ReadEnum<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, json: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Variant { json, place: self.place, name: String::new() })
    }
}

/// A variant: its name, then what is in it.
struct Variant<'place, A> {
    json: A,
    place: &'place ReadPlace,
    name: String,
}

impl<'place, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Variant<'place, A> {
    type Error = A::Error;
    type Variant = Variant<'place, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let Self { json, place, mut name } = self;
        let (value, json) = json.variant_seed(KeptName { seed, name: &mut name })?;
        Ok((value, Variant { json, place, name }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Variant<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.json.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.place.enter(PathStep::Variant(self.name));
        let read = self.json.newtype_variant_seed(PartSeed { seed, place: self.place });
        self.place.leave(&read);
        read
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.place.enter(PathStep::Variant(self.name));
        let read = self.json.tuple_variant(length, ReadList { visitor, place: self.place });
        self.place.leave(&read);
        read
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.place.enter(PathStep::Variant(self.name));
        let read = self.json.struct_variant(fields, ReadObject { visitor, place: self.place });
        self.place.leave(&read);
        read
    }
}

/// A value of any kind.
pub(super) struct ReadAny<'place, V> {
    pub(super) visitor: V,
    pub(super) place: &'place ReadPlace,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ReadAny<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.visitor.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.visitor.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.visitor.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.visitor.visit_f64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.visitor.visit_str(value)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.visitor.visit_borrowed_str(value)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, json: A) -> Result<V::Value, A::Error> {
        ReadList { visitor: self.visitor, place: self.place }.visit_seq(json)
    }

    fn visit_map<A: MapAccess<'de>>(self, json: A) -> Result<V::Value, A::Error> {
        ReadObject { visitor: self.visitor, place: self.place }.visit_map(json)
    }
}
