//! The functions of the header, called from Rust and from C programs: what they answer is what the reader answers in Rust, and no
//! argument makes them crash.
#![expect(unsafe_code, reason = "the functions take pointers, as C gives them")]
#![expect(
    clippy::unwrap_used,
    reason = "all of this binary is test code, also what stands outside of test functions"
)]

mod c_programs;
mod fixture;
mod header;
mod hostile;
mod llama;
mod masks;
