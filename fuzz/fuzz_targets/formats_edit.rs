//! An edited entry reads back, and the entries after it keep their bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loreloom_formats::{ExportOptions, Format, ImportOptions, export, import};

fuzz_target!(|bytes: &[u8]| {
    let options = ImportOptions::new("book");
    let Ok(imported) = import(bytes, &options) else { return };
    if imported.format == Format::Perchance {
        return;
    }
    let mut book = imported.book.clone();
    let Some(entry) = book.entries.first_mut() else { return };
    entry.content = "Edited.".to_owned();
    let writing = ExportOptions {
        card: imported.card.as_ref(),
        original: Some(bytes),
        ..ExportOptions::default()
    };
    let written = export(&book, imported.format, &writing).expect("what was read can be written");
    let again = import(&written.bytes, &options).expect("what was written can be read").book;
    assert_eq!(again.entries.len(), book.entries.len());
    assert_eq!(again.entries[0].content, "Edited.");
    for (found, wanted) in again.entries.iter().zip(&book.entries).skip(1) {
        assert_eq!(found.raw, wanted.raw);
    }
});
