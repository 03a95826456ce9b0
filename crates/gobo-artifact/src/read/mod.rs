//! Opened files: [`Index`](crate::Index) and [`Vocabulary`](crate::Vocabulary), and the check of everything that they hold.

pub(crate) mod borders;
mod edges;
mod encoder;
mod encoder_spans;
pub(crate) mod index;
mod joined;
pub(crate) mod leaving;
mod verify_index;
mod verify_vocabulary;
pub(crate) mod vocabulary;
