use std::path::Path;

use gobo_types::{Binding, TokenId};
use gobo_vocab::TokenTable;

use crate::{ImportError, ImportOptions, Imported};

/// A token that ends a text, as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EosChoice {
    /// By id.
    Id(TokenId),
    /// By the name of a special or added token, `</s>` for instance.
    Text(String),
}

/// Names under which special tokens end a text in models that are widely served. `<|endofprompt|>`, padding and
/// beginning-of-text names are left out on purpose: after them the text goes on.
const WELL_KNOWN_EOS: [&str; 20] = [
    "<|endoftext|>",
    "</s>",
    "<eos>",
    "<EOS>",
    "[EOS]",
    "<|eos|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|EOT|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<end_of_turn>",
    "<|endofturn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|EOS_TOKEN|>",
    "<EOS_TOKEN>",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
];

/// A table and the names by which its control tokens can be asked for.
#[derive(Debug)]
pub(crate) struct NamedTokens {
    pub(crate) table: TokenTable,
    pub(crate) kind: &'static str,
    /// Special and added tokens, by name.
    pub(crate) names: Vec<(String, TokenId)>,
}

impl NamedTokens {
    /// Settles end-of-text ids and width.
    pub(crate) fn bind(self, path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
        let Self { table, kind, names } = self;
        let length = u32::try_from(table.tokens().len()).expect("a table has fewer than 2^32 ids");
        let logits_width = options.logits_width.unwrap_or(length);
        if logits_width < length {
            return Err(ImportError::WidthTooSmall {
                path: path.into(),
                logits_width,
                vocabulary_length: length,
            });
        }
        let mut eos = Vec::new();
        for choice in &options.eos {
            match choice {
                EosChoice::Id(id) => eos.push(*id),
                EosChoice::Text(name) => {
                    let before = eos.len();
                    eos.extend(names.iter().filter(|(found, _)| found == name).map(|(_, id)| *id));
                    if eos.len() == before {
                        return Err(ImportError::UnknownEos { path: path.into(), name: name.clone() });
                    }
                }
            }
        }
        if options.eos.is_empty() {
            let known = names.iter().filter(|(name, _)| WELL_KNOWN_EOS.contains(&name.as_str()));
            eos.extend(known.map(|(_, id)| *id));
        }
        let Binding { eos, logits_width } = Binding::new(eos, logits_width);
        match eos.last() {
            Some(&id) if id >= logits_width => {
                Err(ImportError::EosBeyondWidth { path: path.into(), id, logits_width })
            }
            _ => Ok(Imported { table, kind, eos, logits_width }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(eos: Vec<EosChoice>, logits_width: Option<u32>) -> Result<Imported, ImportError> {
        let mut table = TokenTable::new();
        table.insert(0, b"a".to_vec(), false).unwrap();
        table.insert(3, b"</s>".to_vec(), true).unwrap();
        table.insert(2, b"<|endofprompt|>".to_vec(), true).unwrap();
        let names = vec![("</s>".to_owned(), 3), ("<|endofprompt|>".to_owned(), 2)];
        NamedTokens { table, kind: "test", names }.bind(Path::new("t"), &ImportOptions { eos, logits_width })
    }

    #[test]
    fn names_and_widths_default_to_the_file() {
        let imported = bind(vec![], None).unwrap();
        assert_eq!((imported.eos, imported.logits_width), (vec![3], 4));
    }

    #[test]
    fn options_win_and_are_sorted() {
        let text = EosChoice::Text("<|endofprompt|>".into());
        let imported = bind(vec![EosChoice::Id(7), text.clone(), text], Some(8)).unwrap();
        assert_eq!((imported.eos, imported.logits_width), (vec![2, 7], 8));
    }

    #[test]
    fn impossible_bindings_are_refused() {
        let unknown = bind(vec![EosChoice::Text("a".into())], None).unwrap_err();
        assert!(matches!(unknown, ImportError::UnknownEos { name, .. } if name == "a"));
        let beyond = bind(vec![EosChoice::Id(4)], None).unwrap_err();
        assert!(matches!(beyond, ImportError::EosBeyondWidth { id: 4, logits_width: 4, .. }));
        let narrow = bind(vec![], Some(3)).unwrap_err();
        assert!(matches!(narrow, ImportError::WidthTooSmall { vocabulary_length: 4, .. }));
    }
}
