//! Two versions of a book: merging what did not change changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loreloom_formats::{
    ImportOptions,
    diff::{diff, merge},
    import,
};

fuzz_target!(|files: (&[u8], &[u8])| {
    let options = ImportOptions::new("book");
    let (Ok(old), Ok(new)) = (import(files.0, &options), import(files.1, &options)) else { return };
    let (old, new) = (old.book, new.book);
    assert!(diff(&old, &old).is_empty());
    let merged = merge(&old, &old, &new);
    assert!(merged.conflicts.is_empty());
    let merged = merge(&old, &new, &old);
    assert!(merged.conflicts.is_empty());
    assert_eq!(merged.book.entries, new.entries);
});
