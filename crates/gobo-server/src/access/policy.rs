//! The file that says who may do what.
//!
//! ```toml
//! [[token]]
//! name = "gateway"            # for counts and logs
//! blake3 = "…"                # of the token: 64 hexadecimal digits
//! roles = ["resolve", "read", "forward"]
//!
//! [[certificate]]
//! name = "spiffe://cluster/ns/inference/sa/worker"    # a URI or DNS name of a client certificate; "*": any other
//! roles = ["resolve", "read"]
//! tenant = "inference"        # whatever its calls are counted as
//!
//! [[process]]
//! user = 1000                 # or: group = 2000
//! roles = ["resolve", "read", "inspect"]
//! ```

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blake3::Hash;
use serde::Deserialize;

use super::role::{Role, Roles};
use super::tenant::is_tenant;
use crate::error::FileError;
use crate::watched::Watched;

/// Most entries of a file.
const MAX_ENTRIES: usize = 10_000;

/// Longest name of an entry, in bytes. URIs of SPIFFE have at most 2,048 (SPIFFE ID, section 2.3).
const MAX_NAME: usize = 2048;

/// A caller that is known, or is let in without.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: Box<str>,
    pub(crate) roles: Roles,
    /// The tenant of its calls.
    pub(crate) tenant: Option<Box<str>>,
}

/// A file that says who may do what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessFile(pub PathBuf);

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    tokens: Vec<(Hash, Arc<Identity>)>,
    certificates: HashMap<String, Arc<Identity>>,
    users: HashMap<u32, Arc<Identity>>,
    groups: HashMap<u32, Arc<Identity>>,
}

impl AccessFile {
    /// Reads the file once: how many tokens, certificates and processes it has.
    ///
    /// # Errors
    /// [`FileError`] says where and why.
    pub fn check(&self) -> Result<[usize; 3], FileError> {
        let policy = Policy::parse(&self.0, &crate::watched::read(&self.0)?)?;
        Ok([policy.tokens.len(), policy.certificates.len(), policy.users.len() + policy.groups.len()])
    }

