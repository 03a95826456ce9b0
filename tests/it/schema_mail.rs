//! E-mail addresses with a `maxLength`, each bound from 1 to 300: addresses of lengths near all bounds, and every token along them,
//! against a judge that reads an address character by character.

use gobo_artifact::Matcher;
use gobo_oracle::Tokens;
use gobo_types::{Binding, Constraint, SchemaOptions, Whitespace};

use crate::subject::{allowed, matcher_with};

/// The most characters of a local part, of a first label, and of the labels after its dot.
const MOST: [usize; 3] = [64, 63, 63];

/// Whether labels between dots are sound.
fn are_labels(text: &str) -> bool {
    text.split('.').all(|label| {
        let is_inside = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_inside && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    })
}

fn is_domain(domain: &str) -> bool {
    let (first, others) = domain.split_once('.').unwrap_or((domain, "c"));
    let fits = first.len() <= MOST[1] && others.len() <= MOST[2];
    domain == "[1.2.3.4]" || fits && are_labels(first) && are_labels(others)
}

/// Whether a value is an address.
fn is_address(value: &str) -> bool {
    let end = if let Some(quoted) = value.strip_prefix('"') {
        let mut bytes = quoted.bytes().enumerate();
        loop {
            match bytes.next() {
                Some((at, b'"')) => break at + 2,
                Some((_, b'\\')) if bytes.next().is_none() => return false,
                Some(_) => {}
                None => return false,
            }
        }
    } else {
        let is_atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
        let local = value.split('@').next().unwrap_or_default();
        if !local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom)) {
            return false;
        }
        local.len()
    };
    end <= MOST[0] && value[end..].strip_prefix('@').is_some_and(is_domain)
}

/// The value of a text of a string without its first quote, and whether the string has ended; `None` of other texts.
fn value_of(text: &str) -> Option<(String, bool)> {
    let mut value = String::new();
    let mut chars = text.strip_prefix('"')?.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => return chars.next().is_none().then_some((value, true)),
            '\\' => value.push(chars.next().filter(|char| "\"\\".contains(*char))?),
            other => value.push(other),
        }
    }
    Some((value, false))
}

/// Whether a text of at most `max` characters begins so. Addresses in brackets are not asked for.
fn begins(text: &str, max: usize) -> bool {
    if text.is_empty() {
        return begins("\"", max);
    }
    let backslashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
    if backslashes % 2 == 1 {
        return ['"', '\\'].iter().any(|next| begins(&format!("{text}{next}"), max));
    }
    let Some((value, has_ended)) = value_of(text) else { return false };
    // What ends an address from any of its places.
    let ends: &[&str] = if has_ended { &[""] } else { &["", "a", "@a", "a@a", "\"@a", "a\"@a"] };
    ends.iter().any(|end| value.len() + end.len() <= max && is_address(&format!("{value}{end}")))
}

fn text_of(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A generator of numbers below a bound, the same in every run.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    }
}

/// So many characters, `pieces` over and over.
fn filled(pieces: &str, length: usize) -> String {
    pieces.chars().cycle().take(length).collect()
}

/// A value that is an address or nearly one, near some of the bounds.
fn value(max: usize, random: &mut impl FnMut(usize) -> usize) -> String {
    let mut of_part = |most: usize| [1, 2, 5, most - 1, most, most + 1, 1 + random(most)][random(7)];
    let (mut local, first, others) = (of_part(MOST[0]), of_part(MOST[1]), of_part(MOST[2]));
    let mut domain = filled(["b", "b-b", "b9"][random(3)], first - 1) + "b";
    match random(4) {
        0 => "[1.2.3.4]".clone_into(&mut domain),
        1 => {}
        _ => domain.extend([".", &filled(["c", "c.", "c-c"][random(3)], others - 1), "d"]),
    }
    if random(2) == 0 {
        local = (max + random(3)).saturating_sub(2 + domain.len()).max(1);
    }
    let local = match random(4) {
        0 if local > 1 => format!("\"{}\"", filled(["@", "q\\\"", "\\\\", " @b"][random(4)], local - 2)),
        1 => filled("a.", local - 1) + "a",
        _ => filled("ab+", local),
    };
    format!("{local}@{domain}")
}

