//! Vectors, mostly without a model server: a table of word pieces that is part of the binary.
//!
//! Each piece of a text has a vector; the text's vector is their mean. The table was
//! distilled from a sentence transformer (see `assets/README.md`). It knows no word order
//! and little beyond English, but it costs microseconds and needs nothing installed.

mod http;
mod static_table;
mod table_file;
mod wordpiece;

pub use self::{
    http::{HttpEmbedder, OpenError},
    static_table::StaticEmbedder,
    table_file::TableError,
    wordpiece::{Piece, WordPiece},
};
