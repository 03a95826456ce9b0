//! Roles: what a caller may be allowed to do.

use std::fmt;
use std::str::FromStr;

/// One thing that a caller may be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// Have constraints compiled, and import vocabularies under new names.
    Resolve = 1,
    /// Fetch files, look at vocabularies, and read the counts.
    Read = 2,
    /// See which constraints there are, and their texts.
    Inspect = 4,
    /// Pin, evict, rebuild the catalog, give names another meaning.
    Admin = 8,
    /// Name the tenant that a call is for: gateways, and daemons that send calls on.
    Forward = 16,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Resolve, Self::Read, Self::Inspect, Self::Admin, Self::Forward];

    /// Its name in the file.
    ///
    /// ```
    /// use gobo_server::Role;
    ///
    /// assert_eq!(Role::Resolve.name(), "resolve");
    /// assert_eq!("resolve".parse(), Ok(Role::Resolve));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Read => "read",
            Self::Inspect => "inspect",
            Self::Admin => "admin",
            Self::Forward => "forward",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

/// A role that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no role: resolve, read, inspect, admin, forward")]
pub struct UnknownRole(String);

/// A set of roles.
///
/// ```
/// use gobo_server::{Role, Roles};
///
/// let roles: Roles = [Role::Resolve, Role::Read].into_iter().collect();
/// assert!(roles.has(Role::Read) && !roles.has(Role::Admin));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Roles(u8);

impl Roles {
    /// Whether the set has this role. O(1).
    pub fn has(self, role: Role) -> bool {
        self.0 & role as u8 != 0
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        Self(roles.into_iter().fold(0, |set, role| set | role as u8))
    }
}
