//! The digests of schemas by their texts.

use gobo_types::{ConstraintDigest, Recent, SchemaOptions};

/// Most texts that are remembered.
const MAX_TEXTS: usize = 512;

/// Longest text that is remembered, in bytes. Of longer ones the digest is derived each time.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// The digests of schemas by the text that they were given as. An engine gets the same few texts with every request, and
/// comparing one is much cheaper than dropping its whitespace and hashing the rest.
#[derive(Debug)]
pub(crate) struct SchemaDigests(Recent<(Box<str>, SchemaOptions), ConstraintDigest>);

impl Default for SchemaDigests {
    fn default() -> Self {
        Self(Recent::new(MAX_TEXTS, MAX_TEXTS * MAX_TEXT_BYTES))
    }
}

impl SchemaDigests {
    /// The digest of a text under options, derived by `derive` where it is not known.
    pub(crate) fn digest(
        &self,
        text: &str,
        options: &SchemaOptions,
        derive: impl FnOnce() -> ConstraintDigest,
    ) -> ConstraintDigest {
        if text.len() > MAX_TEXT_BYTES || !options.documents.is_empty() {
            return derive();
        }
        let place = self.0.slot(text);
        let known = self.0.get(place, |(kept, under)| **kept == *text && *under == *options);
        known.unwrap_or_else(|| {
            let digest = derive();
            self.0.keep(place, (text.into(), options.clone()), text.len(), digest);
            digest
        })
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{Constraint, Draft};

    use super::*;

    #[test]
    fn a_text_is_derived_once_for_each_set_of_options() {
        let texts = SchemaDigests::default();
        let mut derived = 0;
        let mut digest = |text: &str, options: &SchemaOptions| {
            texts.digest(text, options, || {
                derived += 1;
                Constraint::schema(text, options.clone()).digest()
            })
        };
        let (one, other) = (
            SchemaOptions::default(),
            SchemaOptions { draft: Some(Draft::Draft7), ..SchemaOptions::default() },
        );
        let first = digest("{}", &one);
        assert_eq!(first, digest("{}", &one));
        assert_ne!(first, digest("{}", &other));
        assert_eq!(first, digest(" {}", &one), "another text of the same schema");
        assert_ne!(first, digest("true", &one));
        assert_eq!(derived, 4);
    }

    #[test]
    fn it_stays_small() {
        let texts = SchemaDigests::default();
        let options = SchemaOptions::default();
        let derives = |text: &str| {
            let mut derived = false;
            texts.digest(text, &options, || {
                derived = true;
                Constraint::regex("a").digest()
            });
            derived
        };
        for nth in 0..=MAX_TEXTS {
            assert!(derives(&nth.to_string()));
        }
        assert!(derives("0"), "one more than it holds made it forget the others");
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        assert!(derives(&long) && derives(&long), "too long to be remembered");
    }
}
