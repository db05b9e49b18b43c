//! Chats of a front end, and whether they are recognised.

mod changed_texts;
mod chats;
mod front_end;
mod generations;
mod injected;
mod other_process;
mod random;
