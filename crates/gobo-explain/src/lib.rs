//! Why a mask is as it is: where a text stands in an index, what may come next, why a token may not, and the automaton around it.
//!
//! [`explain`] answers for one place, [`steps`] for a text token by token, [`neighbourhood`] and [`write_dot`] draw. What they say is
//! read off the index and its matcher, so it is the mask's own reason; what a schema says at the place, and the rules that a text stands
//! in, are found in the constraint that the index carries.
//!
//! | module | what it does |
//! |---|---|
//! | `reader` | a text byte by byte, also where no token may end |
//! | `token` | which token is meant; why it may or may not come next |
//! | `explanation` | all that is known of one place, as data, text and JSON |
//! | `place`, `ways` | the place in a schema; the rules that have begun and not ended |
//! | `steps` | a text token by token |
//! | `graph` | states around one, and all of them, as a graph and as DOT |
#![forbid(unsafe_code)]

mod bytes;
mod explanation;
mod graph;
mod place;
mod reader;
mod steps;
mod token;
mod ways;

pub use bytes::{byte_ranges, ids_of};
pub use explanation::{Configuration, ExplainError, Explanation, Question, explain};
pub use graph::{Edge, Graph, Node, TooLong, Way, neighbourhood, write_dot};
pub use place::Place;
pub use reader::allowed;
pub use steps::{Steps, TokenStep, steps};
pub use token::{NoSuchToken, token_of};
pub use ways::Ways;
