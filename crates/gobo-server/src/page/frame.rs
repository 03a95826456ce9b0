//! What all pages have around them, and small parts that several have.

use maud::{DOCTYPE, Markup, html};

/// The pages, with their names.
const PAGES: [(&str, &str); 4] =
    [("/", "Overview"), ("/indices", "Indices"), ("/verdicts", "Verdicts"), ("/explain", "Explain")];

/// A page with this title.
pub(super) fn frame(path: &str, title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " – gobo" }
                link rel="stylesheet" href="/style.css";
                link rel="icon" href="data:,";
            }
            body {
                a.skip href="#content" { "To the content" }
                header {
                    nav aria-label="Pages" {
                        @for (to, name) in PAGES {
                            @if to == path { a href=(to) aria-current="page" { (name) } } @else { a href=(to) { (name) } }
                        }
                    }
                }
                main #content tabindex="-1" {
                    h1 { (title) }
                    (content)
                }
            }
        }
    }
}

/// A page that says what is wrong.
pub(super) fn trouble(why: &str) -> Markup {
    frame("", "Something is wrong", &html! { p role="alert" { (why) } })
}

/// Names and values.
pub(super) fn facts(facts: &[(&str, String)]) -> Markup {
    html! {
        dl {
            @for (name, value) in facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// The beginning of a text of at most so many bytes, and whether there is more.
pub(super) fn clipped(text: &str, most: usize) -> (&str, bool) {
    if text.len() <= most {
        return (text, false);
    }
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    (&text[..end], true)
}
