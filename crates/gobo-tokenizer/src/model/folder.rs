//! The files beside a tokenizer: which tokens have a role in the model's texts, which were added, and how many logits it has.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gobo_types::TokenId;
use serde_json::Value;

use crate::ImportError;
use crate::file::read_text;
use crate::role::{ByRole, TokenChoice, TokenRole};

/// Largest file beside a tokenizer that is read, 16 MiB. It is kept as a tree, which takes many times as much memory.
const MAX_SIDE_FILE_BYTES: u64 = 16 << 20;

/// A token of `added_tokens_decoder`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AddedToken {
    pub(crate) content: String,
    pub(crate) special: bool,
}

/// The facts of a model folder, from its files in order of precedence.
#[derive(Debug, Default)]
pub(crate) struct ModelFolder {
    /// For each role, the first file that gives it to tokens, and to which.
    pub(crate) roles: ByRole<Option<(PathBuf, Vec<TokenChoice>)>>,
    /// `config.json` and its number of logits.
    pub(crate) logits_width: Option<(PathBuf, u32)>,
    /// `tokenizer_config.json` and the tokens that it adds, by id.
    pub(crate) added: Option<(PathBuf, BTreeMap<TokenId, AddedToken>)>,
}

/// The files beside a tokenizer, in order of precedence.
const FILE_NAMES: [&str; 4] =
    ["generation_config.json", "config.json", "tokenizer_config.json", "special_tokens_map.json"];

/// The text of a file beside a tokenizer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SideText {
    pub(crate) path: PathBuf,
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

impl SideText {
    /// Reads those that are there.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<Self>, ImportError> {
        let mut found = Vec::new();
        for name in FILE_NAMES {
            let path = folder.join(name);
            match read_text(&path, MAX_SIDE_FILE_BYTES) {
                Err(ImportError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                text => found.push(Self { text: text?, path, name }),
            }
        }
        Ok(found)
    }
}

impl ModelFolder {
    /// What the files say.
    ///
    /// # Errors
    /// [`ImportError::Field`] for a value of a wrong type, and the variants for files that are not JSON.
    pub(crate) fn of(files: &[SideText]) -> Result<Self, ImportError> {
        let mut found = Self::default();
        for file in files {
            let name = file.name;
            let file = SideFile::of(file)?;
            match name {
                "config.json" => {
                    let width = first_of(|object| file.width(object))?;
                    found.logits_width = width.map(|width| (file.path.clone(), width));
                }
                "tokenizer_config.json" => {
                    found.added = file.added_tokens()?.map(|added| (file.path.clone(), added));
                }
                _ => {}
            }
            for (role, short) in [(TokenRole::Eos, "eos"), (TokenRole::Bos, "bos"), (TokenRole::Pad, "pad")] {
                let asked = match name {
                    "generation_config.json" => file.ids("", &format!("{short}_token_id"))?,
                    "config.json" => first_of(|object| file.ids(object, &format!("{short}_token_id")))?,
                    _ => file.name(&format!("{short}_token"))?,
                };
                let role = found.roles.get_mut(role);
                if let (None, Some(asked)) = (&role, asked) {
                    *role = Some((file.path.clone(), asked));
                }
            }
        }
        Ok(found)
    }
}

/// A JSON object from a file.
struct SideFile {
    path: PathBuf,
    value: Value,
}

impl SideFile {
    fn of(SideText { path, text, .. }: &SideText) -> Result<Self, ImportError> {
        let value: Value =
            serde_json::from_str(text).map_err(|source| ImportError::from_json(path, text, source))?;
        let file = Self { path: path.clone(), value };
        if !file.value.is_object() {
            return Err(file.wrong("(whole file)", &file.value, "an object"));
        }
        Ok(file)
    }

