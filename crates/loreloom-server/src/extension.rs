//! The extension for SillyTavern, as a zip to unpack into its folder of extensions.
//!
//! Its files are embedded, as those of the page are. The zip holds no key: the extension gets one
//! when the user pairs it.

use std::io::{Cursor, Write as _};

use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE},
};
use rust_embed::RustEmbed;
use zip::{DateTime, ZipWriter, result::ZipError, write::SimpleFileOptions};

/// Where the zip is.
pub(crate) const ZIP: &str = "/extensions/sillytavern.zip";
/// The folder in the zip: SillyTavern names the extension by it.
const FOLDER: &str = "loreloom";

#[derive(RustEmbed)]
#[folder = "../../extensions/sillytavern"]
struct ExtensionFiles;

/// The extension as a zip.
pub(crate) async fn zipped() -> Response {
    match archive() {
        Ok(bytes) => {
            let headers = [
                (CONTENT_TYPE, HeaderValue::from_static("application/zip")),
                (
                    CONTENT_DISPOSITION,
                    HeaderValue::from_static("attachment; filename=\"loreloom-sillytavern.zip\""),
                ),
                (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            ];
            (headers, bytes).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The files in one archive, which has the same bytes each time.
fn archive() -> Result<Vec<u8>, ZipError> {
    let mut names: Vec<_> = ExtensionFiles::iter().collect();
    names.sort_unstable();
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().last_modified_time(DateTime::default());
    for name in names {
        let Some(file) = ExtensionFiles::get(&name) else { continue };
        archive.start_file(format!("{FOLDER}/{name}"), options)?;
        archive.write_all(&file.data)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_zip_has_the_files_that_the_manifest_names_and_the_same_bytes_each_time() {
        let bytes = archive().unwrap();
        assert_eq!(bytes, archive().unwrap());
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let mut read = |name: &str| {
            let mut text = String::new();
            let mut file = archive.by_name(&format!("{FOLDER}/{name}")).unwrap();
            file.read_to_string(&mut text).unwrap();
            text
        };
        let manifest: serde_json::Value = serde_json::from_str(&read("manifest.json")).unwrap();
        for field in ["js", "css"] {
            let name = manifest[field].as_str().unwrap();
            assert!(!read(name).is_empty(), "{name}");
        }
        for name in manifest["i18n"].as_object().unwrap().values() {
            let texts: serde_json::Value =
                serde_json::from_str(&read(name.as_str().unwrap())).unwrap();
            assert!(texts.is_object(), "{name}");
        }
    }
}
