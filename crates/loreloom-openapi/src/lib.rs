//! The document of the API, made from the server's handlers and types.
//!
//! A crate of its own, because only it needs the server's feature `schema`: cargo switches a
//! feature on for all crates that it builds together, so the whole workspace is tested with it,
//! and a program that is built alone is without it.

use std::io::{self, Write as _};

use flate2::{Compression, write::GzEncoder};

/// The document as people read it: `docs/openapi.json`.
pub fn text() -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&loreloom_server::api_document())?;
    text.push('\n');
    Ok(text)
}

/// The document as a server sends it.
pub fn sent() -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&loreloom_server::api_document())
}

/// The document as a program contains it.
pub fn compressed() -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&sent()?)?;
    packed.finish()
}
