//! Translates (schema set, literals, nesting depth) triples into grammar rules.
//!
//! The unit of work is a rule: the texts of the values that satisfy all of some *literals* (subschemas, or their negations),
//! where the value is written as its *schema set* orders it, that is by all subschemas that apply to it, whether they hold
//! or not. A worklist starts from the whole schema ([`lowering`]); a rule calls the rules of its elements, which are interned
//! and put on the worklist ([`rules`], [`context`]).
//!
//! For each type, the literals are expanded to a formula. Numbers and strings become regular languages ([`scalar_rules`]).
//! Arrays and objects become automata whose states are (position, formula) pairs: the formula is the obligation on the
//! elements that follow, and an edge takes its derivative by one element ([`outcomes`], [`container`], [`arrays`],
//! [`object`]). The construction is that of Brzozowski (Derivatives of regular expressions, 1964), with calls of rules in
//! the place of characters; it terminates because atoms are finite in number and formulas are simplified.
//!
//! Objects may be written as parameters in XML too ([`parameters`]), which is one more *form* of a rule.
//!
//! [`facts`] deduces implications between literals, which exclude outcomes of an element that no value can have.

pub(crate) mod arrays;
pub(crate) mod container;
pub(crate) mod context;
pub(crate) mod facts;
pub(crate) mod lowering;
pub(crate) mod object;
pub(crate) mod outcomes;
pub(crate) mod parameters;
pub(crate) mod policy;
pub(crate) mod rules;
pub(crate) mod scalar_rules;
pub(crate) mod schema_set;
