//! Settles how a model uses its vocabulary: the ids with a role, and the number of logits.
//!
//! The first source wins: options, the model's folder, the tokenizer file, well-known names.

use std::path::Path;

use gobo_types::{Binding, TokenId};

use super::ModelFolder;
use crate::ImportError;
use crate::imported::{ImportOptions, Imported};
use crate::named_tokens::NamedTokens;
use crate::role::{ByRole, TokenChoice, TokenRole};

/// Names of special tokens in widely served models. `<|endofprompt|>` is deliberately not among those that end a text: the text
/// goes on after it. `<|endoftext|>` begins texts in some models and pads in others; only their folders say so.
const WELL_KNOWN: ByRole<&[&str]> = ByRole {
    eos: &[
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
    ],
    bos: &[
        "<s>",
        "<bos>",
        "<BOS>",
        "[BOS]",
        "<|bos|>",
        "<|begin_of_text|>",
        "<|startoftext|>",
        "<BOS_TOKEN>",
        "<\u{ff5c}begin\u{2581}of\u{2581}sentence\u{ff5c}>",
    ],
    pad: &[
        "<pad>",
        "<PAD>",
        "[PAD]",
        "<|pad|>",
        "<|padding|>",
        "<|finetune_right_pad_id|>",
        "<\u{ff5c}\u{2581}pad\u{2581}\u{ff5c}>",
    ],
};

impl NamedTokens {
    /// Settles roles and width: options, then the model's folder, then the tokenizer file, then well-known names.
    pub(crate) fn bind(
        self,
        path: &Path,
        folder: &ModelFolder,
        options: &ImportOptions,
    ) -> Result<Imported, ImportError> {
        let width = self.width(path, folder, options)?;
        let ids = |role, asked: &[TokenChoice]| self.ids(role, asked, path, folder, width);
        let eos = ids(TokenRole::Eos, &options.eos)?;
        let bos = ids(TokenRole::Bos, options.bos.as_slice())?.first().copied();
        let pad = ids(TokenRole::Pad, options.pad.as_slice())?.first().copied();
        let Binding { eos, logits_width, .. } = Binding::new(eos, width);
        Ok(Imported { table: self.table, kind: self.kind, eos, bos, pad, logits_width })
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

    /// The ids with `role`, from the first source that has any: `asked`, the folder, the file at `path`, known names.
    fn ids(
        &self,
        role: TokenRole,
        asked: &[TokenChoice],
        path: &Path,
        folder: &ModelFolder,
        logits_width: u32,
    ) -> Result<Vec<TokenId>, ImportError> {
        let (path, ids) = if !asked.is_empty() {
            (path, self.resolve(role, path, asked)?)
        } else if let Some((path, asked)) = folder.roles.get(role) {
            (&**path, self.resolve(role, path, asked)?)
        } else if !self.stated.get(role).is_empty() {
            (path, self.stated.get(role).clone())
        } else {
            let known = self.names.iter().filter(|(name, _)| WELL_KNOWN.get(role).contains(&name.as_str()));
            (path, known.map(|(_, id)| *id).collect())
        };
        match ids.iter().max() {
            Some(&id) if id >= logits_width => {
                Err(ImportError::BeyondWidth { path: path.into(), role, id, logits_width })
            }
            _ => Ok(ids),
        }
    }

    /// The ids of `choices`, which the file at `path` names.
    fn resolve(
        &self,
        role: TokenRole,
        path: &Path,
        choices: &[TokenChoice],
    ) -> Result<Vec<TokenId>, ImportError> {
        let mut ids = Vec::new();
        for choice in choices {
            match choice {
                TokenChoice::Id(id) => ids.push(*id),
                TokenChoice::Text(name) => {
                    let before = ids.len();
                    ids.extend(self.names.iter().filter(|(found, _)| found == name).map(|(_, id)| *id));
                    if ids.len() == before {
                        return Err(ImportError::UnknownName { path: path.into(), role, name: name.clone() });
                    }
                }
            }
        }
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use gobo_vocab::TokenTable;

    use super::*;
    use crate::bytes::Spelling;

    fn bind(eos: Vec<TokenChoice>, logits_width: Option<u32>) -> Result<Imported, ImportError> {
        bind_with(&ImportOptions { eos, logits_width, ..ImportOptions::default() })
    }

    fn bind_with(options: &ImportOptions) -> Result<Imported, ImportError> {
        let mut table = TokenTable::new();
        table.insert(0, b"a".to_vec(), false).unwrap();
        table.insert(3, b"</s>".to_vec(), true).unwrap();
        table.insert(2, b"<|endofprompt|>".to_vec(), true).unwrap();
        table.insert(1, b"<pad>".to_vec(), true).unwrap();
        let names = [("</s>", 3), ("<|endofprompt|>", 2), ("<pad>", 1)];
        let names = names.map(|(name, id)| (name.to_owned(), id)).to_vec();
        NamedTokens::new(table, "test", Spelling::ByteLevel, names).bind(
            Path::new("t"),
            &ModelFolder::default(),
            options,
        )
    }

    #[test]
    fn names_and_widths_default_to_the_file() {
        let imported = bind(vec![], None).unwrap();
        assert_eq!((imported.bos, imported.pad), (None, Some(1)));
        assert_eq!((imported.eos, imported.logits_width), (vec![3], 4));
    }

    #[test]
    fn options_win_and_are_sorted() {
        let text = TokenChoice::Text("<|endofprompt|>".into());
        let imported = bind(vec![TokenChoice::Id(7), text.clone(), text], Some(8)).unwrap();
        assert_eq!((imported.eos, imported.logits_width), (vec![2, 7], 8));
    }

    #[test]
    fn impossible_bindings_are_refused() {
        let unknown = bind(vec![TokenChoice::Text("a".into())], None).unwrap_err();
        assert!(
            matches!(unknown, ImportError::UnknownName { name, role: TokenRole::Eos, .. } if name == "a")
        );
        let beyond = bind(vec![TokenChoice::Id(4)], None).unwrap_err();
        assert!(matches!(beyond, ImportError::BeyondWidth { id: 4, logits_width: 4, .. }));
        let narrow = bind(vec![], Some(3)).unwrap_err();
        assert!(matches!(narrow, ImportError::WidthTooSmall { vocabulary_length: 4, .. }));
    }

    #[test]
    fn beginning_and_padding_are_settled_like_the_end() {
        let text = |name: &str| Some(TokenChoice::Text(name.into()));
        let options =
            ImportOptions { bos: text("</s>"), pad: Some(TokenChoice::Id(0)), ..Default::default() };
        let imported = bind_with(&options).unwrap();
        assert_eq!((imported.bos, imported.pad, &*imported.eos), (Some(3), Some(0), &[3][..]));
        assert_eq!(imported.binding(), Binding { bos: Some(3), pad: Some(0), ..Binding::new(vec![3], 4) });
        let unknown = bind_with(&ImportOptions { pad: text("x"), ..Default::default() }).unwrap_err();
        assert!(matches!(unknown, ImportError::UnknownName { role: TokenRole::Pad, .. }));
        let beyond = ImportOptions { bos: Some(TokenChoice::Id(4)), ..Default::default() };
        let beyond = bind_with(&beyond).unwrap_err();
        assert!(matches!(beyond, ImportError::BeyondWidth { role: TokenRole::Bos, id: 4, .. }));
    }
}
