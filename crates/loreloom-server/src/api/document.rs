//! The document of the API, as it is committed.
//!
//! The code that makes it (`openapi`) is large and always makes the same text. So a program has the
//! text, compressed; a test compares it with what the code makes.

use std::io::Read as _;

use axum::response::{IntoResponse as _, Response};
use flate2::read::GzDecoder;
use http::header::CONTENT_TYPE;

use super::{
    problem::{Code, Problem},
    routes::routes,
};

/// `docs/openapi.json` without blanks, as `./dev bless-api` writes it.
const DOCUMENT: &[u8] = include_bytes!("../../assets/openapi.json.gz");

routes! {
    GET "/openapi.json" => show,
}

/// The document of this API.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/openapi.json", tag = "system",
    responses((status = 200, description = "The document", body = Object))
))]
async fn show() -> Result<Response, Problem> {
    let mut text = String::new();
    match GzDecoder::new(DOCUMENT).read_to_string(&mut text) {
        Ok(_) => Ok(([(CONTENT_TYPE, "application/json")], text).into_response()),
        Err(error) => Err(Problem::new(Code::Failed, error.to_string())),
    }
}
