//! How texts are written by tokens: by special ones, by classes of them, and in which segmentation.

mod special_text;
mod token_classes;
mod tokenization;

pub use special_text::{SpecialText, SpecialTextError};
pub use token_classes::{IdRange, NamedClass, NamedClasses};
pub use tokenization::{Tokenization, TokenizationError};
