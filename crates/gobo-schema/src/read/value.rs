//! JSON values as JSON Schema compares them: by value, not by spelling.
//!
//! Numbers are exact decimals, objects keep the order of their properties and compare without it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use foldhash::HashSet;

use crate::read::decimal::Decimal;

/// A JSON value: the properties of objects in their order, numbers exact.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Decimal),
    String(String),
    Array(Rc<[Json]>),
    Object(Rc<Object>),
}

/// The properties of an object in their order. Names are unique.
#[derive(Debug, Default)]
pub(crate) struct Object {
    properties: Vec<(String, Json)>,
    /// Indices into `properties`, ascending by name.
    ascending: Box<[u32]>,
}

impl Object {
    /// O(n log n).
    ///
    /// # Errors
    /// The first property that repeats the name of an earlier one: its index, and the name.
    pub(crate) fn new(properties: Vec<(String, Json)>) -> Result<Self, (usize, String)> {
        let name = |at: u32| &properties[at as usize].0;
        let mut ascending: Box<[u32]> = (0..).take(properties.len()).collect();
        ascending.sort_unstable_by(|&one, &other| name(one).cmp(name(other)).then(one.cmp(&other)));
        let repeated = ascending.windows(2).filter(|pair| name(pair[0]) == name(pair[1]));
        match repeated.map(|pair| pair[1]).min() {
            Some(repeated) => Err((repeated as usize, name(repeated).clone())),
            None => Ok(Self { properties, ascending }),
        }
    }

    /// The value of a name. O(log n).
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        let property = |at: u32| &self.properties[at as usize];
        let found = self.ascending.binary_search_by(|&at| property(at).0.as_str().cmp(name));
        found.ok().map(|at| &property(self.ascending[at]).1)
    }
}

impl Deref for Object {
    type Target = [(String, Json)];

    fn deref(&self) -> &Self::Target {
        &self.properties
    }
}

/// Equality of JSON Schema (2020-12, Core, section 4.2.2): the order of properties is insignificant.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::String(one), Self::String(other)) => one == other,
            (Self::Array(one), Self::Array(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(key, value)| other.get(key).is_some_and(|of| of == value))
            }
            _ => false,
        }
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Null => {}
            Self::Bool(bool) => bool.hash(state),
            Self::Number(number) => number.hash(state),
            Self::String(text) => text.hash(state),
            Self::Array(items) => items.hash(state),
            // The sum does not depend on the order of properties.
            Self::Object(properties) => {
                let of_property = |property: &(String, Self)| {
                    let mut hasher = DefaultHasher::new();
                    property.hash(&mut hasher);
                    hasher.finish()
                };
                properties.iter().map(of_property).fold(0, u64::wrapping_add).hash(state);
            }
        }
    }
}

/// The values of `enum` or `const`, with an index for membership.
#[derive(Debug, Clone)]
pub(crate) struct ValueSet {
    /// `enum` or `const`.
    pub(crate) keyword: &'static str,
    list: Rc<[Json]>,
    /// The values hashed, if there are several.
    index: HashSet<Json>,
}

impl ValueSet {
    pub(crate) fn new(keyword: &'static str, list: Rc<[Json]>) -> Self {
        let index = if list.len() > 1 { list.iter().cloned().collect() } else { HashSet::default() };
        Self { keyword, list, index }
    }

    /// The values in the order of the schema.
    pub(crate) fn list(&self) -> &Rc<[Json]> {
        &self.list
    }

    pub(crate) fn has(&self, value: &Json) -> bool {
        match &self.list[..] {
            [one] => one == value,
            _ => self.index.contains(value),
        }
    }
}

impl Json {
    /// The number, if it is one.
    pub(crate) fn as_number(&self) -> Option<&Decimal> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(properties) => properties.get(key),
            _ => None,
        }
    }

    /// The value that one token of a JSON pointer leads to.
    pub(crate) fn step(&self, token: &str) -> Option<&Self> {
        match self {
            Self::Array(items) => items.get(token.parse::<usize>().ok()?),
            _ => self.get(token),
        }
    }

    /// About the steps of copying, hashing or comparing the value once.
    pub(crate) fn steps(&self) -> u64 {
        2 + match self {
            Self::Null | Self::Bool(_) => 0,
            Self::Number(number) => number.digits.len() as u64 / 4,
            Self::String(text) => text.len() as u64 / 4,
            Self::Array(items) => items.iter().map(Self::steps).sum(),
            Self::Object(properties) => {
                properties.iter().map(|of| 2 + of.0.len() as u64 / 4 + of.1.steps()).sum()
            }
        }
    }

    /// The name of its type, with an article.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}
