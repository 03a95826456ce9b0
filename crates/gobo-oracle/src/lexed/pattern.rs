//! Regular expressions by backtracking.

/// A regular expression.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// Exactly this text.
    Text(String),
    /// One of these characters, or one other, but no line feed.
    Chars(Vec<char>, bool),
    /// One after the other.
    Concat(Vec<Pattern>),
    /// Any one of these, the first one if it does.
    Alternate(Vec<Pattern>),
    /// So many times.
    Repeat {
        /// What is repeated.
        pattern: Box<Pattern>,
        /// Least number of times.
        min: u32,
        /// Most, if there is a limit.
        max: Option<u32>,
        /// Whether fewer times are tried first.
        lazy: bool,
    },
    /// What follows does or does not match.
    Ahead {
        /// What is looked for.
        pattern: Box<Pattern>,
        /// Whether it must not be there.
        negated: bool,
    },
    /// What stands before is or is not this character.
    Behind {
        /// The character.
        char: char,
        /// Whether it must not be there.
        negated: bool,
    },
}

impl Pattern {
    /// The pattern in Python's words.
    pub fn written(&self) -> String {
        let escaped = |char: char| match char {
            '\n' => "\\n".to_owned(),
            char if char.is_alphanumeric() || matches!(char, ' ' | '_' | '<' | '>' | '=' | '#') => {
                char.to_string()
            }
            char => format!("\\{char}"),
        };
        match self {
            Self::Text(text) => text.chars().map(escaped).collect(),
            Self::Chars(chars, negated) => {
                let chars: String = chars.iter().copied().map(escaped).collect();
                if *negated { format!("[^{chars}\\n]") } else { format!("[{chars}]") }
            }
            Self::Concat(parts) => parts.iter().map(Self::grouped).collect(),
            Self::Alternate(parts) => parts.iter().map(Self::written).collect::<Vec<_>>().join("|"),
            Self::Repeat { pattern, min, max, lazy } => {
                let times = match (min, max) {
                    (0, None) => "*".to_owned(),
                    (1, None) => "+".to_owned(),
                    (0, Some(1)) => "?".to_owned(),
                    (min, None) => format!("{{{min},}}"),
                    (min, Some(max)) => format!("{{{min},{max}}}"),
                };
                format!("(?:{}){times}{}", pattern.written(), if *lazy { "?" } else { "" })
            }
            Self::Ahead { pattern, negated } => {
                format!("(?{}{})", if *negated { '!' } else { '=' }, pattern.written())
            }
            Self::Behind { char, negated } => {
                format!("(?<{}{})", if *negated { '!' } else { '=' }, escaped(*char))
            }
        }
    }

    fn grouped(&self) -> String {
        match self {
            Self::Alternate(_) => format!("(?:{})", self.written()),
            other => other.written(),
        }
    }

    /// The fewest and the most characters of a match.
    pub fn widths(&self) -> (u64, u64) {
        match self {
            Self::Text(text) => (text.chars().count() as u64, text.chars().count() as u64),
            Self::Chars(..) => (1, 1),
            Self::Concat(parts) => parts
                .iter()
                .map(Self::widths)
                .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1.saturating_add(of.1))),
            Self::Alternate(parts) => {
                let all: Vec<_> = parts.iter().map(Self::widths).collect();
                let least = all.iter().map(|of| of.0).min().unwrap_or(0);
                (least, all.iter().map(|of| of.1).max().unwrap_or(0))
            }
            Self::Repeat { pattern, min, max, .. } => {
                let of = pattern.widths();
                let most = match max {
                    _ if of.1 == 0 => 0,
                    Some(max) => of.1.saturating_mul(u64::from(*max)),
                    None => u64::MAX,
                };
                (of.0 * u64::from(*min), most)
            }
            Self::Ahead { .. } | Self::Behind { .. } => (0, 0),
        }
    }

    /// The ends of all matches that begin at a place, in the order in which backtracking finds them, each once.
    pub fn ends(&self, text: &[char], at: usize) -> Vec<usize> {
        let mut ends = match self {
            Self::Text(of) => {
                let of: Vec<char> = of.chars().collect();
                if text[at..].starts_with(&of) { vec![at + of.len()] } else { Vec::new() }
            }
            Self::Chars(chars, negated) => {
                let is_in = |char: &char| {
                    if *negated { *char != '\n' && !chars.contains(char) } else { chars.contains(char) }
                };
                if text.get(at).is_some_and(is_in) { vec![at + 1] } else { Vec::new() }
            }
            Self::Concat(parts) => parts
                .iter()
                .fold(vec![at], |ends, part| ends.iter().flat_map(|&end| part.ends(text, end)).collect()),
            Self::Alternate(parts) => parts.iter().flat_map(|part| part.ends(text, at)).collect(),
            Self::Repeat { pattern, min, max, lazy } => repeated(pattern, (*min, *max), *lazy, text, at),
            Self::Ahead { pattern, negated } => {
                if pattern.ends(text, at).is_empty() == *negated {
                    vec![at]
                } else {
                    Vec::new()
                }
            }
            Self::Behind { char, negated } => {
                let is_there = at > 0 && text[at - 1] == *char;
                if is_there == *negated { Vec::new() } else { vec![at] }
            }
        };
        let mut seen = Vec::new();
        ends.retain(|end| {
            !seen.contains(end) && {
                seen.push(*end);
                true
            }
        });
        ends
    }
}

fn repeated(
    pattern: &Pattern,
    (min, max): (u32, Option<u32>),
    lazy: bool,
    text: &[char],
    at: usize,
) -> Vec<usize> {
    let mut more = Vec::new();
    if max != Some(0) {
        let after = (min.saturating_sub(1), max.map(|max| max - 1));
        for end in pattern.ends(text, at) {
            // A turn without characters is the last one.
            if end == at {
                more.push(at);
            } else {
                more.extend(repeated(pattern, after, lazy, text, end));
            }
        }
    }
    if min == 0 {
        if lazy { more.insert(0, at) } else { more.push(at) }
    }
    more
}
