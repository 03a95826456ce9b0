//! gobo's reader for C: `include/gobo.h`, `libgobo.so` and `libgobo.a`.
//!
//! A program finds an index in a store of its host and asks a matcher for masks; nothing here compiles, and nothing calls a
//! daemon. The functions of the header stand in `ffi.rs`, which turns pointers into references and leaves the work to the other
//! modules. All unsafe code is there:
//!
//! | module | what it has |
//! |---|---|
//! | `status` | the statuses, the message of a thread's last failure, and the border that no panic crosses |
//! | `arguments` | what must not be NULL, and places for results |
//! | `structs` | the structures that C fills in and reads |
//! | `constraint` | a constraint from its JSON |
//! | `find` | stores, vocabularies and indices |
//! | `matcher` | matchers |
//! | `ffi` | the functions |

mod arguments;
mod constraint;
mod ffi;
mod find;
mod matcher;
mod status;
mod structs;

pub use ffi::*;
pub use find::{gobo_index, gobo_store, gobo_vocabulary};
pub use matcher::gobo_matcher;
pub use status::gobo_status;
pub use structs::{GOBO_ABI_VERSION, gobo_binding, gobo_index_facts, gobo_vocabulary_facts};

#[cfg(test)]
mod tests {
    use super::*;

    /// What the header says of threads.
    #[test]
    fn handles_may_go_from_thread_to_thread() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<gobo_store>();
        is_shared::<gobo_vocabulary>();
        is_shared::<gobo_index>();
        is_shared::<gobo_matcher>();
    }
}
