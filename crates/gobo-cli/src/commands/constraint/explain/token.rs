//! The token that a person asks about, by its id or by its text.
use anyhow::anyhow;
use gobo_artifact::Vocabulary;

/// The id of `token`, which is an id if it is a number and a text otherwise, or of `text`, which is always a text. Of several
/// tokens with the same bytes the first, an ordinary one before a special one. O(ids).
pub(super) fn token_of(
    vocabulary: &Vocabulary,
    token: Option<&str>,
    text: Option<&str>,
) -> anyhow::Result<Option<u32>> {
    let text = match (token.map(str::parse), token.or(text)) {
        (Some(Ok(id)), _) => return Ok(Some(id)),
        (_, None) => return Ok(None),
        (_, Some(text)) => text,
    };
    let ids = || (0..vocabulary.len()).filter(|&id| !vocabulary.bytes(id).is_empty());
    let mut called = ids().filter(|&id| vocabulary.bytes(id) == text.as_bytes());
    let first = called.next();
    if let Some(first) = first {
        let ordinary = std::iter::once(first).chain(called).find(|&id| !vocabulary.is_special(id));
        return Ok(ordinary.or(Some(first)));
    }
    let begins = |&id: &u32| text.as_bytes().starts_with(vocabulary.bytes(id)) && !vocabulary.is_special(id);
    let longest = ids().filter(begins).max_by_key(|&id| (vocabulary.bytes(id).len(), std::cmp::Reverse(id)));
    let hint = longest.map_or_else(String::new, |id| {
        let bytes = String::from_utf8_lossy(vocabulary.bytes(id));
        format!("\nhint: its longest beginning that is one is {bytes:?}, token {id}")
    });
    Err(anyhow!("no token of the vocabulary is {text:?}{hint}"))
}
