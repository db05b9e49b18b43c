//! Stores of stories: SQLite, in a file or in memory, and PostgreSQL, behind
//! [`loreloom_ports::StoryStore`].
//!
//! Both behave alike, to the byte; one suite (`loreloom_testkit::store_suite`) tests each. They share their tables (`rows`) and the `codec` that keeps turns small: a prompt
//! repeats the whole story on every turn, so it is stored as references to messages and texts.
//!
//! ```
//! use loreloom_core::{ids::TenantId, units::Timestamp};
//! use loreloom_ports::{StoreError, StoryStore};
//! use loreloom_store::SqliteStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), StoreError> {
//! let store = SqliteStore::in_memory()?;
//! let tenant = TenantId::local();
//! store.open_chat(&tenant, &"harbour".into(), "The harbour", Timestamp(0)).await?;
//! assert_eq!(store.chats(&tenant).await?[0].chat.title, "The harbour");
//! # Ok(())
//! # }
//! ```

mod address;
mod codec;
pub mod doctor;
mod documents;
mod errors;
mod memory_writes;
#[cfg(feature = "postgres")]
mod postgres;
pub mod private;
mod recent_paths;
mod recent_states;
mod retention;
mod rows;
mod schema;
mod spill;
mod sqlite;
mod undo;

use loreloom_ports::history::{checks, fold};

#[cfg(feature = "postgres")]
pub use self::postgres::PostgresStore;
pub use self::{
    address::StoreAddress,
    spill::SpillFile,
    sqlite::{Diagnosis, Salvage, SqliteStore},
    undo::counting,
};
