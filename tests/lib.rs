//! Oracles that judge compiled indices and share no code with the compiler.
