//! Vocabulary and automaton to index
