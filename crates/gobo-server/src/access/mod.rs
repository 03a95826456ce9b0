//! Access: who a caller is, and which methods it may call for which tenant.
//!
//! A caller shows a token, a client certificate, or the user that its process runs as. A file gives each an identity: a name, roles, and the
//! tenant that it calls for (`policy`). `methods` has the role that each method needs, `decide`
//! puts both together, and `layer` asks for every call, before anything of its body is read.
//!
//! Without a file there are two kinds of callers. The user that runs the daemon, and root, may do everything over the socket; everybody else that can
//! connect may resolve and read, for the tenant that it names.

mod decide;
mod layer;
mod methods;
mod policy;
mod role;
mod tenant;

pub(crate) use decide::{Access, DenialCounts};
pub(crate) use layer::AccessLayer;
pub(crate) use policy::Policy;
pub use policy::{AccessEntry, AccessFile, access_entry};
pub use role::{Role, Roles, UnknownRole};
pub(crate) use tenant::{TENANT, is_tenant};
