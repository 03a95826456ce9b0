//! What the files beside a tokenizer say of the model: where its texts end and how many logits it puts out.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gobo_types::TokenId;
use serde_json::Value;

use crate::ImportError;
use crate::binding::EosChoice;
use crate::source::read_text;

/// Largest file beside a tokenizer that is read, 64 MiB.
const MAX_SIDE_FILE_BYTES: u64 = 64 << 20;

/// What a model folder says, its files in order of precedence.
#[derive(Debug, Default)]
pub(crate) struct ModelFolder {
    /// The first file that says how texts end, and what it says.
    pub(crate) eos: Option<(PathBuf, Vec<EosChoice>)>,
    /// `config.json` and its number of logits.
    pub(crate) logits_width: Option<(PathBuf, u32)>,
    /// Names that `tokenizer_config.json` gives to ids.
    pub(crate) names: BTreeMap<String, TokenId>,
}

impl ModelFolder {
    /// Reads those files that are there.
    ///
    /// # Errors
    /// [`ImportError::Field`] for a value of a wrong type, and the variants for what is not JSON.
    pub(crate) fn read(folder: &Path) -> Result<Self, ImportError> {
        let mut found = Self::default();
        for name in
            ["generation_config.json", "config.json", "tokenizer_config.json", "special_tokens_map.json"]
        {
            let Some(file) = SideFile::open(folder.join(name))? else { continue };
            let eos = match name {
                "generation_config.json" => file.ids("", "eos_token_id")?,
                "config.json" => {
                    let width = first_of(|object| file.width(object))?;
                    found.logits_width = width.map(|width| (file.path.clone(), width));
                    first_of(|object| file.ids(object, "eos_token_id"))?
                }
                "tokenizer_config.json" => {
                    found.names = file.added_tokens()?;
                    file.name()?
                }
                _ => file.name()?,
            };
            if let (None, Some(eos)) = (&found.eos, eos) {
                found.eos = Some((file.path, eos));
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
    /// `None` if there is no such file.
    fn open(path: PathBuf) -> Result<Option<Self>, ImportError> {
        let text = match read_text(&path, MAX_SIDE_FILE_BYTES) {
            Err(ImportError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let value: Value =
            serde_json::from_str(&text).map_err(|source| ImportError::from_json(&path, &text, source))?;
        let file = Self { path, value };
        if !file.value.is_object() {
            return Err(file.wrong("(whole file)", &file.value, "an object"));
        }
        Ok(Some(file))
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

    /// An id or a list of ids; an empty list says nothing.
    fn ids(&self, object: &str, name: &str) -> Result<Option<Vec<EosChoice>>, ImportError> {
        let Some((path, value)) = self.field(object, name)? else { return Ok(None) };
        let id = |value: &Value| {
            let id = value.as_u64().and_then(|id| TokenId::try_from(id).ok());
            id.map(EosChoice::Id).ok_or_else(|| self.wrong(&path, value, "a token id or a list of token ids"))
        };
        let ids = match value {
            Value::Array(values) => values.iter().map(id).collect::<Result<Vec<_>, _>>()?,
            value => vec![id(value)?],
        };
        Ok(Some(ids).filter(|ids| !ids.is_empty()))
    }

    /// `eos_token`: a name, or an object with the name as its `content`.
    fn name(&self) -> Result<Option<Vec<EosChoice>>, ImportError> {
        let Some((path, value)) = self.field("", "eos_token")? else { return Ok(None) };
        let name = match value {
            Value::Object(fields) => fields.get("content").and_then(Value::as_str),
            value => value.as_str(),
        };
        let name =
            name.ok_or_else(|| self.wrong(&path, value, "a name, or an object with a name as its content"))?;
        Ok(Some(vec![EosChoice::Text(name.to_owned())]))
    }

    /// `added_tokens_decoder`: from ids, as strings, to objects with a `content`.
    fn added_tokens(&self) -> Result<BTreeMap<String, TokenId>, ImportError> {
        const FIELD: &str = "added_tokens_decoder";
        let mut names = BTreeMap::new();
        let Some((_, value)) = self.field("", FIELD)? else { return Ok(names) };
        let Value::Object(tokens) = value else {
            return Err(self.wrong(FIELD, value, "an object from ids to tokens"));
        };
        for (id, token) in tokens {
            let entry = id.parse().ok().zip(token.get("content").and_then(Value::as_str));
            let Some((id, name)) = entry else {
                return Err(self.wrong(
                    &format!("{FIELD}.{id}"),
                    token,
                    "a token id with an object that has a content",
                ));
            };
            names.insert(name.to_owned(), id);
        }
        Ok(names)
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

/// What the configuration says itself, else that of its language model: models of several media nest it.
fn first_of<T>(
    read: impl Fn(&'static str) -> Result<Option<T>, ImportError>,
) -> Result<Option<T>, ImportError> {
    Ok(read("")?.or(read("text_config")?))
}

/// A value as JSON, cut to what a person reads in one line.
fn shortened(value: &Value) -> String {
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(60) {
        text.truncate(end);
        text.push('…');
    }
    text
}
