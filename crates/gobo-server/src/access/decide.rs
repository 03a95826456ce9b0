//! What a call may do: its caller's identity against the table of methods.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use tonic::Status;
use tonic::codegen::http::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use super::methods::{Need, need};
use super::policy::{Identity, Policy};
use super::role::{Role, Roles};
use super::tenant::TENANT;
use crate::status;
use crate::transport::Shown;
use crate::watched::Watched;

/// Everything, over the socket, for the user that runs the daemon and for root.
static OWNER: LazyLock<Arc<Identity>> = LazyLock::new(|| {
    Arc::new(Identity { name: "owner".into(), roles: Role::ALL.into_iter().collect(), tenant: None })
});

/// Others, where no file says who may do what.
static ANYBODY: LazyLock<Arc<Identity>> = LazyLock::new(|| {
    let roles = [Role::Resolve, Role::Read, Role::Forward].into_iter().collect();
    Arc::new(Identity { name: "anybody".into(), roles, tenant: None })
});

/// Calls since the start that were refused, by reason.
#[derive(Debug, Default)]
pub(crate) struct DenialCounts {
    /// Nobody knows the caller.
    pub(crate) unknown: AtomicU64,
    /// It does not have the role.
    pub(crate) role: AtomicU64,
    /// It named a tenant that is not its own.
    pub(crate) tenant: AtomicU64,
}

/// Who may do what.
#[derive(Debug)]
pub(crate) struct Access {
    /// `None`: there is no file.
    policy: Option<Arc<Watched<Policy>>>,
    /// The user that runs the daemon.
    owner: u32,
    pub(crate) denials: DenialCounts,
}

impl Access {
    pub(crate) fn new(policy: Option<Arc<Watched<Policy>>>) -> Arc<Self> {
        let owner = rustix::process::geteuid().as_raw();
        Arc::new(Self { policy, owner, denials: DenialCounts::default() })
    }

    /// Lets a call through, with the roles of its caller and the tenant that it is for; the tenant stands in the metadata afterwards.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` if nobody knows the caller, `PERMISSION_DENIED` if it may not do this, `UNIMPLEMENTED` if nobody may.
    pub(crate) fn admit(&self, path: &str, shown: &Shown, metadata: &mut HeaderMap) -> Result<Roles, Status> {
        let needed = need(path);
        let who = match (self.identify(shown, metadata.get(AUTHORIZATION)), needed) {
            (Ok(who), _) => who,
            (Err(_), Need::Nothing) => return Ok(Roles::default()),
            (Err(status), _) => {
                self.denials.unknown.fetch_add(1, Ordering::Relaxed);
                return Err(status);
            }
        };
        match needed {
            Need::Role(role) if !who.roles.has(role) => {
                self.denials.role.fetch_add(1, Ordering::Relaxed);
                return Err(status::denied(format!(
                    "{} does not have the role {role}, which {path} needs",
                    who.name
                )));
            }
            // As of a service that has no such method: a newer client may ask for it.
            Need::Unknown => return Err(Status::unimplemented("this daemon has no such method")),
            Need::Role(_) | Need::Nothing => {}
        }
        self.name_tenant(&who, metadata)?;
        Ok(who.roles)
    }

    /// Whether a file says who may do what.
    pub(crate) fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Whether a caller that shows this has a role, where nothing is asked for besides.
    ///
    /// # Errors
    /// As for [`Self::admit`].
    pub(crate) fn require(&self, role: Role, shown: &Shown, metadata: &HeaderMap) -> Result<(), Status> {
        let who = self.identify(shown, metadata.get(AUTHORIZATION)).inspect_err(|_| {
            self.denials.unknown.fetch_add(1, Ordering::Relaxed);
        })?;
        if who.roles.has(role) {
            return Ok(());
        }
        self.denials.role.fetch_add(1, Ordering::Relaxed);
        Err(status::denied(format!("{} does not have the role {role}", who.name)))
    }

    /// Who calls: by its token if it shows one, else by its certificate or its process.
    fn identify(&self, shown: &Shown, token: Option<&HeaderValue>) -> Result<Arc<Identity>, Status> {
        if let Shown::Process { uid, .. } = shown
            && (*uid == self.owner || *uid == 0)
        {
            return Ok(Arc::clone(&OWNER));
        }
        let Some(policy) = &self.policy else { return Ok(Arc::clone(&ANYBODY)) };
        let policy = policy.get();
        if let Some(token) = token {
            let known = bearer(token).and_then(|token| policy.of_token(token));
            return known.cloned().ok_or_else(|| status::unauthenticated("this daemon knows no such token"));
        }
        let known = match shown {
            Shown::Process { uid, gid } => policy.of_process(*uid, *gid),
            Shown::Certificate(names) => policy.of_certificate(names),
            Shown::Nothing => None,
        };
        known.cloned().ok_or_else(|| {
            status::unauthenticated(match shown {
                Shown::Process { uid, gid } => {
                    format!("this daemon knows neither user {uid} nor group {gid}, and the call has no token")
                }
                Shown::Certificate(_) => {
                    "this daemon knows no name of the client certificate, and the call has no token"
                        .to_owned()
                }
                Shown::Nothing => "the call has no token (metadata `authorization: Bearer …`)".to_owned(),
            })
        })
    }

    /// Sees to it that a call is for the tenant of its caller, or for one that its caller may name.
    fn name_tenant(&self, who: &Identity, metadata: &mut HeaderMap) -> Result<(), Status> {
        let mut named = metadata.get_all(TENANT).iter();
        let given = named.next();
        let is_one = named.next().is_none();
        let may_name = who.roles.has(Role::Forward);
        match (given, &who.tenant) {
            (None, None) => Ok(()),
            (None, Some(own)) => {
                // A tenant's name is plain ASCII.
                if let Ok(own) = HeaderValue::from_str(own) {
                    metadata.insert(TENANT, own);
                }
                Ok(())
            }
            (Some(_), _) if may_name && is_one => Ok(()),
            (Some(given), Some(own)) if is_one && given.as_bytes() == own.as_bytes() => Ok(()),
            (Some(_), _) => {
                self.denials.tenant.fetch_add(1, Ordering::Relaxed);
                let why = if is_one {
                    format!("{} may not name this tenant in {TENANT}; the role forward may", who.name)
                } else {
                    format!("{TENANT} is there more than once")
                };
                Err(status::denied(why))
            }
        }
    }
}

/// The token of an `authorization` of the kind `Bearer` (RFC 6750, section 2.1).
fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests;
