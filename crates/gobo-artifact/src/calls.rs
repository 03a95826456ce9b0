use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::error::ArtifactError;
use crate::file::{Artifact, Span};
use crate::root::IndexRoot;
use crate::section as kinds;

/// The number of a residual set without residuals.
pub(crate) const NO_RESIDUAL: u32 = 0;

/// In the place of a residual set: nothing can be read in the state, so that its rule has to end.
pub(crate) const END: u32 = u32::MAX;

/// A first state of a rule that a state calls: 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Opening {
    /// The state whose transitions go on.
    pub(crate) entry: u32,
    /// Where the pushed return states begin in the table of pushes, outermost first.
    pub(crate) from: u32,
    /// Where they end.
    pub(crate) to: u32,
}

/// A return state: 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct ReturnEntry {
    state: u32,
    /// Every residual set may do the same at the return states of one class.
    class: u32,
}

/// What a residual set may do at the return states of a class: 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PairEntry {
    /// The number of the class.
    pub(crate) class: u32,
    /// Its row.
    pub(crate) row: u32,
    /// The residual set that ends the rule of the return state too.
    pub(crate) residual: u32,
}

/// A place behind a call, for people.
#[derive(Debug, Clone, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct ReturnName {
    /// The rule that the call stands in.
    pub caller: String,
    /// The rule that is called.
    pub callee: String,
}

/// What an index with calls says of its stacks.
#[derive(Debug, Clone, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct CallRoot {
    /// Most frames that one token takes from the stack it finds; `None` if there is no bound.
    pub pop_depth: Option<u32>,
    /// Most frames that are pushed before one byte.
    pub push_depth: u32,
    /// The return states, by their number.
    pub returns: Vec<ReturnName>,
}

/// A return state as it is written.
#[derive(Debug)]
pub struct ReturnPart {
    /// The state.
    pub state: u32,
    /// The class, numbered as they are met.
    pub class: u32,
    /// The rule that the call stands in.
    pub caller: String,
    /// The rule that is called.
    pub callee: String,
}

/// The tables of an index with calls, as they are written.
#[derive(Debug, Default)]
pub struct CallParts {
    /// Whether no text has more than one configuration.
    pub is_deterministic: bool,
    /// `[states]`: the openings of each state: entry, and the numbers of the return states pushed, outermost first.
    pub openings: Vec<Vec<(u32, Vec<u32>)>>,
    /// `[returns]`.
    pub returns: Vec<ReturnPart>,
    /// `[states]`: the residual set of each state, 0 for the empty one; `None` where nothing can be read and a rule ends.
    pub residuals: Vec<Option<u32>>,
    /// `[residual sets]`: class of return states, row, residual set; ascending by class.
    pub pairs: Vec<Vec<[u32; 3]>>,
}

impl CallParts {
    /// Most frames that a token can pop: the longest path through the pairs, `None` if it has no end.
    fn pop_depth(&self) -> Option<u32> {
        // Depth of each set: unknown, being computed, known.
        #[derive(Clone, Copy)]
        enum Depth {
            Unknown,
            Open,
            Known(u32),
        }
        let mut depths = vec![Depth::Unknown; self.pairs.len().max(1)];
        depths[NO_RESIDUAL as usize] = Depth::Known(0);
        for root in 0..self.pairs.len() {
            let mut path: Vec<(usize, usize)> = vec![(root, 0)];
            while let Some((set, at)) = path.last_mut() {
                if *at == 0 {
                    match depths[*set] {
                        Depth::Known(_) => {
                            path.pop();
                            continue;
                        }
                        Depth::Open => return None,
                        Depth::Unknown => depths[*set] = Depth::Open,
                    }
                }
                match self.pairs[*set].get(*at) {
                    Some(&[_, _, next]) => {
                        *at += 1;
                        path.push((next as usize, 0));
                    }
                    None => {
                        let below = |&[_, _, next]: &[u32; 3]| match depths[next as usize] {
                            Depth::Known(depth) => depth + 1,
                            _ => 0,
                        };
                        depths[*set] = Depth::Known(self.pairs[*set].iter().map(below).max().unwrap_or(0));
                        path.pop();
                    }
                }
            }
        }
        let known = |set: &u32| match depths.get(*set as usize) {
            Some(Depth::Known(depth)) => *depth,
            _ => 0,
        };
        self.residuals.iter().flatten().map(known).max()
    }

