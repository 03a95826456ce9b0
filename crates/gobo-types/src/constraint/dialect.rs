//! The dialects of grammars and of schemas. The option `dialect` takes the words of both, and each word fits one kind of constraint:
//! this is the one place that says which.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::grammar::is_of_llguidance;
use super::{Lexer, LookAhead};

/// The start rule of a grammar where none is named. Lark has another: [`Dialect::default_start`].
pub const DEFAULT_START: &str = "root";

/// How a grammar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "AnyDialect")]
pub enum Dialect {
    /// llama.cpp's GBNF: scannerless, over characters.
    #[default]
    Gbnf,
    /// The EBNF of `XGrammar` and transformers-CFG: GBNF with more notations.
    Ebnf,
    /// Lark's grammars, and llguidance's: rules over terminals.
    Lark,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gbnf, Self::Ebnf, Self::Lark];

    /// The word of the command line, of the proto and of the digest, and how names of its files end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::Ebnf => "ebnf",
            Self::Lark => "lark",
        }
    }

    /// The start rule of a grammar where none is named.
    ///
    /// ```
    /// use gobo_types::Dialect;
    ///
    /// assert_eq!((Dialect::Ebnf.default_start(), Dialect::Lark.default_start()), ("root", "start"));
    /// ```
    pub fn default_start(self) -> &'static str {
        match self {
            Self::Gbnf | Self::Ebnf => DEFAULT_START,
            Self::Lark => "start",
        }
    }

    /// Whether its texts are split into lexemes, so that a lexer means something.
    pub fn has_lexemes(self) -> bool {
        self == Self::Lark
    }

    /// The lexer of a grammar where none is given, for dialects with lexemes: Lark's contextual one, and llguidance's where the grammar
    /// has what Lark refuses and llguidance takes. Linear in the text.
    ///
    /// ```
    /// use gobo_types::{Dialect, Lexer, LookAhead};
    ///
    /// let contextual = Some(Lexer::Contextual(LookAhead::default()));
    /// assert_eq!(Dialect::Lark.default_lexer("start: A\nA: /[a-z]+/"), contextual);
    /// assert_eq!(Dialect::Lark.default_lexer("start: A\nA: /[a-z]+/ & ~/if/"), Some(Lexer::Longest));
    /// assert_eq!(Dialect::Gbnf.default_lexer(""), None);
    /// ```
    pub fn default_lexer(self, grammar: &str) -> Option<Lexer> {
        self.has_lexemes().then(|| {
            if is_of_llguidance(grammar) { Lexer::Longest } else { Lexer::Contextual(LookAhead::default()) }
        })
    }
}

/// Which keywords of a schema beyond the standard count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "AnyDialect")]
pub enum SchemaDialect {
    /// Those of JSON Schema alone.
    #[default]
    #[serde(rename = "json-schema")]
    JsonSchema,
    /// Those of the Schema Object of `OpenAPI` 3.0 too: `nullable` beside `type`. Schemas that name no draft are read as draft 4,
    /// on which it builds.
    #[serde(rename = "openapi-3.0")]
    OpenApi30,
}

impl SchemaDialect {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::JsonSchema, Self::OpenApi30];

    /// The word of the command line, of the proto and of the digest.
    pub fn name(self) -> &'static str {
        match self {
            Self::JsonSchema => "json-schema",
            Self::OpenApi30 => "openapi-3.0",
        }
    }
}

/// A dialect of either kind: what a word of the option `dialect` means.
///
/// ```
/// use gobo_types::{AnyDialect, Dialect, SchemaDialect};
///
/// let of_schemas: AnyDialect = "openapi-3.0".parse()?;
/// assert_eq!(SchemaDialect::try_from(of_schemas), Ok(SchemaDialect::OpenApi30));
/// let error = Dialect::try_from(of_schemas).unwrap_err().to_string();
/// assert_eq!(error, "openapi-3.0 is a dialect of schemas, not of grammars: gbnf, ebnf, lark");
/// # Ok::<(), gobo_types::DialectError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum AnyDialect {
    /// Of grammars.
    Grammar(Dialect),
    /// Of schemas.
    Schema(SchemaDialect),
}

impl AnyDialect {
    /// All of them, those of grammars first.
    pub fn all() -> impl Iterator<Item = Self> {
        Dialect::ALL.map(Self::Grammar).into_iter().chain(SchemaDialect::ALL.map(Self::Schema))
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grammar(dialect) => dialect.name(),
            Self::Schema(dialect) => dialect.name(),
        }
    }
}

