//! How a model uses its tokenizer: the files beside it, the tokens that they add, and the default binding.
//!
//! [`folder`] reads the files, [`added_tokens`] and [`binding`] apply them to the tokens of a format. This floor does not know
//! where those come from.

mod added_tokens;
mod binding;
mod folder;

pub(crate) use folder::{ModelFolder, SideText};