/// Each character of ASCII, and pieces of addresses.
fn tokens() -> Tokens {
    let mut tokens: Vec<String> = (' '..='~').map(|char| char.to_string()).collect();
    for piece in ["a", "b", "ab+", "a.", "c.", "-b", "@", "\\\"", "\\\\", "\\\\\\\"", "@b", "q"] {
        tokens.extend([2, 3, 7, 20, 40].map(|times| piece.repeat(times)));
    }
    let more = [
        "\"a",
        "\"a@b",
        "a@b",
        "@b.",
        "@b\"",
        "b\"",
        "b.c",
        "\\\"@",
        "\\\"@b",
        "a\\\"@b",
        "d\"",
        "\"\\\"",
        "b.c.d\"",
        "aa@bb.cc\"",
        "b@",
        "+@bbb.",
    ];
    tokens.extend(more.map(str::to_owned));
    tokens.push(format!("\"{}@{}", "a".repeat(64), "b".repeat(40)));
    tokens.push(format!("\"{}@b", "a".repeat(65)));
    tokens.sort();
    tokens.dedup();
    let mut all = Tokens::new();
    tokens.iter().for_each(|token| _ = all.push(token.as_bytes(), false));
    all.push(b"<eos>", true);
    all
}

/// All tokens, and the EOS, at a text.
fn check(matcher: &Matcher, tokens: &Tokens, binding: &Binding, text: &str, max: usize) {
    let found = allowed(matcher, binding);
    let is_asked = |token: &[u8]| !token.contains(&b'[');
    let may_follow = |token: &[u8]| {
        let token = std::str::from_utf8(token).unwrap();
        begins(&format!("{text}{token}"), max)
    };
    for (id, token, is_special) in tokens.entries().filter(|(_, token, _)| is_asked(token)) {
        let wanted = if is_special { value_of(text).is_some_and(|of| of.1) } else { may_follow(token) };
        assert_eq!(found.contains(&id), wanted, "maxLength {max}: {} after {text}", token.escape_ascii());
    }
}

#[test]
fn addresses_have_at_most_as_many_characters_as_asked_for() {
    let tokens = tokens();
    let eos = tokens.len() - 1;
    let binding = Binding::new(vec![eos], tokens.len());
    let options = SchemaOptions { whitespace: Whitespace::Compact, ..SchemaOptions::default() };
    let mut sound = 0;
    for max in 3..=300 {
        let schema = format!(r#"{{"type": "string", "format": "email", "maxLength": {max}}}"#);
        let matcher = matcher_with(&Constraint::schema(&schema, options.clone()), &tokens, &binding);
        let mut random = random(max as u64);
        for number in 0..24 {
            let value = value(max, &mut random);
            let text = text_of(&value);
            let mut whole = matcher.clone();
            let is_read = whole.advance_bytes(text.as_bytes()).is_ok() && whole.is_complete();
            assert_eq!(is_read, value.len() <= max && is_address(&value), "maxLength {max}: {text}");
            sound += usize::from(is_read);
            if !is_read || number % 4 > 0 || value.contains('[') {
                continue;
            }
            let (mut at, mut matcher) = (0, matcher.clone());
            while at < text.len() {
                let left = max.saturating_sub(at);
                if at < 3 || left < 6 || random(6) == 0 {
                    check(&matcher, &tokens, &binding, &text[..at], max);
                }
                let next: Vec<_> = tokens
                    .entries()
                    .filter(|(_, token, _)| text.as_bytes()[at..].starts_with(token))
                    .collect();
                let (id, token, _) = next[random(next.len())];
                matcher
                    .advance(id)
                    .unwrap_or_else(|error| panic!("maxLength {max}: {error}: {text} at {at}"));
                at += token.len();
            }
            check(&matcher, &tokens, &binding, &text, max);
        }
    }
    assert!(sound > 1_500, "{sound}");
}

#[test]
fn a_length_that_no_address_has_is_refused() {
    for max in 1..3 {
        let schema = format!(r#"{{"type": "string", "format": "email", "maxLength": {max}}}"#);
        let constraint = Constraint::schema(&schema, SchemaOptions::default());
        let (kind, _) = crate::subject::refusal(&constraint, &tokens());
        assert_eq!(kind, gobo_types::RefusalKind::Unsatisfiable);
    }
}
