use std::path::Path;

use gobo_types::{Binding, TokenId};
use gobo_vocab::TokenTable;

use crate::model_folder::ModelFolder;
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
    /// The end-of-text ids that the tokenizer file states by itself, as few formats do.
    pub(crate) eos: Vec<TokenId>,
    /// Number of logits, where the tokenizer file tells it by its padding.
    pub(crate) logits_width: Option<u32>,
}

impl NamedTokens {
    /// Tokens of a file that says no more of the model.
    pub(crate) fn new(table: TokenTable, kind: &'static str, names: Vec<(String, TokenId)>) -> Self {
        Self { table, kind, names, eos: Vec::new(), logits_width: None }
    }

    /// Settles end-of-text ids and width: options, then the model's folder, then the tokenizer file, then names.
    pub(crate) fn bind(
        self,
        path: &Path,
        folder: &ModelFolder,
        options: &ImportOptions,
    ) -> Result<Imported, ImportError> {
        let logits_width = self.width(path, folder, options)?;
        let (eos_path, eos) = if !options.eos.is_empty() {
            (path, self.resolve(path, folder, &options.eos)?)
        } else if let Some((path, eos)) = &folder.eos {
            (&**path, self.resolve(path, folder, eos)?)
        } else if !self.eos.is_empty() {
            (path, self.eos)
        } else {
            let known = self.names.iter().filter(|(name, _)| WELL_KNOWN_EOS.contains(&name.as_str()));
            (path, known.map(|(_, id)| *id).collect())
        };
        let Binding { eos, logits_width } = Binding::new(eos, logits_width);
        match eos.last() {
            Some(&id) if id >= logits_width => {
                Err(ImportError::EosBeyondWidth { path: eos_path.into(), id, logits_width })
            }
            _ => Ok(Imported { table: self.table, kind: self.kind, eos, logits_width }),
        }
    }

    fn width(&self, path: &Path, folder: &ModelFolder, options: &ImportOptions) -> Result<u32, ImportError> {
        let vocabulary_length =
            u32::try_from(self.table.tokens().len()).expect("a table has fewer than 2^32 ids");
        match (options.logits_width, &folder.logits_width) {
            (Some(logits_width), _) if logits_width < vocabulary_length => {
                Err(ImportError::WidthTooSmall { path: path.into(), logits_width, vocabulary_length })
            }
            (Some(logits_width), _) => Ok(logits_width),
            (None, Some((path, vocab_size))) if *vocab_size < vocabulary_length => {
                let vocab_size = *vocab_size;
                Err(ImportError::ConfigTooSmall { path: path.clone(), vocab_size, vocabulary_length })
            }
            (None, Some((_, vocab_size))) => Ok(*vocab_size),
            (None, None) => Ok(self.logits_width.unwrap_or_default().max(vocabulary_length)),
        }
    }

    /// The ids of what was asked for in the file at `path`.
    fn resolve(
        &self,
        path: &Path,
        folder: &ModelFolder,
        choices: &[EosChoice],
    ) -> Result<Vec<TokenId>, ImportError> {
        let mut ids = Vec::new();
        for choice in choices {
            match choice {
                EosChoice::Id(id) => ids.push(*id),
                EosChoice::Text(name) => {
                    let before = ids.len();
                    ids.extend(self.names.iter().filter(|(found, _)| found == name).map(|(_, id)| *id));
                    if ids.len() == before {
                        let id = folder.names.get(name);
                        let unknown = || ImportError::UnknownEos { path: path.into(), name: name.clone() };
                        ids.push(*id.ok_or_else(unknown)?);
                    }
                }
            }
        }
        Ok(ids)
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
        let options = ImportOptions { eos, logits_width, ..ImportOptions::default() };
        NamedTokens::new(table, "test", names).bind(Path::new("t"), &ModelFolder::default(), &options)
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
