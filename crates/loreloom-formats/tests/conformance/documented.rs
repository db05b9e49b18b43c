//! The book for users names every format.

use std::{error::Error, fs, path::Path};

use loreloom_formats::Format;

#[test]
fn every_format_is_in_the_table_of_the_docs() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/books.md");
    #[expect(clippy::disallowed_methods, reason = "a test reads the documentation")]
    let text = fs::read_to_string(docs)?;
    let table: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    let named: Vec<&str> = table
        .iter()
        .filter_map(|row| row.split(" | ").next())
        .flat_map(|names| names.split('`'))
        .collect();
    for format in Format::ALL {
        assert!(named.contains(&format.as_str()), "`{format}` is not documented");
    }
    Ok(())
}
