//! CSV files of records: comments that say where the figures come from, a heading, and a row for each figure.
//!
//! Fields are separated by commas (RFC 4180) and lines end with `\n`. Lines that begin with `#` are comments. A field that does not
//! exist is empty.
//!
//! ```
//! use gobo_measure::csv::{Csv, Table, number, quoted};
//!
//! let mut csv = Csv::new("commit 1234567", &["name", "p50_us", "note"]);
//! csv.row(["hit".into(), number(Some(23.97), 1), quoted("unix, loopback")]);
//! csv.row(["miss".into(), number(None, 1), String::new()]);
//! let text = csv.finish();
//! assert_eq!(text, "# commit 1234567\nname,p50_us,note\nhit,24.0,\"unix, loopback\"\nmiss,,\n");
//!
//! let table = Table::parse(&text);
//! assert_eq!(table.comments, ["commit 1234567"]);
//! assert_eq!(table.find(&[("name", "hit")]).unwrap().get("note"), Some("unix, loopback"));
//! assert_eq!(table.find(&[("name", "miss")]).unwrap().number("p50_us"), None);
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

/// A CSV file that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Without their `# `.
    pub comments: Vec<String>,
    /// The heading.
    pub columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a file as [`Csv`] writes it: no field holds the end of a line.
    pub fn parse(text: &str) -> Self {
        let mut table = Self::default();
        for line in text.lines() {
            match line.strip_prefix("# ") {
                Some(comment) => table.comments.push(comment.to_owned()),
                None if table.columns.is_empty() => table.columns = fields(line),
                None => table.rows.push(fields(line)),
            }
        }
        table
    }

    /// All rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = Fields<'_>> {
        self.rows.iter().map(|fields| Fields { columns: &self.columns, fields })
    }

    /// The first row with these fields, each given by its column.
    pub fn find(&self, fields: &[(&str, &str)]) -> Option<Fields<'_>> {
        self.rows().find(|row| fields.iter().all(|(column, field)| row.get(column) == Some(field)))
    }
}

/// The fields of a row.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    columns: &'a [String],
    fields: &'a [String],
}

impl<'a> Fields<'a> {
    /// The field in a column; `None` where it is empty, and where the file has no such column.
    pub fn get(self, column: &str) -> Option<&'a str> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.fields.get(at).map(String::as_str).filter(|field| !field.is_empty())
    }

    /// The field in a column as a number.
    pub fn number(self, column: &str) -> Option<f64> {
        self.get(column)?.parse().ok()
    }
}

/// The fields of a line, without the quotation marks around them.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let rows = [["a", "", "say \"no\", twice"], ["", "1.5", "\"\""], [",", "2", ""]];
        let mut csv = Csv::new("some", &["name", "value", "note"]);
        rows.iter().for_each(|row| csv.row(row.map(quoted)));
        csv.comment("end, \"quoted\"");
        let table = Table::parse(&csv.finish());
        assert_eq!(
            (table.rows, table.columns),
            (
                rows.map(|row| row.map(String::from).to_vec()).to_vec(),
                vec!["name".into(), "value".into(), "note".into()]
            )
        );
        assert_eq!(table.comments, ["some", "end, \"quoted\""]);
    }
}
