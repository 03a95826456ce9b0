//! Sizes, counts, times and addresses as people write them.
use std::borrow::Cow;
use std::time::Duration;

/// A number of bytes, or none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound(pub Option<u64>);

const SIZES: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

const COUNTS: [(&str, u64); 3] = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

const TIMES: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3600), ("d", 24 * 3600)];

/// Bytes: `32GiB`, `500MB`, `1048576`.
///
/// # Errors
/// For everything else, in the words of a usage error.
pub fn size(text: &str) -> Result<u64, String> {
    scaled(text, &SIZES).ok_or_else(|| "expected a size such as 32GiB, 500MB or 1048576".to_owned())
}

/// A number of things: `2G`, `500k`, `2,000,000`.
///
/// # Errors
/// For everything else, in the words of a usage error.
pub fn count(text: &str) -> Result<u64, String> {
    scaled(&without_groups(text), &COUNTS)
        .ok_or_else(|| "expected a number such as 250k, 2G or 2,000,000".to_owned())
}

/// The text without the commas between groups of three digits; as it is where they stand elsewhere.
fn without_groups(text: &str) -> Cow<'_, str> {
    let mut groups = text.split(',');
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()) && is_digits(group));
    if first && text.contains(',') && groups.all(|group| group.len() == 3 && is_digits(group)) {
        text.replace(',', "").into()
    } else {
        text.into()
    }
}

/// A group of the system: its number, or its name in `/etc/group`.
///
/// # Errors
/// For everything else, in the words of a usage error.
pub fn group(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    group_of(text, &groups).ok_or_else(|| format!("/etc/group has no group {text:?}; its number will do"))
}

/// The number of a group in a file as group(5) has it.
fn group_of(name: &str, groups: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next() == Some(name) && !name.is_empty();
        fields.nth(1).filter(|_| is_it)?.parse().ok()
    })
}

/// As [`size`], or `none`.
///
/// # Errors
/// As for [`size`].
pub fn bound(text: &str) -> Result<Bound, String> {
    if text == "none" {
        return Ok(Bound(None));
    }
    scaled(text, &SIZES)
        .map(|bytes| Bound(Some(bytes)))
        .ok_or_else(|| "expected a size such as 32GiB, 500MB or 1048576, or none".to_owned())
}

/// `90s`, `10m`, `2h`, `30d`.
///
/// # Errors
/// For everything else, in the words of a usage error.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds =
        if text.ends_with(|last: char| last.is_ascii_digit()) { None } else { scaled(text, &TIMES) };
    let expected = || "expected a time such as 90s, 10m, 2h or 30d".to_owned();
    seconds.map(Duration::from_secs).ok_or_else(expected)
}

/// `localhost:50051`, `10.0.0.7:7450`, `[::1]:7450`. Whether there is such a host is found out later.
///
/// # Errors
/// If the text is no host and port.
pub fn host_and_port(text: &str) -> Result<String, String> {
    let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    // Of an address of version 6 the last group would be taken for the port.
    let is_host = |host: &str| !host.contains(':') || host.starts_with('[') && host.ends_with(']');
    let is_port = |port: &str| !port.starts_with('+') && port.parse::<u16>().is_ok();
    parts.filter(|(host, port)| is_host(host) && is_port(port)).map(|_| text.to_owned()).ok_or_else(|| {
        "expected a host and a port, such as localhost:50051, 10.0.0.7:7450 or [::1]:7450".to_owned()
    })
}

/// Which lines are logged, as `tracing_subscriber` reads it.
///
/// # Errors
/// If the text is no filter.
pub fn log_filter(text: &str) -> Result<String, String> {
    let read = tracing_subscriber::EnvFilter::try_new(text);
    read.map(|_| text.to_owned())
        .map_err(|error| format!("expected info, or warn,gobo_engine=debug: {error}"))
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let unit = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)));
    let (number, scale) = unit.unwrap_or((text, 1));
    // `parse` takes a sign too.
    let is_number = number.trim_end().bytes().all(|byte| byte.is_ascii_digit());
    number.trim_end().parse::<u64>().ok().filter(|_| is_number)?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        assert_eq!(size("32GiB"), Ok(32 << 30));
        assert_eq!(size("500 MB"), Ok(500_000_000));
        assert_eq!((size("0"), size("7B")), (Ok(0), Ok(7)));
        assert_eq!((bound("none"), bound("1KiB")), (Ok(Bound(None)), Ok(Bound(Some(1024)))));
        assert_eq!(
            (duration("90s"), duration("10m")),
            (Ok(Duration::from_secs(90)), Ok(Duration::from_secs(600)))
        );
        for bad in ["", "GiB", "-1", "+1", "1.5GiB", "99999999TiB", "none", "1 G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        for good in ["localhost:50051", "10.0.0.7:7450", "[::1]:0", "a-b.example:1"] {
            assert_eq!(host_and_port(good).as_deref(), Ok(good));
        }
        for bad in ["", "7450", ":7450", "localhost", "localhost:", "::1:7450", "h:65536", "h:+1", "h:-1"] {
            assert!(host_and_port(bad).is_err(), "{bad}");
        }
        assert_eq!(
            (count("262144"), count("2G"), count("500k")),
            (Ok(262_144), Ok(2_000_000_000), Ok(500_000))
        );
        assert_eq!((count("2,000,000"), count("1,000")), (Ok(2_000_000), Ok(1_000)));
        for bad in ["", "1,00", ",100", "1000,000", "1,000k", "2GiB", "1e6", "-1", "1.5M", "99999999999G"] {
            assert!(count(bad).is_err(), "{bad}");
        }
        for bad in ["", "10", "m", "-1m", "1w"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_group_is_a_number_or_a_name() {
        let groups = "root:x:0:\ngobo:x:65532:a,b\nbroken\n:x:7:\n";
        assert_eq!((group_of("gobo", groups), group_of("root", groups)), (Some(65532), Some(0)));
        for none in ["", "broken", "x", "gob"] {
            assert_eq!(group_of(none, groups), None, "{none:?}");
        }
        assert_eq!((group("17"), group("root")), (Ok(17), Ok(0)));
        assert!(group("no such group").is_err());
    }
}
