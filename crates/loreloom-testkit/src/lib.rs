//! Development only: what the tests of every crate share.
//!
//! [`model_server`] is a scripted model server on loopback. Tests talk to it as they would
//! to a real one, and say beforehand how it behaves: slow, broken, cut off in the middle of
//! a character.

pub mod model_server;
