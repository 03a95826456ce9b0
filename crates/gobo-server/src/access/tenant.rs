//! Tenants: on whose account a call is.

/// The metadata key of a tenant's name.
pub(crate) const TENANT: &str = "x-gobo-tenant";

/// Whether this is a tenant's name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'.
pub(crate) fn is_tenant(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_allowed)
}
