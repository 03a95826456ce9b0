//! Dates, times and durations: RFC 3339.

use gobo_automata::Language;
use gobo_types::{Budget, CompileError};

use super::pattern::regex;

pub(super) const NARROWED: &str = "a leap second has an offset of whole half hours";

/// What is let through where texts without an offset are asked for.
pub(super) const NAIVE: &str = "a time may have no offset from UTC";

/// In a leap second, offsets are multiples of this many minutes.
///
/// Which offset a leap second takes is settled by hour and minute (it is 23:59:60 in UTC), so an automaton must
/// remember these up to the offset: 1,440 values in each of some eight places for all offsets, 48 for half hours.
const LEAP_OFFSETS: usize = 30;

/// `full-date` of RFC 3339, section 5.6, with the days of each month of appendix C.
fn full_date() -> String {
    let leap_year = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
    let days_28 = "(?:0[1-9]|1[0-9]|2[0-8])";
    let days_30 = "(?:0[1-9]|[12][0-9]|30)";
    let days_31 = "(?:0[1-9]|[12][0-9]|3[01])";
    format!(
        "(?:[0-9]{{4}}-(?:(?:0[13578]|1[02])-{days_31}|(?:0[469]|11)-{days_30}|02-{days_28})|{leap_year}-02-29)"
    )
}

const HOUR_MINUTE: &str = "(?:[01][0-9]|2[0-3]):[0-5][0-9]";
const FRACTION: &str = r"(?:\.[0-9]+)?";

/// `partial-time` of RFC 3339, section 5.6, without second 60: which minute may have one depends on the offset.
fn naive_time() -> String {
    format!("{HOUR_MINUTE}:[0-5][0-9]{FRACTION}")
}

/// `full-time` of RFC 3339, section 5.6. Second 60 is 23:59:60 in UTC: section 5.7 and appendix D.
fn full_time() -> String {
    let zone = format!("(?:[Zz]|[+-]{HOUR_MINUTE})");
    let day = 24 * 60;
    let clock = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let leap_seconds = (0..day).step_by(LEAP_OFFSETS).map(|ahead| {
        // 23:59 in UTC on a clock that is `ahead` minutes ahead, or the rest of the day behind.
        let local = clock((day - 1 + ahead) % day);
        let (plus, minus) = (clock(ahead), clock((day - ahead) % day));
        let utc = if ahead == 0 { "|[Zz]" } else { "" };
        format!(r"|{local}:60{FRACTION}(?:\+{plus}|-{minus}{utc})")
    });
    format!("(?:{}{zone}{})", naive_time(), leap_seconds.collect::<String>())
}

pub(super) fn date(budget: &Budget) -> Result<Language, CompileError> {
    regex(&full_date(), budget)
}

pub(super) fn time(budget: &Budget) -> Result<Language, CompileError> {
    regex(&full_time(), budget)
}

/// `date-time` of RFC 3339, section 5.6, whose note lets `t` and `z` be small.
pub(super) fn date_time(budget: &Budget) -> Result<Language, CompileError> {
    regex(&format!("{}[Tt]{}", full_date(), full_time()), budget)
}

/// [`time`], with or without an offset.
pub(super) fn time_or_naive(budget: &Budget) -> Result<Language, CompileError> {
    regex(&format!("(?:{}|{})", full_time(), naive_time()), budget)
}

/// [`date_time`], with or without an offset.
pub(super) fn date_time_or_naive(budget: &Budget) -> Result<Language, CompileError> {
    regex(&format!("{}[Tt](?:{}|{})", full_date(), full_time(), naive_time()), budget)
}

/// `duration` of RFC 3339, appendix A, with the capitals of ISO 8601: the grammar alone would take small letters too.
pub(super) fn duration(budget: &Budget) -> Result<Language, CompileError> {
    let minute = "[0-9]+M(?:[0-9]+S)?";
    let time = format!("T(?:[0-9]+H(?:{minute})?|{minute}|[0-9]+S)");
    let month = "[0-9]+M(?:[0-9]+D)?";
    let date = format!("(?:[0-9]+Y(?:{month})?|{month}|[0-9]+D)(?:{time})?");
    regex(&format!("P(?:{date}|{time}|[0-9]+W)"), budget)
}
