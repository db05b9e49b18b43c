//! Reads values of other programs. An unknown word is no value and no error.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

/// Reads a value; `None` if it is unknown.
pub(crate) fn known<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// Reads a value; `null` is the default.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a known word in any case; otherwise `None`.
pub(crate) fn word<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let word = Option::<serde_json::Value>::deserialize(deserializer)?;
    let word = word.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    Ok(serde_json::from_value(word.trim().to_lowercase().into()).ok())
}

/// Reads a name; an empty one is `None`.
pub(crate) fn filled<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    let value = value.filter(|value| value.as_str() != Some(""));
    value.map(serde_json::from_value).transpose().map_err(serde::de::Error::custom)
}

/// Reads a count. A negative or fractional number is 0.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let count = Option::<serde_json::Value>::deserialize(deserializer)?;
    let count = count.as_ref().and_then(serde_json::Value::as_u64).unwrap_or_default();
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Reads a first and a last position, alone or in a list of such pairs.
pub(crate) fn range<'de, D>(deserializer: D) -> Result<Option<(i64, i64)>, D::Error>
where
    D: Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    let first = value.get(0).filter(|first| first.is_array()).cloned();
    Ok(serde_json::from_value(first.unwrap_or(value)).ok())
}
