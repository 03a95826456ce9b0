//! Built-in vocabularies: the encodings whose ranks are part of the program.
//!
//! [`tiktoken`] has them, some 7 MB; without the feature `builtin` there is [`none`].

#[cfg(not(feature = "builtin"))]
mod none;
#[cfg(feature = "builtin")]
mod tiktoken;

use std::path::Path;

#[cfg(not(feature = "builtin"))]
pub(crate) use none::Encoding;
#[cfg(feature = "builtin")]
pub(crate) use tiktoken::Encoding;

use crate::model::ModelFolder;
use crate::{ImportOptions, Imported};

/// The names of the built-in vocabularies. Without the feature `builtin` there are none.
pub const BUILTIN: &[&str] =
    if cfg!(feature = "builtin") { &["o200k_base", "cl100k_base", "r50k_base"] } else { &[] };

/// The built-in vocabulary called `name`, `None` if there is none. `<|endoftext|>` ends a text.
///
/// The ranks are unpacked once per process, which takes a good part of a second for the largest.
pub fn builtin(name: &str) -> Option<Imported> {
    let tokens = Encoding::named(name)?.tokens();
    let imported = tokens.bind(Path::new(name), &ModelFolder::default(), &ImportOptions::default());
    Some(imported.expect("ids of built-in vocabularies are below their own length"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_there_and_nothing_else() {
        assert_eq!(BUILTIN.len(), if cfg!(feature = "builtin") { 3 } else { 0 });
        assert!(BUILTIN.iter().all(|name| builtin(name).is_some()));
        let others = ["gpt5", "", "p50k_base"].into_iter();
        let absent =
            ["o200k_base", "cl100k_base", "r50k_base"].into_iter().filter(|name| !BUILTIN.contains(name));
        assert!(others.chain(absent).all(|name| builtin(name).is_none()));
    }
}
