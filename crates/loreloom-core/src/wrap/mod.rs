//! Wrapping lore: each entry between marks of its own, so that whoever reads the prompt
//! (the model, a log, another program) can tell one entry from the next.
//!
//! Entries are wrapped one by one before they are joined, so many lines, blank lines and
//! equal names are no difficulty. What is written can be read back: marks inside an
//! entry's text are escaped, and a custom template from which entries could not be found
//! again is refused. The cost is tokens, which the budget counts.

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
