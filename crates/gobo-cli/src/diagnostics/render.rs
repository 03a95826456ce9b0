//! Draws a message with the line that it is about.

use std::io;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use gobo_types::{CompileError, Span};

use super::parts;
use super::problem::Problem;
use super::written::Written;
use crate::output;

/// Columns of a message; longer lines of the source are cut around the place.
const WIDTH: usize = 100;
/// Longest line, in bytes, that is given to the renderer: it takes some 100 bytes for each of a line.
const MAX_LINE_BYTES: usize = 1 << 16;

/// A message: what, the line of the source with the place marked, and what to do next.
#[derive(Debug)]
pub struct Diagnostic<'a> {
    title: String,
    place: Option<(&'a Written, Span)>,
    help: String,
}

impl<'a> Diagnostic<'a> {
    /// The message of a verdict on a constraint.
    pub fn of(error: &'a CompileError, written: Option<&'a Written>) -> Self {
        let (place, span, _) = parts(error);
        let place = written
            .zip(place)
            .and_then(|(written, place)| written.find(place, span).map(|found| (written, found.span)))
            .filter(|(written, span)| line_around(&written.text, *span).1.len() <= MAX_LINE_BYTES);
        let mut title = error.to_string();
        // The place is drawn; a JSON pointer says more than that.
        if place.is_some_and(|(written, _)| !written.is_schema)
            && let (Some(drawn), _, _) = parts(error)
        {
            title = title.replacen(&format!(" ({})", drawn.as_str()), "", 1);
        }
        Self { title, place, help: super::help(error) }
    }

    /// The message of a problem that the command line found itself.
    pub fn of_problem(problem: &'a Problem) -> Self {
        let Problem { what, written, span, help } = problem;
        let place = (line_around(&written.text, *span).1.len() <= MAX_LINE_BYTES).then_some((written, *span));
        let title = if place.is_some() { what.clone() } else { problem.to_string() };
        Self { title, place, help: help.clone() }
    }

    /// Writes it to stderr, in colours if that is a terminal and `NO_COLOR` is not set.
    pub fn print(&self) {
        output::note(self.text(output::is_coloured(&io::stderr())));
    }

    /// The message as lines of text.
    ///
    /// ```
    /// use gobo_cli::diagnostics::{Diagnostic, Written};
    /// use gobo_types::{CompileError, RefusalKind};
    ///
    /// let error = CompileError::refuse(RefusalKind::Unsupported, "offset 1", "look-around").spanning(1..6);
    /// let text = Diagnostic::of(&error, Some(&Written::option("--regex", "a(?=b)"))).text(false);
    /// assert!(text.contains("--regex:1:2") && text.ends_with("^^^^^"), "{text}");
    /// ```
    pub fn text(&self, is_coloured: bool) -> String {
        let mut message = Level::ERROR.primary_title(&self.title).elements(self.snippet());
        if !self.help.is_empty() {
            message = message.element(Level::HELP.message(&self.help));
        }
        let renderer = if is_coloured { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(WIDTH).render(&[message])
    }

    fn snippet(&self) -> Option<Snippet<'a, annotate_snippets::Annotation<'a>>> {
        let (written, span) = self.place?;
        let (first, _) = span.line_and_column(&written.text);
        let marked = span.within(&written.text);
        // One line: of what goes on below it the rest of the line is marked.
        let (line_start, line) = line_around(&written.text, span);
        let (start, end) = (marked.start - line_start, (marked.end - line_start).min(line.len()));
        let mark = AnnotationKind::Primary.span(start..end.max(start));
        Some(Snippet::source(line).line_start(first).path(written.name.as_str()).annotation(mark))
    }
}

/// Where the line of the first character of a span starts, and its text.
fn line_around(text: &str, span: Span) -> (usize, &str) {
    let start = text[..span.within(text).start].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[start..];
    (start, &rest[..rest.find('\n').unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use gobo_types::RefusalKind;

    use super::*;

    fn drawn(text: &str, span: std::ops::Range<usize>) -> String {
        let error = CompileError::refuse(RefusalKind::Unsupported, "offset 2", "not here")
            .spanning(span)
            .advising("Leave it out.");
        let written = Written::option("--regex", text);
        Diagnostic::of(&error, Some(&written)).text(false)
    }

    #[test]
    fn the_place_is_marked_in_its_line() {
        for (text, span, line, source, mark) in [
            ("é(?=a)", 2..7, " --> --regex:1:2", "1 | é(?=a)", "  |  ^^^^^"),
            ("ab\nc\td\re", 4..6, " --> --regex:2:2", "2 | c    d\u{240d}e", "  |  ^^^^^"),
            ("ab", 2..2, " --> --regex:1:3", "1 | ab", "  |   ^"),
            ("", 0..0, " --> --regex:1:1", "1 |", "  | ^"),
            ("a\u{1b}[31mb\0", 1..2, " --> --regex:1:2", "1 | a\u{241b}[31mb\u{2400}", "  |  ^"),
        ] {
            let expected = format!(
                "error: unsupported: not here\n{line}\n  |\n{source}\n{mark}\n  |\n  = help: Leave it out."
            );
            assert_eq!(drawn(text, span), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let drawn = drawn(&"x".repeat(10_000), 5000..5001);
        assert!(drawn.contains("--regex:1:5001\n") && drawn.contains("...xxx"), "{drawn}");
        assert!(drawn.lines().all(|line| line.len() <= 2 * WIDTH), "{drawn}");
        let drawn = super::tests::drawn(&"x".repeat(MAX_LINE_BYTES + 1), 5000..5001);
        assert_eq!(drawn, "error: unsupported: not here (offset 2)\n |\n = help: Leave it out.");
    }
}
