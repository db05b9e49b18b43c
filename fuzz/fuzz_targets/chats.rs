//! Any bytes as a chat: an error or messages.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loreloom_formats::{Limits, chat::import_chat};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(chat) = import_chat(bytes, &Limits::default()) {
        for message in chat.messages {
            assert!(message.swipes.is_empty() || message.chosen < message.swipes.len());
        }
    }
});
