//! Classes of tokens with names, such as the images of a model that writes them: some token begins one, others fill it, and some token ends it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Budget, CompileError, RefusalKind, TokenId};

/// Steps and bytes of a range of ids that is sorted among those of its class.
const STEPS_PER_RANGE: u64 = 8;
const BYTES_PER_RANGE: u64 = 24;

/// The ids from one to another, both in it. As JSON a number, or two in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "NumberOrPair", into = "NumberOrPair")]
pub struct IdRange {
    /// The first one.
    pub first: TokenId,
    /// The last one.
    pub last: TokenId,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NumberOrPair {
    Number(TokenId),
    Pair(TokenId, TokenId),
}

impl From<NumberOrPair> for IdRange {
    fn from(written: NumberOrPair) -> Self {
        match written {
            NumberOrPair::Number(id) => Self { first: id, last: id },
            NumberOrPair::Pair(first, last) => Self { first, last },
        }
    }
}

impl From<IdRange> for NumberOrPair {
    fn from(IdRange { first, last }: IdRange) -> Self {
        if first == last { Self::Number(first) } else { Self::Pair(first, last) }
    }
}

/// A class of tokens: a sequence of one token that begins it, some that fill it, and one that ends it. A part without ids is left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedClass {
    /// The ids that begin it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begin: Vec<IdRange>,
    /// The ids that fill it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fill: Vec<IdRange>,
    /// Least number of tokens that fill it.
    #[serde(default = "one")]
    pub min: u32,
    /// Most number of them; none: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// The ids that end it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub end: Vec<IdRange>,
}

fn one() -> u32 {
    1
}

impl NamedClass {
    /// Its parts that have ids, in their order: the word for each, its ids, and how many tokens it has.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &[IdRange], (u32, Option<u32>))> {
        let once = (1, Some(1));
        [
            ("begin", self.begin.as_slice(), once),
            ("fill", &self.fill, (self.min, self.max)),
            ("end", &self.end, once),
        ]
        .into_iter()
        .filter(|part| !part.1.is_empty())
    }

    /// The same class with ascending ids, and neighbours as one range. What overlaps stays, because it is refused.
    fn canonical(mut self) -> Self {
        for ids in [&mut self.begin, &mut self.fill, &mut self.end] {
            ids.sort_unstable();
            let mut merged: Vec<IdRange> = Vec::with_capacity(ids.len());
            for range in ids.drain(..) {
                match merged.last_mut() {
                    Some(last)
                        if last.last.checked_add(1) == Some(range.first) && range.first <= range.last =>
                    {
                        last.last = range.last;
                    }
                    _ => merged.push(range),
                }
            }
            *ids = merged;
        }
        self
    }

    /// # Errors
    /// What is wrong, and in which part.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.parts().next().is_none() {
            return Err(("begin", "the class has no tokens".to_owned()));
        }
        if let Some(max) = self.max.filter(|max| *max < self.min) {
            return Err((
                "fill",
                format!("{} to {max} times is never: {max} is below {}", self.min, self.min),
            ));
        }
        let mut all = Vec::new();
        for (part, ids, _) in self.parts() {
            for range in ids {
                if range.last < range.first {
                    let IdRange { first, last } = range;
                    return Err((
                        part,
                        format!("the range {first}-{last} is empty: {last} is below {first}"),
                    ));
                }
                all.push((*range, part));
            }
        }
        all.sort_unstable();
        match all.windows(2).find(|pair| pair[1].0.first <= pair[0].0.last) {
            Some(pair) => Err((pair[1].1, format!("token id {} stands twice in the class", pair[1].0.first))),
            None => Ok(()),
        }
    }
}

/// Classes of tokens by their names. As JSON an object.
///
/// ```
/// use gobo_types::{Budget, CompileLimits, NamedClasses};
///
/// let classes: NamedClasses = serde_json::from_str(r#"{"IMAGE": {"begin": [7], "fill": [[100, 199]], "end": [8]}}"#)?;
/// let image = classes.get("IMAGE").expect("it was just read");
/// assert_eq!((image.min, image.max), (1, None));
/// assert!(classes.check(&Budget::new(CompileLimits::default())).is_ok());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct NamedClasses(BTreeMap<String, NamedClass>);

impl NamedClasses {
    /// No classes.
    pub const NONE: &'static Self = &Self(BTreeMap::new());

    /// Most classes of a constraint: each name in a pattern is looked up among them.
    pub const MAX: usize = 256;

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The class of a name.
    pub fn get(&self, name: &str) -> Option<&NamedClass> {
        self.0.get(name)
    }

