//! CSV files of records: comments that say where the figures come from, a heading, and a row for each figure.
//!
//! Fields are separated by commas (RFC 4180) and lines end with `\n`. Lines that begin with `#` are comments. A field that does not
//! exist is empty.
//!
//! ```
//! use gobo_measure::csv::{Csv, number, quoted};
//!
//! let mut csv = Csv::new("commit 1234567", &["name", "p50_us", "note"]);
//! csv.row(["hit".into(), number(Some(23.97), 1), quoted("unix, loopback")]);
//! csv.row(["miss".into(), number(None, 1), String::new()]);
//! assert_eq!(csv.finish(), "# commit 1234567\nname,p50_us,note\nhit,24.0,\"unix, loopback\"\nmiss,,\n");
//! ```
use std::fmt::{Display, Write};

/// A CSV file as far as it is written.
#[derive(Debug, Clone, Default)]
pub struct Csv(String);

impl Csv {
    /// A file that begins with a comment on its origin, and its heading.
    pub fn new(origin: &str, columns: &[&str]) -> Self {
        let mut csv = Self::default();
        csv.comment(origin);
        csv.row(columns);
        csv
    }

    /// A file that begins with its heading.
    pub fn of_columns(columns: &[&str]) -> Self {
        let mut csv = Self::default();
        csv.row(columns);
        csv
    }

    /// A line that is no row.
    pub fn comment(&mut self, words: impl Display) {
        // Writing to a text never fails.
        let _ = writeln!(self.0, "# {words}");
    }

    /// A row of fields that are written as they are: see [`quoted`] for texts.
    pub fn row(&mut self, fields: impl IntoIterator<Item = impl AsRef<str>>) {
        for (at, field) in fields.into_iter().enumerate() {
            if at > 0 {
                self.0.push(',');
            }
            self.0 += field.as_ref();
        }
        self.0.push('\n');
    }

    /// The whole file.
    pub fn finish(self) -> String {
        self.0
    }
}

/// A text as a field: in quotation marks where it has a comma or quotation marks, which are doubled then.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// A number with so many decimals; empty where there is none.
pub fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.decimals$}"))
}