/// Why a word is not the dialect of a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialectError {
    /// No dialect has that name.
    #[error("{found:?} is no dialect of grammars ({}) and none of schemas ({})", grammars(), schemas())]
    Unknown {
        /// The word.
        found: String,
    },
    /// A schema is meant.
    #[error("{} is a dialect of grammars, not of schemas: {}", .found.name(), schemas())]
    OfGrammars {
        /// The dialect.
        found: Dialect,
    },
    /// A grammar is meant.
    #[error("{} is a dialect of schemas, not of grammars: {}", .found.name(), grammars())]
    OfSchemas {
        /// The dialect.
        found: SchemaDialect,
    },
}

fn grammars() -> String {
    Dialect::ALL.map(Dialect::name).join(", ")
}

fn schemas() -> String {
    SchemaDialect::ALL.map(SchemaDialect::name).join(", ")
}

impl FromStr for AnyDialect {
    type Err = DialectError;

    fn from_str(word: &str) -> Result<Self, DialectError> {
        let found = Self::all().find(|dialect| dialect.name() == word);
        found.ok_or_else(|| DialectError::Unknown { found: word.to_owned() })
    }
}

impl TryFrom<String> for AnyDialect {
    type Error = DialectError;

    fn try_from(word: String) -> Result<Self, DialectError> {
        word.parse()
    }
}

impl TryFrom<AnyDialect> for Dialect {
    type Error = DialectError;

    fn try_from(any: AnyDialect) -> Result<Self, DialectError> {
        match any {
            AnyDialect::Grammar(dialect) => Ok(dialect),
            AnyDialect::Schema(found) => Err(DialectError::OfSchemas { found }),
        }
    }
}

impl TryFrom<AnyDialect> for SchemaDialect {
    type Error = DialectError;

    fn try_from(any: AnyDialect) -> Result<Self, DialectError> {
        match any {
            AnyDialect::Grammar(found) => Err(DialectError::OfGrammars { found }),
            AnyDialect::Schema(dialect) => Ok(dialect),
        }
    }
}

impl FromStr for Dialect {
    type Err = DialectError;

    fn from_str(word: &str) -> Result<Self, DialectError> {
        word.parse::<AnyDialect>()?.try_into()
    }
}

impl FromStr for SchemaDialect {
    type Err = DialectError;

    fn from_str(word: &str) -> Result<Self, DialectError> {
        word.parse::<AnyDialect>()?.try_into()
    }
}

impl fmt::Display for SchemaDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, to_value};

    use super::*;

    #[test]
    fn each_word_means_one_dialect_and_reads_back() {
        let names: Vec<&str> = AnyDialect::all().map(AnyDialect::name).collect();
        assert_eq!(names, ["gbnf", "ebnf", "lark", "json-schema", "openapi-3.0"]);
        for any in AnyDialect::all() {
            assert_eq!(any.name().parse(), Ok(any));
            assert_eq!(from_value::<AnyDialect>(any.name().into()).unwrap(), any);
            match any {
                AnyDialect::Grammar(dialect) => {
                    assert_eq!(any.name().parse(), Ok(dialect));
                    assert_eq!(to_value(dialect).unwrap(), any.name());
                    assert_eq!(from_value::<Dialect>(any.name().into()).unwrap(), dialect);
                    let error = DialectError::OfGrammars { found: dialect };
                    assert_eq!(any.name().parse::<SchemaDialect>(), Err(error.clone()));
                    let said = from_value::<SchemaDialect>(any.name().into()).unwrap_err().to_string();
                    assert_eq!(said, error.to_string());
                }
                AnyDialect::Schema(dialect) => {
                    assert_eq!(any.name().parse(), Ok(dialect));
                    assert_eq!(to_value(dialect).unwrap(), any.name());
                    assert_eq!(from_value::<SchemaDialect>(any.name().into()).unwrap(), dialect);
                    let error = DialectError::OfSchemas { found: dialect };
                    assert_eq!(any.name().parse::<Dialect>(), Err(error.clone()));
                    let said = from_value::<Dialect>(any.name().into()).unwrap_err().to_string();
                    assert_eq!(said, error.to_string());
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (error, said) in [
            (
                "Lark".parse::<Dialect>().unwrap_err(),
                r#""Lark" is no dialect of grammars (gbnf, ebnf, lark) and none of schemas (json-schema, openapi-3.0)"#,
            ),
            (
                "lark".parse::<SchemaDialect>().unwrap_err(),
                "lark is a dialect of grammars, not of schemas: json-schema, openapi-3.0",
            ),
            (
                "openapi-3.0".parse::<Dialect>().unwrap_err(),
                "openapi-3.0 is a dialect of schemas, not of grammars: gbnf, ebnf, lark",
            ),
        ] {
            assert_eq!(error.to_string(), said);
        }
    }
}