    /// The sections behind those of every index: number and bytes.
    pub(crate) fn sections(&self) -> Vec<(u32, Vec<u8>)> {
        let count = |n: usize| u32::try_from(n).expect("budgets keep every count below 2^32");
        let (mut starts, mut openings, mut pushes) = (vec![0_u32], Vec::new(), Vec::<u32>::new());
        for of_state in &self.openings {
            for (entry, pushed) in of_state {
                let from = count(pushes.len());
                pushes.extend(pushed);
                openings.push(Opening { entry: *entry, from, to: count(pushes.len()) });
            }
            starts.push(count(openings.len()));
        }
        let (mut pair_starts, mut pairs) = (vec![0_u32], Vec::new());
        for of_set in &self.pairs {
            pairs.extend(of_set.iter().map(|&[class, row, residual]| PairEntry { class, row, residual }));
            pair_starts.push(count(pairs.len()));
        }
        let root = CallRoot {
            pop_depth: self.pop_depth(),
            push_depth: self
                .openings
                .iter()
                .flatten()
                .map(|(_, pushed)| count(pushed.len()))
                .max()
                .unwrap_or(0),
            returns: (self.returns.iter())
                .map(|of| ReturnName { caller: of.caller.clone(), callee: of.callee.clone() })
                .collect(),
        };
        let returns: Vec<ReturnEntry> =
            self.returns.iter().map(|of| ReturnEntry { state: of.state, class: of.class }).collect();
        let residuals: Vec<u32> = self.residuals.iter().map(|set| set.unwrap_or(END)).collect();
        vec![
            (kinds::CALLS, crate::writer::archive(&root)),
            (kinds::OPENING_STARTS, starts.as_bytes().to_vec()),
            (kinds::OPENINGS, openings.as_bytes().to_vec()),
            (kinds::PUSHES, pushes.as_bytes().to_vec()),
            (kinds::RETURNS, returns.as_bytes().to_vec()),
            (kinds::RESIDUALS, residuals.as_bytes().to_vec()),
            (kinds::PAIR_STARTS, pair_starts.as_bytes().to_vec()),
            (kinds::PAIRS, pairs.as_bytes().to_vec()),
        ]
    }
}

/// Where the tables of calls lie in a file.
#[derive(Debug)]
pub(crate) struct CallSpans {
    opening_starts: Span,
    openings: Span,
    pushes: Span,
    returns: Span,
    residuals: Span,
    pair_starts: Span,
    pairs: Span,
}

impl CallSpans {
    pub(crate) fn open(artifact: &Artifact, root: &IndexRoot) -> Result<Self, ArtifactError> {
        let states = u64::from(root.states);
        Ok(Self {
            opening_starts: artifact.span::<u32>(kinds::OPENING_STARTS, states + 1)?,
            openings: artifact.open_span::<Opening>(kinds::OPENINGS)?,
            pushes: artifact.open_span::<u32>(kinds::PUSHES)?,
            returns: artifact.open_span::<ReturnEntry>(kinds::RETURNS)?,
            residuals: artifact.span::<u32>(kinds::RESIDUALS, states)?,
            pair_starts: artifact.open_span::<u32>(kinds::PAIR_STARTS)?,
            pairs: artifact.open_span::<PairEntry>(kinds::PAIRS)?,
        })
    }

    pub(crate) fn tables<'a>(&self, artifact: &'a Artifact) -> CallTables<'a> {
        CallTables {
            opening_starts: artifact.get(&self.opening_starts),
            openings: artifact.get(&self.openings),
            pushes: artifact.get(&self.pushes),
            returns: artifact.get(&self.returns),
            residuals: artifact.get(&self.residuals),
            pair_starts: artifact.get(&self.pair_starts),
            pairs: artifact.get(&self.pairs),
        }
    }
}

/// The tables of an index with calls. Whatever a file says, no look panics; [`Self::verify`] makes sure that all is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTables<'a> {
    opening_starts: &'a [u32],
    openings: &'a [Opening],
    pushes: &'a [u32],
    returns: &'a [ReturnEntry],
    residuals: &'a [u32],
    pair_starts: &'a [u32],
    pairs: &'a [PairEntry],
}

/// The elements between two neighbours of a table of starts.
#[inline]
fn between<'a, T>(starts: &[u32], of: &'a [T], at: u32) -> &'a [T] {
    let bounds = starts.get(at as usize).zip(starts.get(at as usize + 1));
    bounds.and_then(|(&from, &to)| of.get(from as usize..to as usize)).unwrap_or_default()
}

