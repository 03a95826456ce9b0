//! The metadata of a request: its tenant, its deadline, and whether another daemon has sent it here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gobo_engine::{OpenVocabulary, Request, Tenant};
use gobo_types::{Constraint, ErrorKind, IndexKey};
use tonic::metadata::MetadataMap;
use tonic::{Request as Called, Status};

use crate::access::{TENANT, is_tenant};
use crate::status;
use crate::traced::Traced;

/// The metadata key that says that another daemon has sent a call on: it is not sent on again.
const FORWARDED: &str = "x-gobo-forwarded";

/// The metadata key of the index key that the sender derives. It is for balancers, and decides nothing here; of a call that was sent on it is
/// compared.
const KEY: &str = "x-gobo-key";

/// The metadata key of a deadline, as gRPC over HTTP/2 defines it.
const TIMEOUT: &str = "grpc-timeout";

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    tenant: Tenant,
    deadline: Option<Instant>,
    is_forwarded: bool,
    /// The key that a daemon derives which has sent the call on.
    sent_key: Option<IndexKey>,
    /// The span of the call.
    pub(super) traced: Option<Traced>,
}

impl Caller {
    /// Reads the metadata of a request that arrived just now.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a tenant's name that is none.
    pub(crate) fn of<T>(request: &Called<T>) -> Result<Self, Status> {
        let metadata = request.metadata();
        let tenant = tenant(metadata)?;
        let is_forwarded = metadata.contains_key(FORWARDED);
        let sent_key =
            metadata.get(KEY).filter(|_| is_forwarded).and_then(|key| key.to_str().ok()?.parse().ok());
        let (deadline, traced) = (deadline(metadata), request.extensions().get().cloned());
        Ok(Self { tenant: tenant.into(), deadline, is_forwarded, sent_key, traced })
    }

    /// Whether the daemon that has sent a call on derives the key of this one. One of another version may have another verdict, too, and
    /// a verdict has no key that it could be told by.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if not.
    pub(crate) fn check_key(
        &self,
        vocabulary: &OpenVocabulary,
        constraint: &Constraint,
    ) -> Result<(), Status> {
        let Some(sent) = self.sent_key else { return Ok(()) };
        let derived = vocabulary.vocabulary.index_key(constraint);
        if sent == derived {
            return Ok(());
        }
        let why = format!(
            "this daemon derives key {derived}, and the one that has sent the call {sent}; update the older of the two"
        );
        Err(status::of_kind(ErrorKind::Version, why))
    }

    /// A request of this caller, interactive and under the default limits.
    pub(crate) fn request(&self, vocabulary: Arc<OpenVocabulary>, constraint: Constraint) -> Request {
        let Self { tenant, deadline, is_forwarded, traced, .. } = self.clone();
        let trace = traced.map(|Traced(call)| call as _);
        Request { tenant, deadline, is_forwarded, trace, ..Request::new(vocabulary, constraint) }
    }
}

/// When a request that arrived just now is of no more use.
pub(crate) fn deadline(metadata: &MetadataMap) -> Option<Instant> {
    let timeout = metadata.get(TIMEOUT).and_then(|timeout| parse_timeout(timeout.to_str().ok()?))?;
    Instant::now().checked_add(timeout)
}

/// The tenant's name that came with a request; empty without one.
///
/// # Errors
/// `INVALID_ARGUMENT` for a tenant's name that is none.
pub(crate) fn tenant(metadata: &MetadataMap) -> Result<&str, Status> {
    match metadata.get(TENANT).map(|name| name.to_str().unwrap_or("\u{fffd}")) {
        None => Ok(""),
        Some(name) if is_tenant(name) => Ok(name),
        Some(_) => {
            let kind = ErrorKind::Invalid;
            let why = format!("{TENANT} is no tenant's name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'");
            Err(status::of_kind(kind, why))
        }
    }
}

/// At most eight digits and a unit. The transport enforces it too, and reads it the same way.
fn parse_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_the_standard_writes_them() {
        for (text, expected) in [
            ("1H", Some(Duration::from_secs(3600))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("50m", Some(Duration::from_millis(50))),
            ("50u", Some(Duration::from_micros(50))),
            ("99999999n", Some(Duration::from_nanos(99_999_999))),
            ("", None),
            ("S", None),
            ("1", None),
            ("+1S", None),
            ("123456789S", None),
            ("1d", None),
            ("1\u{b5}", None),
        ] {
            assert_eq!(parse_timeout(text), expected, "{text:?}");
        }
    }

    #[test]
    fn tenants_have_short_plain_names() {
        let of = |name: &str| {
            let mut request = Called::new(());
            request.metadata_mut().insert(TENANT, name.parse().unwrap());
            Caller::of(&request).map(|caller| caller.tenant)
        };
        assert_eq!(&*Caller::of(&Called::new(())).unwrap().tenant, "");
        assert_eq!(&*of("team-a.prod_1").unwrap(), "team-a.prod_1");
        for bad in ["", "a b", "a/b", &"a".repeat(65)] {
            assert_eq!(of(bad).unwrap_err().code(), tonic::Code::InvalidArgument, "{bad:?}");
        }
    }
}
