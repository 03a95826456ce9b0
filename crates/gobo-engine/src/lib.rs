//! Get-or-compile: constraint to key to store to single-flight to worker pool to verdict