    /// A field of the object called `object`, of the file itself if that is empty. `null` is like nothing.
    fn field(&self, object: &str, name: &str) -> Result<Option<(String, &Value)>, ImportError> {
        let (parent, path) = if object.is_empty() {
            (Some(&self.value), name.to_owned())
        } else {
            (self.value.get(object).filter(|value| !value.is_null()), format!("{object}.{name}"))
        };
        match parent {
            Some(Value::Object(fields)) => {
                Ok(fields.get(name).filter(|value| !value.is_null()).map(|value| (path, value)))
            }
            Some(other) => Err(self.wrong(object, other, "an object")),
            None => Ok(None),
        }
    }

    fn width(&self, object: &str) -> Result<Option<u32>, ImportError> {
        let Some((path, value)) = self.field(object, "vocab_size")? else { return Ok(None) };
        let width = value.as_u64().and_then(|width| u32::try_from(width).ok());
        width.map(Some).ok_or_else(|| self.wrong(&path, value, "a number of logits"))
    }

    /// An id or a list of ids; an empty list counts as none, and so does the -1 of older files.
    fn ids(&self, object: &str, name: &str) -> Result<Option<Vec<TokenChoice>>, ImportError> {
        let Some((path, value)) = self.field(object, name)? else { return Ok(None) };
        let id = |value: &Value| {
            let id = value.as_u64().and_then(|id| TokenId::try_from(id).ok());
            id.map(TokenChoice::Id)
                .ok_or_else(|| self.wrong(&path, value, "a token id or a list of token ids"))
        };
        let ids = match value {
            Value::Array(values) => values.iter().map(id).collect::<Result<Vec<_>, _>>()?,
            value if value.as_i64() == Some(-1) => Vec::new(),
            value => vec![id(value)?],
        };
        Ok(Some(ids).filter(|ids| !ids.is_empty()))
    }

    /// A name, or an object with the name as its `content`.
    fn name(&self, field: &str) -> Result<Option<Vec<TokenChoice>>, ImportError> {
        let Some((path, value)) = self.field("", field)? else { return Ok(None) };
        let name = match value {
            Value::Object(fields) => fields.get("content").and_then(Value::as_str),
            value => value.as_str(),
        };
        let name =
            name.ok_or_else(|| self.wrong(&path, value, "a name, or an object with a name as its content"))?;
        Ok(Some(vec![TokenChoice::Text(name.to_owned())]))
    }

    /// `added_tokens_decoder`: from ids, as strings, to objects with a `content`, and `special` where it is true.
    fn added_tokens(&self) -> Result<Option<BTreeMap<TokenId, AddedToken>>, ImportError> {
        const FIELD: &str = "added_tokens_decoder";
        let Some((_, value)) = self.field("", FIELD)? else { return Ok(None) };
        let Value::Object(tokens) = value else {
            return Err(self.wrong(FIELD, value, "an object from ids to tokens"));
        };
        let mut added = BTreeMap::new();
        for (id, token) in tokens {
            let special = match token.get("special") {
                None | Some(Value::Null) => Some(false),
                Some(special) => special.as_bool(),
            };
            let content = token.get("content").and_then(Value::as_str);
            let (Ok(number), Some(content), Some(special)) = (id.parse(), content, special) else {
                return Err(self.wrong(
                    &format!("{FIELD}.{id}"),
                    token,
                    "a token id with an object that has a content, and special true or false",
                ));
            };
            added.insert(number, AddedToken { content: content.to_owned(), special });
        }
        Ok(Some(added))
    }

    fn wrong(&self, field: &str, found: &Value, expected: &'static str) -> ImportError {
        ImportError::Field {
            path: self.path.clone(),
            field: field.to_owned(),
            found: shortened(found),
            expected,
        }
    }
}

/// The value of the configuration itself, else that of its language model: models of several media nest it.
fn first_of<T>(
    read: impl Fn(&'static str) -> Result<Option<T>, ImportError>,
) -> Result<Option<T>, ImportError> {
    Ok(read("")?.or(read("text_config")?))
}

/// A value as JSON, cut to one line.
fn shortened(value: &Value) -> String {
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(60) {
        text.truncate(end);
        text.push('…');
    }
    text
}
