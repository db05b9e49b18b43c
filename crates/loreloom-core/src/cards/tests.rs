//! Properties of the whole dialect.
