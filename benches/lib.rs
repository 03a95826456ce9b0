//! Benchmarks of gobo live in `benches/`; run them with `cargo bench` in this folder.
