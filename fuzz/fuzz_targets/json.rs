#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    if loreloom_fuzz::run("json", bytes) { Corpus::Keep } else { Corpus::Reject }
});