impl<'a> CallTables<'a> {
    /// The first states of the rules that a state calls.
    #[inline]
    pub(crate) fn openings(&self, state: u32) -> &'a [Opening] {
        between(self.opening_starts, self.openings, state)
    }

    /// The numbers of the return states that an opening pushes, outermost first.
    #[inline]
    pub(crate) fn pushes(&self, opening: &Opening) -> &'a [u32] {
        self.pushes.get(opening.from as usize..opening.to as usize).unwrap_or_default()
    }

    /// Number of classes of return states. O(return states).
    pub(crate) fn class_count(&self) -> usize {
        self.returns.iter().map(|of| of.class as usize + 1).max().unwrap_or(0)
    }

    /// Number of pairs of residual set and class.
    pub(crate) fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// Number of return states.
    pub(crate) fn return_count(&self) -> usize {
        self.returns.len()
    }

    /// The return state of that number; the dead state for none.
    #[inline]
    pub(crate) fn return_state(&self, number: u32) -> u32 {
        self.returns.get(number as usize).map_or(crate::index::DEAD, |of| of.state)
    }

    /// The residual set of a state; [`END`] where it can only end.
    #[inline]
    pub(crate) fn residual(&self, state: u32) -> u32 {
        self.residuals.get(state as usize).copied().unwrap_or(NO_RESIDUAL)
    }

    /// What a residual set may do at the return state of that number; `None` for nothing.
    #[inline]
    pub(crate) fn pair(&self, residual: u32, top: u32) -> Option<&'a PairEntry> {
        let class = self.returns.get(top as usize)?.class;
        let pairs = between(self.pair_starts, self.pairs, residual);
        pairs.binary_search_by_key(&class, |pair| pair.class).ok().map(|at| &pairs[at])
    }

    /// Checks that every number names something that is there. O(tables).
    pub(crate) fn verify(&self, root: &IndexRoot) -> Result<(), &'static str> {
        let is_ascending = |starts: &[u32], len: usize| {
            starts.first() == Some(&0)
                && starts.is_sorted()
                && starts.last().is_some_and(|&end| end as usize == len)
        };
        let sets = self.pair_starts.len().saturating_sub(1);
        let returns = self.returns.len();
        let is_state = |state: u32| state != crate::index::DEAD && state < root.states;
        if !is_ascending(self.opening_starts, self.openings.len()) {
            return Err("openings do not lie one behind the other");
        }
        let mut pushed = 0;
        for opening in self.openings {
            if opening.from != pushed || opening.to < opening.from || !is_state(opening.entry) {
                return Err("an opening leads to no state, or pushes what is not there");
            }
            pushed = opening.to;
        }
        if pushed as usize != self.pushes.len() || self.pushes.iter().any(|&top| top as usize >= returns) {
            return Err("what is pushed is no return state");
        }
        let mut classes = 0;
        for of in self.returns {
            if !is_state(of.state) {
                return Err("a return state is no state");
            }
            if of.class > classes {
                return Err("classes of return states are not numbered as they are met");
            }
            classes = classes.max(of.class + 1);
        }
        if self.residuals.iter().any(|&residual| residual != END && residual as usize >= sets) {
            return Err("a state has a residual set that is not there");
        }
        if self.residuals.first() != Some(&NO_RESIDUAL)
            || !between(self.pair_starts, self.pairs, 0).is_empty()
        {
            return Err("the empty residual set does something");
        }
        if !is_ascending(self.pair_starts, self.pairs.len()) {
            return Err("pairs do not lie one behind the other");
        }
        for set in self.pair_starts.windows(2) {
            let pairs = &self.pairs[set[0] as usize..set[1] as usize];
            let fits = |pair: &PairEntry| {
                pair.class < classes && pair.row < root.rows && (pair.residual as usize) < sets
            };
            if !pairs.iter().all(fits) || !pairs.windows(2).all(|two| two[0].class < two[1].class) {
                return Err("a pair names what is not there, or is out of order");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pops_are_counted_along_the_longest_path() {
        let parts = |pairs: Vec<Vec<[u32; 3]>>| CallParts {
            residuals: vec![Some(0), Some(1), None],
            pairs,
            ..CallParts::default()
        };
        assert_eq!(parts(vec![vec![], vec![]]).pop_depth(), Some(0));
        assert_eq!(parts(vec![vec![], vec![[0, 0, 0]]]).pop_depth(), Some(1));
        assert_eq!(parts(vec![vec![], vec![[0, 0, 0], [1, 0, 2]], vec![[0, 0, 0]]]).pop_depth(), Some(2));
        assert_eq!(parts(vec![vec![], vec![[0, 0, 2]], vec![[0, 0, 1]]]).pop_depth(), None);
    }
}
