//! Any bytes: an error or a book that is written back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loreloom_formats::{RoundTrip, examine};

fuzz_target!(|bytes: &[u8]| {
    assert_ne!(examine(bytes, None).round_trip, RoundTrip::Differs);
});
