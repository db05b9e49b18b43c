//! The store suite over every store.

mod agreement;
mod damage;
mod damaged_log;
mod encrypted;
mod engine_story;
mod openers;
#[cfg(feature = "postgres")]
mod postgres_schema;
mod remembering;
mod size;
mod sqlite;
mod upkeep;

mod sqlite_file {
    use crate::openers::sqlite_file;

    loreloom_testkit::store_suite!(sqlite_file());
    loreloom_testkit::memory_suite!(sqlite_file());
}

mod sqlite_memory {
    use crate::openers::sqlite_memory;

    loreloom_testkit::store_suite!(sqlite_memory());
    loreloom_testkit::memory_suite!(sqlite_memory());
}

#[cfg(feature = "postgres")]
mod postgres {
    use crate::openers::postgres;

    loreloom_testkit::store_suite!(together postgres());
    loreloom_testkit::memory_suite!(together postgres());
}
