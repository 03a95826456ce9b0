//! Quantities as a person reads them.

/// `1234567` as `1,234,567`.
///
/// ```
/// assert_eq!(gobo_types::grouped(1_234_567), "1,234,567");
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in the largest binary unit of which it has at least one, to a tenth.
///
/// ```
/// assert_eq!(gobo_types::human_bytes(999), "999 B");
/// assert_eq!(gobo_types::human_bytes(3 << 29), "1.5 GiB");
/// ```
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} B");
    }
    // A size that would be rounded to 1,024 of its unit is one of the next.
    let tenths_of = |unit: u32| (u128::from(bytes) * 10 + (1 << (10 * unit - 1))) >> (10 * unit);
    let unit = (1..6).find(|&unit| tenths_of(unit) < 10_240).unwrap_or(6);
    let (whole, tenth) = (tenths_of(unit) / 10, tenths_of(unit) % 10);
    let name = UNITS[unit as usize - 1];
    if tenth == 0 { format!("{whole} {name}") } else { format!("{whole}.{tenth} {name}") }
}
