//! The role that each method needs.

use super::role::Role;

/// What a caller needs for a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing, not even to be known: whether a daemon is there and serves, and what its methods are.
    Nothing,
    /// This role.
    Role(Role),
    /// There is no such method here.
    Unknown,
}

const SERVICE: &str = "/gobo.v1.Gobo/";

/// The methods of the service.
pub(super) const METHODS: [(&str, Need); 17] = [
    ("Resolve", Need::Role(Role::Resolve)),
    ("ResolveBatch", Need::Role(Role::Resolve)),
    ("Check", Need::Role(Role::Resolve)),
    ("ImportVocabulary", Need::Role(Role::Resolve)),
    ("FetchIndex", Need::Role(Role::Read)),
    ("FetchVocabulary", Need::Role(Role::Read)),
    ("GetVocabulary", Need::Role(Role::Read)),
    ("ListVocabularies", Need::Role(Role::Read)),
    ("Status", Need::Role(Role::Read)),
    ("Describe", Need::Role(Role::Inspect)),
    ("ListIndices", Need::Role(Role::Inspect)),
    ("ListPins", Need::Role(Role::Admin)),
    ("Pin", Need::Role(Role::Admin)),
    ("Unpin", Need::Role(Role::Admin)),
    ("CollectGarbage", Need::Role(Role::Admin)),
    ("RebuildCatalog", Need::Role(Role::Admin)),
    ("Ping", Need::Nothing),
];

/// Services that tell nothing of what the daemon holds.
const OPEN: [&str; 3] = [
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
];

/// What a caller needs for the method of this path. One without a row is none, whatever stands behind.
pub(super) fn need(path: &str) -> Need {
    if let Some(method) = path.strip_prefix(SERVICE) {
        let known = METHODS.iter().find(|(name, _)| *name == method);
        return known.map_or(Need::Unknown, |(_, need)| *need);
    }
    if OPEN.iter().any(|service| path.starts_with(service)) { Need::Nothing } else { Need::Unknown }
}
