//! A book crosses to a card, which keeps everything, and to formats that do not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loreloom_formats::{ExportOptions, Format, ImportOptions, export, import};

fuzz_target!(|bytes: &[u8]| {
    let options = ImportOptions::new("book");
    let Ok(imported) = import(bytes, &options) else { return };
    for format in Format::ALL {
        let writing = ExportOptions { card: imported.card.as_ref(), ..ExportOptions::default() };
        let written = export(&imported.book, *format, &writing).expect("every format can be written");
        if *format != Format::CardV3 || imported.format == Format::CardV3 {
            continue;
        }
        let again = import(&written.bytes, &options).expect("a card can be read").book;
        assert_eq!(again.entries.len(), imported.book.entries.len());
        for (found, wanted) in again.entries.iter().zip(&imported.book.entries) {
            assert_eq!(found.content, wanted.content);
            assert_eq!(found.activation, wanted.activation);
            assert_eq!(found.placement, wanted.placement);
        }
    }
});
