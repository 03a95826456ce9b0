//! The file format of vocabularies and indices: writer, mapped reader, matcher