    /// Reads the file, and reads it anew when it changes.
    pub(crate) fn open(&self) -> Result<Arc<Watched<Policy>>, FileError> {
        let path = self.0.clone();
        Watched::open("the rules of access", vec![path.clone()], move |contents| {
            Policy::parse(&path, contents.first().map(Vec::as_slice).unwrap_or_default())
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    token: Vec<WrittenToken>,
    #[serde(default)]
    certificate: Vec<WrittenCertificate>,
    #[serde(default)]
    process: Vec<WrittenProcess>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenToken {
    name: String,
    blake3: String,
    roles: Vec<String>,
    tenant: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCertificate {
    name: String,
    roles: Vec<String>,
    tenant: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProcess {
    user: Option<u32>,
    group: Option<u32>,
    roles: Vec<String>,
    tenant: Option<String>,
}

impl Policy {
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, FileError> {
        let wrong = |why: String| FileError::Content { path: path.to_owned(), why };
        let text = std::str::from_utf8(bytes).map_err(|error| wrong(format!("no UTF-8: {error}")))?;
        let written: Written = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let entries = written.token.len() + written.certificate.len() + written.process.len();
        if entries > MAX_ENTRIES {
            return Err(wrong(format!("{entries} entries, and a file has at most {MAX_ENTRIES}")));
        }
        let (mut policy, mut digests) = (Self::default(), HashSet::new());
        for (nth, token) in (1..).zip(written.token) {
            let of = |why: String| wrong(format!("token {nth} ({:?}): {why}", token.name));
            let hash = Hash::from_hex(&token.blake3)
                .map_err(|_| of("blake3 is no digest: 64 hexadecimal digits".to_owned()))?;
            if !digests.insert(*hash.as_bytes()) {
                return Err(of("another entry has this digest".to_owned()));
            }
            let who = identity(token.name.clone(), &token.roles, token.tenant.clone()).map_err(of)?;
            policy.tokens.push((hash, who));
        }
        for (nth, certificate) in (1..).zip(written.certificate) {
            let name = certificate.name;
            let of = |why: String| wrong(format!("certificate {nth} ({name:?}): {why}"));
            let who = identity(name.clone(), &certificate.roles, certificate.tenant).map_err(of)?;
            if policy.certificates.insert(name.clone(), who).is_some() {
                return Err(of("another entry has this name".to_owned()));
            }
        }
        for (nth, process) in (1..).zip(written.process) {
            let of = |why: &str| wrong(format!("process {nth}: {why}"));
            let (map, id, kind) = match (process.user, process.group) {
                (Some(user), None) => (&mut policy.users, user, "user"),
                (None, Some(group)) => (&mut policy.groups, group, "group"),
                _ => return Err(of("either user or group, a number")),
            };
            let who = identity(format!("{kind} {id}"), &process.roles, process.tenant);
            if map.insert(id, who.map_err(|why| of(&why))?).is_some() {
                return Err(of("another entry has this number"));
            }
        }
        Ok(policy)
    }

    /// Who has this token. Every entry is compared, in constant time each.
    pub(super) fn of_token(&self, token: &[u8]) -> Option<&Arc<Identity>> {
        let hash = blake3::hash(token);
        let mut found = None;
        for (expected, who) in &self.tokens {
            if *expected == hash {
                found = Some(who);
            }
        }
        found
    }

    /// Who has a certificate of these names: by the first that is in the file.
    pub(super) fn of_certificate(&self, names: &[String]) -> Option<&Arc<Identity>> {
        let named = names.iter().filter(|name| *name != "*").find_map(|name| self.certificates.get(name));
        named.or_else(|| self.certificates.get("*"))
    }

    /// Who a process of this user and group is: by its user first.
    pub(super) fn of_process(&self, uid: u32, gid: u32) -> Option<&Arc<Identity>> {
        self.users.get(&uid).or_else(|| self.groups.get(&gid))
    }
}

fn identity(name: String, roles: &[String], tenant: Option<String>) -> Result<Arc<Identity>, String> {
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(format!("a name has 1 to {MAX_NAME} bytes and no control characters"));
    }
    if let Some(tenant) = tenant.as_deref().filter(|tenant| !is_tenant(tenant)) {
        return Err(format!("tenant {tenant:?}: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'"));
    }
    let roles: Result<Roles, _> = roles.iter().map(|role| role.parse::<Role>()).collect();
    let roles = roles.map_err(|error| error.to_string())?;
    Ok(Arc::new(Identity { name: name.into(), roles, tenant: tenant.map(Into::into) }))
}

/// An entry of the file for a token.
#[derive(Debug, Clone, Copy)]
pub struct AccessEntry<'a> {
    /// The token itself, which the entry does not have.
    pub token: &'a str,
    /// For counts and logs.
    pub name: &'a str,
    /// What its bearers may do.
    pub roles: &'a [Role],
    /// The tenant of their calls.
    pub tenant: Option<&'a str>,
}

/// The lines of an entry for a token: its digest in the place of the token.
///
/// ```
/// use gobo_server::{AccessEntry, Role, access_entry};
///
/// let entry = AccessEntry { token: "secret", name: "worker", roles: &[Role::Resolve], tenant: None };
/// let lines = access_entry(&entry);
/// assert!(lines.contains("name = \"worker\"") && !lines.contains("secret"));
/// ```
pub fn access_entry(entry: &AccessEntry<'_>) -> String {
    let AccessEntry { token, name, roles, tenant } = *entry;
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let roles: Vec<_> = roles.iter().map(|role| quoted(role.name())).collect();
    let tenant = tenant.map(|tenant| format!("tenant = {}\n", quoted(tenant))).unwrap_or_default();
    format!(
        "[[token]]\nname = {}\nblake3 = \"{}\"\nroles = [{}]\n{tenant}",
        quoted(name),
        blake3::hash(token.as_bytes()),
        roles.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Policy, String> {
        Policy::parse(Path::new("access.toml"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_credential_has_its_identity() {
        let token = access_entry(&AccessEntry {
            token: "t0",
            name: "gate \"way\"",
            roles: &[Role::Resolve, Role::Forward],
            tenant: Some("a"),
        });
        let policy = parse(&format!(
            "{token}\n[[certificate]]\nname = \"spiffe://a/b\"\nroles = [\"read\"]\n\
             [[certificate]]\nname = \"*\"\nroles = []\n\
             [[process]]\nuser = 7\nroles = [\"admin\"]\n[[process]]\ngroup = 8\nroles = [\"inspect\"]\n"
        ))
        .unwrap();
        let who = policy.of_token(b"t0").unwrap();
        assert_eq!((&*who.name, who.tenant.as_deref()), ("gate \"way\"", Some("a")));
        assert!(who.roles.has(Role::Forward) && !who.roles.has(Role::Read));
        assert!(policy.of_token(b"t1").is_none() && policy.of_token(b"").is_none());
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = |given: &[&str]| policy.of_certificate(&names(given)).map(|who| who.name.to_string());
        assert_eq!(found(&["other", "spiffe://a/b"]).as_deref(), Some("spiffe://a/b"));
        assert_eq!(found(&["other"]).as_deref(), Some("*"));
        assert_eq!(found(&[]).as_deref(), Some("*"));
        assert!(policy.of_process(7, 8).unwrap().roles.has(Role::Admin));
        assert!(policy.of_process(9, 8).unwrap().roles.has(Role::Inspect));
        assert!(policy.of_process(9, 9).is_none());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let digest = "0".repeat(64);
        for (text, words) in [
            ("[[tokens]]\n", "unknown field `tokens`"),
            ("[[token]]\nname = \"a\"\n", "missing field `blake3`"),
            (
                &format!("[[token]]\nname = \"a\"\nblake3 = \"{digest}\"\nroles = [\"root\"]"),
                "\"root\" is no role",
            ),
            ("[[token]]\nname = \"a\"\nblake3 = \"12\"\nroles = []", "token 1 (\"a\"): blake3 is no digest"),
            (
                &format!("[[token]]\nname = \"a\\u0007\"\nblake3 = \"{digest}\"\nroles = []"),
                "no control characters",
            ),
            (
                &format!("[[token]]\nname = \"a\"\nblake3 = \"{digest}\"\nroles = []\ntenant = \"a b\""),
                "tenant \"a b\"",
            ),
            ("[[process]]\nroles = []", "process 1: either user or group"),
            ("[[process]]\nuser = 1\ngroup = 1\nroles = []", "process 1: either user or group"),
            ("[[process]]\nuser = -1\nroles = []", "line 2"),
            (
                &format!("[[token]]\nname = \"a\"\nblake3 = \"{digest}\"\nroles = []\n").repeat(2),
                "token 2 (\"a\"): another entry has this digest",
            ),
            (
                "[[certificate]]\nname = \"a\"\nroles = []\n[[certificate]]\nname = \"a\"\nroles = []",
                "certificate 2 (\"a\"): another entry has this name",
            ),
            (
                "[[process]]\nuser = 1\nroles = []\n[[process]]\nuser = 1\nroles = []",
                "another entry has this number",
            ),
            ("\u{0}", "line 1"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(words) && said.contains("access.toml"), "{text:?}: {said}");
        }
        let entry = "[[process]]\nuser = 1\nroles = []\n";
        assert!(parse(&entry.repeat(MAX_ENTRIES + 1)).unwrap_err().contains("10001 entries"));
        assert!(Policy::parse(Path::new("x"), b"\xff").unwrap_err().to_string().contains("no UTF-8"));
    }
}
