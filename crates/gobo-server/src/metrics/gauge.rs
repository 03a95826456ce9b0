use metrics::gauge;

/// Sets a gauge to a whole number.
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
pub(super) fn set(name: &'static str, value: u64) {
    gauge!(name).set(value as f64);
}
