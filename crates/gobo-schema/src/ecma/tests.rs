use gobo_types::CompileLimits;
use proptest::prelude::*;

use super::*;

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

#[test]
fn smoke() {
    for (pattern, text, expected) in
        [("foo", "a foo", true), (r"^(?:(?!ab).)*$", "aab", false), (r"\bfoo\b", "a foo.", true)]
    {
        assert_eq!(ecma(pattern, &budget()).unwrap().accepts(text), expected, "{pattern}");
    }
}
