//! Tokens that only `tokenizer_config.json` adds, as beside a SentencePiece `.model`, which cannot be changed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use gobo_types::TokenId;
use gobo_vocab::{BytePairEncoder, Token, TokenTable};

use super::folder::{AddedToken, ModelFolder};
use crate::ImportError;
use crate::checked::ID_LIMIT;
use crate::named_tokens::NamedTokens;

impl NamedTokens {
    /// Adds the tokens of the folder's configuration that the tokenizer file at `path` lacks. A token is special if
    /// either says so.
    ///
    /// # Errors
    /// [`ImportError::Contradiction`] if the file has the id for another token, or the token under another id;
    /// [`ImportError::IdTooLarge`]; [`ImportError::Token`].
    pub(crate) fn with_added(mut self, path: &Path, folder: &ModelFolder) -> Result<Self, ImportError> {
        let Some((config, added)) = &folder.added else { return Ok(self) };
        let new = self.new_tokens(path, config, added)?;
        if new.is_empty() {
            return Ok(self);
        }
        let failed = |source| ImportError::Token { path: config.clone(), source };
        let mut table = TokenTable::new();
        for (id, token) in (0..).zip(self.table.tokens()) {
            let token = new.get(&id).unwrap_or(token).clone();
            table.insert(id, token.bytes, token.special).map_err(failed)?;
        }
        // Changes nothing for an id that existed already.
        for (&id, token) in &new {
            table.insert(id, token.bytes.clone(), token.special).map_err(failed)?;
        }
        if let Some(encoder) = self.table.encoder() {
            // What a configuration adds is cut out of texts before the model sees them, as what the tokenizer file adds.
            let literals = new.iter().filter(|(_, token)| !token.special).map(|(&id, _)| id);
            let with_added = |encoder: &BytePairEncoder| {
                let mut encoder = encoder.clone();
                encoder.literals.extend(literals);
                encoder
            };
            table.set_encoder(encoder.map(with_added).map_err(str::to_owned));
        }
        self.names.extend(added.iter().map(|(&id, token)| (token.content.clone(), id)));
        self.names.sort_unstable_by(|(a, id_of_a), (b, id_of_b)| (id_of_a, a).cmp(&(id_of_b, b)));
        self.names.dedup();
        Ok(Self { table, ..self })
    }

    /// The tokens of the configuration that are new, or special only by it.
    fn new_tokens(
        &self,
        path: &Path,
        config: &Path,
        added: &BTreeMap<TokenId, AddedToken>,
    ) -> Result<BTreeMap<TokenId, Token>, ImportError> {
        let names: HashMap<TokenId, &str> =
            self.names.iter().map(|(name, id)| (*id, name.as_str())).collect();
        let ids: HashMap<&str, TokenId> = self.names.iter().map(|(name, id)| (name.as_str(), *id)).collect();
        let mut new = BTreeMap::new();
        for (&id, AddedToken { content, special }) in
            added.iter().filter(|(_, token)| !token.content.is_empty())
        {
            let contradicts = |found| {
                let (path, tokenizer, token) = (config.into(), path.into(), content.clone());
                Err(ImportError::Contradiction { path, tokenizer, id, token, found })
            };
            if u64::from(id) >= ID_LIMIT {
                let (token, limit) = (content.clone(), ID_LIMIT);
                return Err(ImportError::IdTooLarge { path: config.into(), token, id: id.into(), limit });
            }
            let present = self.table.tokens().get(id as usize);
            let present = present.filter(|token| !token.bytes.is_empty());
            let bytes = if *special { content.as_bytes().to_vec() } else { self.spelling.added(content) };
            match (names.get(&id), present) {
                (Some(name), _) if name != content => return contradicts(format!("{name:?}")),
                // The unknown token has no bytes, in either file.
                (Some(_), None) => continue,
                (None, _) if ids.contains_key(content.as_str()) => {
                    return contradicts(format!("it under id {}", ids[content.as_str()]));
                }
                (None, Some(token)) if token.bytes != bytes && token.bytes != content.as_bytes() => {
                    return contradicts(format!("{:?}", String::from_utf8_lossy(&token.bytes)));
                }
                _ => {}
            }
            if present.is_none_or(|token| *special && !token.special) {
                new.insert(id, Token { bytes, special: *special });
            }
        }
        Ok(new)
    }
}
