//! Schema resources (JSON Schema 2020-12, Core, section 4.3.5).

use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use super::dialects::Fault;
use crate::read::location::Location;
use crate::read::vocabulary::Dialect;

/// A schema resource: a whole document, or a subschema with `$id`.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) location: Location,
    pub(super) uri: Rc<str>,
    pub(super) dialect: Dialect,
    /// Why its subschemas cannot be read.
    pub(super) fault: Option<Fault>,
    /// Pointers by anchor name; the first anchor of a name counts.
    pub(super) anchors: HashMap<String, String>,
    pub(super) dynamic_anchors: HashSet<String>,
    pub(super) is_recursive_anchor: bool,
}
