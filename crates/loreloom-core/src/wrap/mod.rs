//! Wraps each entry in marks, so that readers of the prompt (the model, a log, another program)
//! can separate the entries.
//!
//! Entries are wrapped one by one before they are joined, so line breaks, blank lines and equal
//! names cause no problem. The result can be read back: marks inside an entry's text are escaped,
//! and a custom template that could not be read back is refused. It costs tokens, which the budget
//! counts.

mod escape;
mod facts;
mod field;
mod format;
mod frame;
mod marker;
mod read;
mod strip;
mod tag;
mod template;
mod write;

pub(crate) use self::{facts::fields_of, write::Wrapping};
pub use self::{
    field::{FieldValue, WrapField, WrapFields},
    format::{WrapFormat, WrapFormatError, XmlDetail},
    read::{Segment, Unwrapped, unwrap},
    strip::{strip, strip_echo},
    template::{Template, TemplateError},
    write::wrap,
};
