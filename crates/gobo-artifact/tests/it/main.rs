//! The reader over files that were compiled as any other: at its edges, on damaged and hostile bytes, and beside the pages
//! that describe the format.
#![expect(clippy::unwrap_used, reason = "test code")]

mod batch;
mod drafts;
mod example;
mod format_dump;
mod matcher;
mod no_allocation;
mod recursion_page;
mod robust;
mod transitions;
