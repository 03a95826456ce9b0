//! Context-free grammars over characters. Every alternative is a sequence of rules and of sets of characters; no rule is
//! excluded: left-recursive, ambiguous and unproductive rules are allowed.

/// A rule of a [`Grammar`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) usize);

/// One place of an alternative.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A text of a rule.
    Rule(RuleId),
    /// One character out of these inclusive ranges. No range at all: no text.
    Chars(Vec<(char, char)>),
}

/// A context-free grammar over characters. Any rules will do: left-recursive, ambiguous, without any text.
#[derive(Debug, Clone, Default)]
pub struct Grammar {
    /// For each rule its alternatives.
    pub(crate) rules: Vec<Vec<Vec<Symbol>>>,
}

impl Grammar {
    /// No rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new rule, of no text until it gets alternatives.
    pub fn rule(&mut self) -> RuleId {
        self.rules.push(vec![]);
        RuleId(self.rules.len() - 1)
    }

    /// Gives `rule` one more alternative.
    pub fn add(&mut self, RuleId(rule): RuleId, alternative: Vec<Symbol>) {
        self.rules[rule].push(alternative);
    }

    /// A new rule: any one of `alternatives`.
    pub fn any_of(&mut self, alternatives: impl IntoIterator<Item = Vec<Symbol>>) -> Symbol {
        self.rules.push(alternatives.into_iter().collect());
        Symbol::Rule(RuleId(self.rules.len() - 1))
    }

    /// `sequence` from `min` to `max` times in a row; without `max` as often as one likes.
    ///
    /// Written to the left: all the times a loop goes round then begin at the same place, which keeps Earley's sets
    /// small.
    pub fn repeat(&mut self, sequence: &[Symbol], min: u32, max: Option<u32>) -> Vec<Symbol> {
        let mut all: Vec<Symbol> = (0..min).flat_map(|_| sequence.iter().cloned()).collect();
        match max {
            None => {
                let again = self.rule();
                self.add(again, vec![]);
                self.add(again, [&[Symbol::Rule(again)], sequence].concat());
                all.push(Symbol::Rule(again));
            }
            Some(max) => {
                let fewer = (min..max).fold(None, |fewer: Option<Symbol>, _| {
                    let once_more = fewer.into_iter().chain(sequence.iter().cloned()).collect();
                    Some(self.any_of([vec![], once_more]))
                });
                all.extend(fewer);
            }
        }
        all
    }

    /// `sequence` once or not at all.
    pub fn optional(&mut self, sequence: Vec<Symbol>) -> Symbol {
        self.any_of([vec![], sequence])
    }
}

/// The characters of `text`, one after the other.
pub(crate) fn literal(text: &str) -> Vec<Symbol> {
    text.chars().map(|char| Symbol::Chars(vec![(char, char)])).collect()
}
