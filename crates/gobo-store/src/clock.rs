//! Times as milliseconds since 1970, the form in which records and names have them.

#[cfg(feature = "catalog")]
use std::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 for a clock before it.
pub(crate) fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The time of [`unix_ms`], to the millisecond; 1970 for a time beyond the range of the system's clock.
#[cfg(feature = "catalog")]
pub(crate) fn from_unix_ms(ms: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(ms)).unwrap_or(UNIX_EPOCH)
}
