//! Where in a JSON value the end of its beginning stands.
//!
//! One pass with a stack of the open brackets. The beginning is taken to be one: an index has read it.

/// A way down into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Property(String),
    Item(usize),
}

/// What the text is about to write, or in the middle of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    /// A value, of which this is the first character; `None` before it.
    Value(Option<char>),
    /// Between the properties of an object, or inside a name.
    Properties {
        /// The names that are there, in their order.
        names: Vec<String>,
        /// What is there of the next name, as it is written; `None` before its quote.
        partial: Option<String>,
        /// Whether a name may come here: after an opening bracket or a comma.
        takes_name: bool,
    },
    /// After an item of an array.
    Items,
}

/// The end of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    /// The steps from the whole value to the value or the container in question.
    pub(super) steps: Vec<Step>,
    pub(super) at: At,
}

enum Bracket {
    Object(Vec<String>),
    Array(usize),
}

enum State {
    Value,
    /// Inside a string or a name since this byte, its quote included.
    Quoted {
        start: usize,
        is_name: bool,
    },
    /// Inside a number or a word.
    Bare(char),
    Name,
    Colon,
    AfterValue,
}

/// The position at the end of `text`; `None` after a whole value, and for what no JSON text begins with. O(bytes).
pub(super) fn position(text: &str) -> Option<Position> {
    let mut open: Vec<Bracket> = Vec::new();
    let mut state = State::Value;
    let mut is_escaped = false;
    for (at, char) in text.char_indices() {
        if let State::Quoted { start, is_name } = state {
            match char {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' if is_name => {
                    let Some(Bracket::Object(names)) = open.last_mut() else { return None };
                    names.push(serde_json::from_str(&text[start..=at]).ok()?);
                    state = State::Colon;
                }
                '"' => state = State::AfterValue,
                _ => {}
            }
            continue;
        }
        if matches!(state, State::Bare(_)) && (",]}".contains(char) || char.is_ascii_whitespace()) {
            state = State::AfterValue;
        }
        if char.is_ascii_whitespace() {
            continue;
        }
        state = match (state, char) {
            (State::Value, '{') => {
                open.push(Bracket::Object(Vec::new()));
                State::Name
            }
            (State::Value, '[') => {
                open.push(Bracket::Array(0));
                State::Value
            }
            (State::Value, '"') => State::Quoted { start: at, is_name: false },
            (State::Name, '"') => State::Quoted { start: at, is_name: true },
            (State::Value | State::Name | State::AfterValue, ']' | '}') => {
                open.pop()?;
                State::AfterValue
            }
            (State::Colon, ':') => State::Value,
            (State::AfterValue, ',') => match open.last_mut()? {
                Bracket::Object(_) => State::Name,
                Bracket::Array(items) => {
                    *items += 1;
                    State::Value
                }
            },
            (State::Value, first) | (State::Bare(first), _) => State::Bare(first),
            _ => return None,
        };
    }
    let at = match state {
        // After a name, the value that belongs to it.
        State::Value | State::Colon => At::Value(None),
        State::Bare(first) => At::Value(Some(first)),
        State::Quoted { is_name: false, .. } => At::Value(Some('"')),
        State::Quoted { start, is_name: true } => {
            between(open.last()?, Some(text[start + 1..].to_owned()), true)?
        }
        State::Name => between(open.last()?, None, true)?,
        State::AfterValue => match open.last()? {
            Bracket::Array(_) => At::Items,
            object @ Bracket::Object(_) => between(object, None, false)?,
        },
    };
    let below = if matches!(at, At::Value(_)) { open.len() } else { open.len() - 1 };
    let step = |bracket: &Bracket| match bracket {
        Bracket::Object(names) => names.last().cloned().map(Step::Property),
        Bracket::Array(items) => Some(Step::Item(*items)),
    };
    Some(Position { steps: open[..below].iter().map(step).collect::<Option<_>>()?, at })
}

fn between(bracket: &Bracket, partial: Option<String>, takes_name: bool) -> Option<At> {
    match bracket {
        Bracket::Object(names) => Some(At::Properties { names: names.clone(), partial, takes_name }),
        Bracket::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<(String, At)> {
        let Position { steps, at } = position(text)?;
        let step = |step: &Step| match step {
            Step::Property(name) => format!("/{name}"),
            Step::Item(item) => format!("/{item}"),
        };
        Some((steps.iter().map(step).collect(), at))
    }

    #[test]
    fn the_end_of_a_text_is_found() {
        let value = |first| At::Value(first);
        let properties = |names: &[&str], partial: Option<&str>, takes_name| At::Properties {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            partial: partial.map(str::to_owned),
            takes_name,
        };
        for (text, path, at) in [
            ("", "", value(None)),
            (" 12", "", value(Some('1'))),
            ("\"a, {", "", value(Some('"'))),
            ("{", "", properties(&[], None, true)),
            ("{\"q", "", properties(&[], Some("q"), true)),
            ("{\"q\"", "/q", value(None)),
            ("{\"q\": ", "/q", value(None)),
            ("{\"q\": 99", "/q", value(Some('9'))),
            ("{\"q\": 99 ", "", properties(&["q"], None, false)),
            ("{\"q\": 99, ", "", properties(&["q"], None, true)),
            ("{\"q\": \"\\\"}\", \"\\u0061\": [1, [], {\"b\": t", "/a/2/b", value(Some('t'))),
            ("[[1, 2], 3", "/1", value(Some('3'))),
            ("[[1, 2]", "", At::Items),
            ("[", "/0", value(None)),
        ] {
            assert_eq!(shown(text), Some((path.to_owned(), at)), "{text}");
        }
        for text in ["{} ", "[1]", "1 ", "\"a\"", "}", "{1", "[1}x"] {
            assert!(shown(text).is_none(), "{text}");
        }
    }
}
