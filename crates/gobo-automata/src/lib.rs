//! Byte-level automata from regular expressions and choice lists, under counted budgets
