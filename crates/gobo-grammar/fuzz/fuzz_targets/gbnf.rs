//! Any text as a grammar of this dialect, under a small budget.
#![no_main]

use gobo_grammar::Written;
use gobo_types::{Budget, CompileLimits, Dialect, Indentation, NamedClasses};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|grammar: &str| {
    let limits = CompileLimits { max_states: 1 << 10, max_steps: 1 << 20, max_bytes: 16 << 20 };
    let (dialect, indentation) = (Dialect::Gbnf, Indentation::default());
    let classes = NamedClasses::NONE;
    let written =
        Written { dialect, grammar, start: "root", lexer: None, indentation, documents: &[], classes };
    let _ = written.read(&Budget::new(limits));
    let _ = written.outline();
});