    /// The classes, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &NamedClass)> {
        self.0.iter().map(|(name, class)| (name.as_str(), class))
    }

    /// Adds a class. Whether its name was free.
    pub fn insert(&mut self, name: String, class: NamedClass) -> bool {
        let is_free = !self.0.contains_key(&name);
        if is_free {
            self.0.insert(name, class.canonical());
        }
        is_free
    }

    /// The memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        let ids = |class: &NamedClass| class.parts().map(|part| size_of_val(part.1)).sum::<usize>();
        self.iter().map(|(name, class)| name.len() + ids(class)).sum()
    }

    /// Looks for what makes no class, whatever the vocabulary is. O(ranges log ranges).
    ///
    /// # Errors
    /// A refusal of more than [`Self::MAX`] classes, of a name that is none, of a class without tokens, of bounds and ranges that are empty,
    /// and of an id that stands twice in a class; [`CompileError::OverBudget`].
    pub fn check(&self, budget: &Budget) -> Result<(), CompileError> {
        if self.0.len() > Self::MAX {
            let reason = format!("there are {} token classes, the limit is {}", self.0.len(), Self::MAX);
            return Err(CompileError::refuse(RefusalKind::Unsupported, "the token classes", reason));
        }
        for (name, class) in self.iter() {
            let refuse =
                |place: String, reason: String| CompileError::refuse(RefusalKind::Malformed, place, reason);
            let ranges: usize = class.parts().map(|part| part.1.len()).sum();
            budget.charge_steps("reading token classes", STEPS_PER_RANGE * ranges as u64)?;
            budget.charge_bytes("reading token classes", BYTES_PER_RANGE * ranges as u64)?;
            let place = format!("token class {name}");
            let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if name.is_empty() || !is_word || name.as_bytes()[0].is_ascii_digit() {
                let reason = format!("{name:?} is no name of a class: letters, digits and _, no digit first");
                return Err(refuse(place, reason));
            }
            class.check().map_err(|(part, reason)| refuse(format!("{place}, {part}"), reason))?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for NamedClasses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = NamedClasses;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of token classes by their names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<NamedClasses, A::Error> {
                let mut classes = NamedClasses::default();
                while let Some((name, class)) = members.next_entry::<String, NamedClass>()? {
                    if !classes.insert(name.clone(), class) {
                        return Err(A::Error::custom(format!("the token class {name} stands there twice")));
                    }
                }
                Ok(classes)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CompileLimits;

    fn classes(text: &str) -> NamedClasses {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn one_set_of_ids_has_one_form() {
        let one = classes(r#"{"A":{"begin":[7,[8,9],6],"fill":[[20,30]],"max":3}}"#);
        assert_eq!(one, classes(r#"{"A":{"begin":[[6,9]],"fill":[[21,30],20],"min":1,"max":3,"end":[]}}"#));
        assert_eq!(
            serde_json::to_string(&one).unwrap(),
            r#"{"A":{"begin":[[6,9]],"fill":[[20,30]],"min":1,"max":3}}"#
        );
    }

    #[test]
    fn what_is_no_class_is_refused_with_its_place() {
        let budget = Budget::new(CompileLimits::default());
        for (text, place, word) in [
            (r#"{"A B":{"begin":[1]}}"#, "token class A B", "is no name"),
            (r#"{"":{"begin":[1]}}"#, "token class ", "is no name"),
            (r#"{"1A":{"begin":[1]}}"#, "token class 1A", "is no name"),
            (r#"{"A":{}}"#, "token class A, begin", "no tokens"),
            (r#"{"A":{"fill":[1],"min":2,"max":1}}"#, "token class A, fill", "1 is below 2"),
            (r#"{"A":{"fill":[[2,1]]}}"#, "token class A, fill", "1 is below 2"),
            (r#"{"A":{"begin":[1],"end":[[0,1]]}}"#, "token class A, begin", "token id 1 stands twice"),
            (r#"{"A":{"fill":[5,[3,9]]}}"#, "token class A, fill", "token id 5 stands twice"),
        ] {
            let CompileError::Refused(refusal) = classes(text).check(&budget).unwrap_err() else {
                panic!("{text}")
            };
            assert_eq!(refusal.place.as_str(), place, "{text}");
            assert!(refusal.reason.contains(word), "{text}: {}", refusal.reason);
        }
        let mut many = NamedClasses::default();
        let class = NamedClass {
            begin: Vec::new(),
            fill: vec![IdRange { first: 1, last: 1 }],
            min: 0,
            max: None,
            end: Vec::new(),
        };
        for number in 0..=NamedClasses::MAX {
            assert!(many.check(&budget).is_ok());
            many.insert(format!("A{number}"), class.clone());
        }
        assert!(many.check(&budget).unwrap_err().to_string().contains("257 token classes, the limit is 256"));
        for (text, word) in [
            (r#"{"A":{"begin":[1]},"A":{"begin":[1]}}"#, "twice"),
            (r#"{"A":{"start":[1]}}"#, "start"),
            (r#"{"A":{"begin":["x"]}}"#, "did not match"),
        ] {
            let error = serde_json::from_str::<NamedClasses>(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
