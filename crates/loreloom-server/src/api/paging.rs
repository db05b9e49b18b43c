//! Long lists in pages.
//!
//! A cursor names the last item of a page by its place in the list's order, so that a list
//! which changes between two pages neither repeats nor skips what stays in it.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::problem::{Code, Problem};

/// The longest page.
pub(crate) const MOST: usize = 500;
const USUAL: usize = 50;

/// A page of a list.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct Page<T> {
    /// The items.
    pub(crate) items: Vec<T>,
    /// How many the whole list has.
    pub(crate) total: usize,
    /// Asks for the next page; none after the last.
    pub(crate) next: Option<String>,
}

/// Which page of a list.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(crate) struct PageParams {
    /// Where the page before ended: its `next`.
    pub(crate) cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    pub(crate) limit: Option<usize>,
}

/// The length of a page.
pub(crate) fn length(limit: Option<usize>) -> Result<usize, Problem> {
    match limit {
        None => Ok(USUAL),
        Some(limit) if (1..=MOST).contains(&limit) => Ok(limit),
        Some(limit) => Err(Problem::value("limit", "must be from 1 to 500", limit)),
    }
}

/// The page of `items` after a cursor; `key` gives each item's place in the order that they
/// are in.
pub(crate) fn page<T, K>(
    items: Vec<T>,
    cursor: Option<&str>,
    limit: Option<usize>,
    key: impl Fn(&T) -> K,
) -> Result<Page<T>, Problem>
where
    K: Ord + Serialize + DeserializeOwned,
{
    let (total, length) = (items.len(), length(limit)?);
    let after = cursor.map(decode::<K>).transpose()?;
    let start = match &after {
        Some(after) => items.partition_point(|item| key(item) <= *after),
        None => 0,
    };
    let more = total > start + length;
    let items: Vec<T> = items.into_iter().skip(start).take(length).collect();
    let next = items.last().filter(|_| more).map(|last| encode(&key(last)));
    Ok(Page { items, total, next })
}

impl<T> Page<T> {
    /// The page with other items in place of these.
    pub(crate) fn map<U>(self, into: impl FnMut(T) -> U) -> Page<U> {
        let Self { items, total, next } = self;
        Page { items: items.into_iter().map(into).collect(), total, next }
    }
}

pub(crate) fn encode(key: &impl Serialize) -> String {
    // Keys are numbers and texts, which always have a JSON form.
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(key).unwrap_or_default())
}

pub(crate) fn decode<K: DeserializeOwned>(cursor: &str) -> Result<K, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let key = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    key.ok_or_else(|| {
        let detail = format!("a cursor is the `next` of the page before, found `{cursor}`");
        Problem::new(Code::BadCursor, detail).at("cursor").with(cursor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_loses_the_cursors_item_goes_on_after_its_place() {
        let first = page(vec![1, 3, 5, 7], None, Some(2), |item| *item).unwrap();
        assert_eq!((first.items, first.total), (vec![1, 3], 4));
        let second = page(vec![1, 5, 7], first.next.as_deref(), Some(2), |item| *item).unwrap();
        assert_eq!((second.items, second.next), (vec![5, 7], None));
        let wrong = page(vec![1], Some("?"), None, |item| *item).unwrap_err();
        assert_eq!(wrong.detail(), "a cursor is the `next` of the page before, found `?`");
    }
}
