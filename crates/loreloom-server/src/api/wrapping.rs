//! Wrapping entries that a front end chose itself.

use std::collections::BTreeMap;

use loreloom_core::wrap::{FieldValue, WrapField, WrapFields, WrapFormat, wrap};
use serde::{Deserialize, Serialize};

use super::{
    extract::Json,
    problem::{Code, Problem},
    routes::routes,
};

routes! {
    POST "/wrap" => wrap_all,
}

/// Entries to be wrapped.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct EntriesToWrap {
    /// The wrapper: `none`, `xml-minimal`, `xml-standard`, `xml-detailed`, `xml-maximum`,
    /// `markdown`, `lb`, `world-info` or `custom:TEMPLATE`.
    format: String,
    /// The entries.
    entries: Vec<EntryToWrap>,
}

/// An entry to be wrapped.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct EntryToWrap {
    /// What is known about it, by the names of a wrapper's fields: `name`, `world`, `key` …
    /// A list is joined by commas where the field takes one text.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    fields: BTreeMap<String, FieldValue>,
    /// Its text.
    content: String,
}

/// Entries in their wrappers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct WrappedEntries {
    /// The texts, in the order they came.
    texts: Vec<String>,
}

/// Wraps entries that a front end chose itself, so that readers of the prompt can separate them:
/// `loreloom unwrap` reads them back. An empty text stays empty. Nothing is stored.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/wrap", tag = "weave", request_body = EntriesToWrap,
    responses((status = 200, body = WrappedEntries))
))]
async fn wrap_all(Json(body): Json<EntriesToWrap>) -> Result<Json<WrappedEntries>, Problem> {
    let wrong = |detail: String, field: &str| Problem::new(Code::WrongValue, detail).at(field);
    let format: WrapFormat =
        body.format.parse().map_err(|error| wrong(format!("{error}"), "format"))?;
    let mut texts = Vec::with_capacity(body.entries.len());
    for entry in body.entries {
        let mut fields = WrapFields::new();
        for (name, value) in entry.fields {
            let field = WrapField::from_name(&name).ok_or_else(|| {
                wrong("a field of a wrapper has another name".to_owned(), "fields").with(name)
            })?;
            match value {
                FieldValue::Text(text) => fields.set(field, text),
                FieldValue::List(items) => fields.set_list(field, items),
            }
        }
        texts.push(wrap(&format, &fields, &entry.content));
    }
    Ok(Json(WrappedEntries { texts }))
}
