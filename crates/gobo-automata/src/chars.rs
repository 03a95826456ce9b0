use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError};

use crate::calls::{Calls, WithCalls};
use crate::char_dfa::CharDfa;
use crate::dfa::{Alike, DEAD, Groups, StateId};
use crate::refine::{Edges, Partition, refine_watched};

/// Lengths, in characters, up to which it is kept which states a text tells apart.
const SHORT_TEXTS: [u32; 4] = [4, 8, 16, 32];

const CLOSING: &str = "closing states";

/// The states of a byte automaton that belong to one state of its character automaton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The state between two characters.
    pub(crate) root: StateId,
    /// The first of the states inside characters. They may be those of an earlier block.
    pub(crate) inner: StateId,
    pub(crate) inner_states: u32,
    /// Which bytes lead where: blocks of one template differ in their exits alone.
    pub(crate) template: u32,
    /// Where the exits stand in [`CharStates::exits`].
    pub(crate) exits: (u32, u32),
}

/// How the states of a byte automaton make up characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharStates {
    pub(crate) dfa: CharDfa,
    /// `[character states]`, ascending by root.
    pub(crate) blocks: Vec<Block>,
    /// The character states that follow a wide character.
    pub(crate) exits: Vec<StateId>,
}

/// Where the states between characters lead, and by which classes of characters: few states lead to more than two or three
/// others, by however many classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    /// Words of a set of classes.
    words: usize,
    /// `[character states + 1]`: where the targets of each state begin.
    starts: Vec<u32>,
    next: Vec<StateId>,
    /// `[targets × words]`: the classes that lead there.
    classes: Vec<u64>,
    /// `[character states × words]`: the classes that lead anywhere.
    read: Vec<u64>,
}

impl Targets {
    /// So many targets of a state are looked through for one that is there already. One may be told twice then.
    const NEAR: usize = 8;

    fn of_state(&self, state: StateId) -> impl Iterator<Item = (StateId, &[u64])> {
        let range = self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize;
        let classes = self.classes[range.start * self.words..range.end * self.words].chunks_exact(self.words);
        self.next[range].iter().copied().zip(classes)
    }
}

/// What becomes of texts over some set of characters, from every state between characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closure {
    depth: Vec<u32>,
    exact: Vec<bool>,
}

impl Closure {
    /// No text over the set is alive everywhere for longer than this many characters: every shorter one is alive.
    /// `u32::MAX` where every text is.
    pub fn depth(&self, char_state: StateId) -> u32 {
        self.depth[char_state as usize]
    }

    /// Bytes of its tables.
    pub fn bytes(&self) -> u64 {
        self.depth.len() as u64 * 5
    }

    /// Whether no text over the set longer than the depth is alive, as far as the state's own transitions go; what called
    /// rules and returns read behind it is taken into account.
    pub fn is_exact(&self, char_state: StateId) -> bool {
        self.exact[char_state as usize]
    }
}

impl CharStates {
    /// The state between characters with this number in the byte automaton.
    pub fn at(&self, state: StateId) -> Option<StateId> {
        let at = self.blocks.binary_search_by_key(&state, |block| block.root).ok()?;
        (at > 0).then(|| number(at))
    }

    /// The state between characters that follows another when `char` is read.
    pub fn after(&self, char_state: StateId, char: u32) -> Option<StateId> {
        let ranges = &self.dfa.ranges;
        let &(first, _, class) = ranges.get(ranges.partition_point(|&(_, last, _)| last < char))?;
        let row = self.dfa.row(char_state);
        let at = row.binary_search_by_key(&class, |edge| edge.0).ok().filter(|_| first <= char)?;
        Some(row[at].1)
    }

    /// Number of ranges of characters that lead anywhere.
    pub fn ranges(&self) -> usize {
        self.dfa.ranges.len()
    }

    /// The classes of the given characters, ascending; `None` if some character has none and so leads nowhere. `chars`:
    /// ranges, ascending, both ends included. O(ranges here × log(ranges there)).
    pub fn classes_of(&self, chars: &[[u32; 2]]) -> Option<Vec<u32>> {
        let mut found = vec![false; self.dfa.classes];
        let mut rest = chars;
        let mut behind = 0;
        // Whether some character lies in [from, to]; ranges are asked for in ascending order.
        let mut any = |from: u32, to: u32| {
            // Doubling steps: near ranges are found in a few looks, far ones in few more.
            let mut step = 1;
            while rest.get(step).is_some_and(|range| range[1] < from) {
                step *= 2;
            }
            let near = &rest[..rest.len().min(step + 1)];
            rest = &rest[near.partition_point(|range| range[1] < from)..];
            rest.first().is_some_and(|range| range[0] <= to)
        };
        for &(first, last, class) in &self.dfa.ranges {
            if behind < first && any(behind, first - 1) {
                return None;
            }
            found[class as usize] |= any(first, last);
            behind = last + 1;
        }
        if any(behind, u32::from(char::MAX)) {
            return None;
        }
        Some((0..).zip(found).filter(|(_, found)| *found).map(|(class, _)| class).collect())
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.dfa.bytes() + (self.blocks.len() * size_of::<Block>() + self.exits.len() * 4) as u64
    }

    /// What [`Self::closure`] asks of the states, however often it is asked for. O(edges).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn targets(&self, budget: &Budget) -> Result<Targets, CompileError> {
        budget.charge_steps(CLOSING, self.dfa.edge_count() as u64)?;
        let words = self.dfa.classes.div_ceil(64).max(1);
        budget.charge_bytes(CLOSING, (self.blocks.len() * (4 + words * 8)) as u64)?;
        let read = vec![0; self.blocks.len() * words];
        let mut targets = Targets { words, starts: vec![0], next: Vec::new(), classes: Vec::new(), read };
        for state in 0..number(self.blocks.len()) {
            let first = targets.next.len();
            for &(class, next) in self.dfa.row(state) {
                let near = first.max(targets.next.len().saturating_sub(Targets::NEAR));
                let known = targets.next[near..].iter().rposition(|known| *known == next);
                let at = known.map_or(targets.next.len(), |at| near + at);
                if at == targets.next.len() {
                    targets.next.push(next);
                    targets.classes.resize(targets.classes.len() + words, 0);
                }
                let (word, bit) = (class as usize / 64, 1 << (class % 64));
                targets.classes[at * words + word] |= bit;
                targets.read[state as usize * words + word] |= bit;
            }
            targets.starts.push(number(targets.next.len()));
        }
        budget.charge_bytes(CLOSING, (targets.next.len() * (4 + words * 8)) as u64)?;
        Ok(targets)
    }

    /// What becomes of texts over the characters of `classes`, as far as one rule reads them. O(targets × classes / 64).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn closure(
        &self,
        targets: &Targets,
        classes: &[u32],
        calls: Option<&Calls>,
        budget: &Budget,
    ) -> Result<Closure, CompileError> {
        let states = self.blocks.len();
        let mut wanted = vec![0_u64; targets.words];
        classes.iter().for_each(|&class| wanted[class as usize / 64] |= 1 << (class % 64));
        let edges = |state: StateId| {
            let leads =
                |classes: &[u64]| classes.iter().zip(&wanted).any(|(classes, wanted)| classes & wanted != 0);
            targets.of_state(state).filter(move |(_, classes)| leads(classes)).map(|edge| edge.0)
        };
        budget.charge_bytes(CLOSING, states as u64 * 9)?;
        budget.charge_steps(CLOSING, (states + targets.next.len() * targets.words) as u64)?;
        let mut closure = Closure { depth: vec![u32::MAX; states], exact: vec![false; states] };
        // Those that some character of the set leads nowhere from, then whatever leads to them.
        let mut queue: Vec<StateId> = Vec::new();
        // All others: few in most automata, and only what leads on from them has to be looked at.
        let mut open: Vec<StateId> = Vec::new();
        // `[states + 1]`: where those before each state begin.
        let mut starts = vec![0_u32; states + 1];
        for state in 1..number(states) {
            let read = &targets.read[state as usize * targets.words..][..targets.words];
            if wanted.iter().zip(read).all(|(wanted, read)| wanted & !read == 0) {
                edges(state).for_each(|next| starts[next as usize + 1] += 1);
                open.push(state);
            } else {
                closure.depth[state as usize] = 0;
                closure.exact[state as usize] =
                    wanted.iter().zip(read).all(|(wanted, read)| wanted & read == 0);
                queue.push(state);
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut before = vec![DEAD; starts[states] as usize];
        budget.charge_bytes(CLOSING, before.len() as u64 * 4)?;
        let mut ends = starts[1..].to_vec();
        for &state in open.iter().rev() {
            for next in edges(state) {
                ends[next as usize] -= 1;
                before[ends[next as usize] as usize] = state;
            }
        }
        let mut at = 0;
        while let Some(&state) = queue.get(at) {
            at += 1;
            let depth = closure.depth[state as usize];
            if depth > 0 {
                closure.exact[state as usize] = edges(state).all(|next| {
                    closure.depth[next as usize] == depth - 1
                        && closure.exact[next as usize]
                        && !calls.is_some_and(|calls| calls.is_crossed(next))
                });
            }
            for &before in &before[starts[state as usize] as usize..starts[state as usize + 1] as usize] {
                if closure.depth[before as usize] == u32::MAX {
                    closure.depth[before as usize] = depth + 1;
                    queue.push(before);
                }
            }
        }
        Ok(closure)
    }

    /// Groups of states, of `len` byte states, such that two states of a group are told apart by no string of at most
    /// `longest` characters, if they lie between characters, and of at most `longest_inner`, which is no more, if they lie
    /// inside. Parts of characters at the ends of a string count as whole ones.
    pub(crate) fn groups(
        &self,
        len: usize,
        calls: Option<&Calls>,
        longest: u32,
        longest_inner: u32,
        budget: &Budget,
    ) -> Result<Groups, CompileError> {
        const PHASE: &str = "grouping states by their rows";
        debug_assert!(longest_inner <= longest, "tokens that begin inside a character are tokens too");
        budget.charge_bytes(PHASE, len as u64 * 4)?;
        let mut alike: Vec<Alike> = Vec::new();
        let mut distinct = 0;
        let mut keep = |chars: u32, partition: &Partition| {
            let (first, count) = self.first_of_blocks(len, partition);
            // What short texts tell apart, longer ones do too: the shorter ones need no table of their own then.
            let is_same = std::mem::replace(&mut distinct, count) == count;
            if count < self.blocks.len() {
                if is_same {
                    alike.pop();
                }
                budget.charge_bytes(PHASE, len as u64 * 4)?;
                alike.push(Alike { chars, first });
            }
            Ok(())
        };
        // Of states behind the first character of a token that begins inside one, which are told apart by shorter strings.
        let mut behind: Option<Vec<u32>> = None;
        let blocks_of = |partition: &Partition| -> Vec<u32> {
            (0..number(self.blocks.len())).map(|state| partition.block(state)).collect()
        };
        let mut watch = |round, partition: &Partition| {
            if round == longest_inner {
                behind = Some(blocks_of(partition));
            }
            if SHORT_TEXTS.contains(&round) { keep(round, partition) } else { Ok(()) }
        };
        let partition = match calls {
            None => {
                let initial: Vec<u32> =
                    (0..number(self.blocks.len())).map(|state| u32::from(state != DEAD)).collect();
                refine_watched(&self.dfa, &initial, Some(longest), PHASE, budget, &mut watch)?
            }
            // A call reads a text of its rule; where a rule ends, tokens go on behind it.
            Some(calls) => {
                let edges = WithCalls::new(self, calls, longest, PHASE, budget)?;
                refine_watched(&edges, &edges.marks(), Some(longest), PHASE, budget, &mut watch)?
            }
        };
        keep(longest, &partition)?;
        // Where nothing changed from some round on, what longer strings tell apart is known as well.
        let behind = behind.unwrap_or_else(|| blocks_of(&partition));
        let mut groups = vec![0; len];
        let mut count = number(partition.blocks());
        // States inside characters: by what they read and the groups of the states behind it.
        let mut known: HashMap<(u32, Vec<u32>), u32> = HashMap::new();
        for (state, block) in (0..).zip(&self.blocks) {
            groups[block.root as usize] = partition.block(state);
            if block.inner != block.root + 1 || block.inner_states == 0 {
                continue;
            }
            let exits = &self.exits[block.exits.0 as usize..block.exits.1 as usize];
            budget.charge_steps(PHASE, exits.len() as u64 + u64::from(block.inner_states))?;
            let exits = exits.iter().map(|&next| behind[next as usize]).collect();
            let first = *known.entry((block.template, exits)).or_insert(count);
            if first == count {
                count += block.inner_states;
            }
            let inner = block.inner as usize..(block.inner + block.inner_states) as usize;
            groups[inner].iter_mut().zip(first..).for_each(|(group, number)| *group = number);
        }
        Ok(Groups { of: groups, count: count as usize, alike })
    }

    /// `[byte states]`: for a state between characters the first of its block, for another itself; and the number of blocks.
    fn first_of_blocks(&self, len: usize, partition: &Partition) -> (Vec<StateId>, usize) {
        let mut first: Vec<StateId> = (0..number(len)).collect();
        let mut of_block = vec![None; partition.blocks()];
        for (state, block) in (0..).zip(&self.blocks) {
            let known = of_block[partition.block(state) as usize].get_or_insert(block.root);
            first[block.root as usize] = *known;
        }
        let count = of_block.iter().flatten().count();
        (first, count)
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}

#[cfg(test)]
mod tests {
    use gobo_types::{CompileLimits, MatchMode, TextStart};
    use proptest::prelude::*;

    use super::*;
    use crate::Dfa;

    fn dfa(pattern: &str) -> Dfa {
        Dfa::regex(pattern, MatchMode::Full, TextStart::Exact, &Budget::new(CompileLimits::default()))
            .unwrap()
    }

    const PATTERNS: &[&str] = &[
        "[ab]{0,6}c?",
        "[^\"\\\\]{2,5}\"",
        "(a|bé)*c{0,3}",
        r"\w{1,4}x",
        "(?s:.{0,5})",
        "[a-f]*|[c-z]{3}",
        "(aé{0,3}b)*",
        "日本|日{2,4}|a*",
        "[à-ÿ]{0,3}(a[b-d]{2}){0,2}",
    ];

    fn chars(chars: &str) -> Vec<[u32; 2]> {
        let mut codes: Vec<u32> = chars.chars().map(u32::from).collect();
        codes.sort_unstable();
        codes.dedup();
        codes.chunk_by(|a, b| a + 1 == *b).map(|run| [run[0], run[run.len() - 1]]).collect()
    }

    /// The state after `text`, over bytes.
    fn after(dfa: &Dfa, from: StateId, text: &str) -> StateId {
        text.bytes().fold(from, |state, byte| dfa.next(state, byte))
    }

    /// Whether every text, and whether some text, of `length` characters of `set` is alive.
    fn alive(dfa: &Dfa, from: StateId, set: &[char], length: u32) -> (bool, bool) {
        if length == 0 {
            return (from != DEAD, from != DEAD);
        }
        let next = |char: &char| alive(dfa, after(dfa, from, &char.to_string()), set, length - 1);
        set.iter().map(next).fold((true, false), |all, one| (all.0 && one.0, all.1 || one.1))
    }

    #[test]
    fn one_character_leads_where_its_bytes_lead() {
        for pattern in PATTERNS {
            let dfa = dfa(pattern);
            let states = dfa.chars.as_ref().unwrap();
            for (state, block) in (0..).zip(&states.blocks).skip(1) {
                for char in "abcdefxzé日本à\u{ff}\"\\ \0\u{10ffff}".chars() {
                    let over_bytes = after(&dfa, block.root, &char.to_string());
                    let root = |state: StateId| states.blocks[state as usize].root;
                    assert_eq!(
                        states.after(state, u32::from(char)).map_or(DEAD, root),
                        over_bytes,
                        "{pattern} {char}"
                    );
                }
            }
        }
    }

    proptest! {
        /// Depths are those that trying every text finds.
        #[test]
        fn closures_agree_with_trying_every_text(
            pattern in prop::sample::select(PATTERNS),
            set in prop::collection::btree_set(prop::sample::select(&['a', 'b', 'c', 'd', 'é', '日'][..]), 1..4),
        ) {
            const LONGEST: u32 = 5;
            let dfa = dfa(pattern);
            let states = dfa.chars.as_ref().unwrap();
            let set: Vec<char> = set.into_iter().collect();
            let Some(classes) = states.classes_of(&chars(&set.iter().collect::<String>())) else {
                // Some character leads nowhere, from anywhere.
                let nowhere = |char: &char| {
                    (1..u32::try_from(states.blocks.len()).unwrap())
                        .all(|state| after(&dfa, states.blocks[state as usize].root, &char.to_string()) == DEAD)
                };
                prop_assert!(set.iter().any(nowhere));
                return Ok(());
            };
            let budget = Budget::new(CompileLimits::default());
            let targets = states.targets(&budget).unwrap();
            let closure = states.closure(&targets, &classes, None, &budget).unwrap();
            for (state, block) in (0..).zip(&states.blocks).skip(1) {
                let depth = closure.depth(state);
                for length in 0..=LONGEST {
                    let (every, some) = alive(&dfa, block.root, &set, length);
                    prop_assert_eq!(every, length <= depth);
                    if closure.is_exact(state) {
                        prop_assert_eq!(some, length <= depth);
                    }
                }
                // Where nothing is alive behind the depth, that is known.
                if depth < LONGEST && !alive(&dfa, block.root, &set, depth + 1).1 {
                    prop_assert!(closure.is_exact(state));
                }
            }
        }

        /// Gaps and ranges of any width are searched alike.
        #[test]
        fn classes_are_found_wherever_they_lie(
            codes in prop::collection::btree_set(0_u32..300, 1..120),
            ranges in prop::collection::btree_set(0_u32..300, 2..40),
        ) {
            let bounds: Vec<u32> = ranges.into_iter().collect();
            let ranges: Vec<(u32, u32, u32)> =
                (0..).zip(bounds.windows(2)).filter(|(at, _)| at % 3 != 2).map(|(at, pair)| (pair[0], pair[1] - 1, at % 7)).collect();
            let states = CharStates { dfa: CharDfa::new(ranges.clone(), 7), blocks: Vec::new(), exits: Vec::new() };
            let class = |code: u32| ranges.iter().find(|range| range.0 <= code && code <= range.1).map(|range| range.2);
            let text: String = codes.iter().map(|&code| char::from_u32(code).unwrap()).collect();
            let expected: Option<std::collections::BTreeSet<u32>> = codes.iter().map(|&code| class(code)).collect();
            prop_assert_eq!(states.classes_of(&chars(&text)), expected.map(|classes| classes.into_iter().collect::<Vec<_>>()));
        }

        /// States of one group are told apart by no string of so many bytes: the routine over bytes agrees.
        #[test]
        fn groups_are_never_coarser_than_over_bytes(
            pattern in prop::sample::select(PATTERNS), longest in 1_u32..6, longest_inner in 1_u32..6,
        ) {
            let longest = longest.max(longest_inner);
            let dfa = dfa(pattern);
            let budget = Budget::new(CompileLimits::default());
            let states = dfa.chars.as_ref().unwrap();
            let Groups { of: groups, count, alike } =
                states.groups(dfa.len(), None, longest, longest_inner, &budget).unwrap();
            let useful: Vec<bool> = (0..dfa.len()).map(|state| state != 0).collect();
            let over_bytes = Dfa { chars: None, ..dfa.clone() };
            let expected = |longest| over_bytes.groups(&useful, longest, longest, 0, &budget).unwrap().of;
            let (between, inside) = (expected(longest), expected(longest_inner));
            let is_between = |state: usize| states.at(u32::try_from(state).unwrap()).is_some();
            // States that short texts do not tell apart, over bytes neither.
            for Alike { chars, first } in &alike {
                prop_assert!(*chars <= longest);
                let over_bytes = expected(*chars);
                for (state, &first) in first.iter().enumerate() {
                    prop_assert_eq!(over_bytes[state], over_bytes[first as usize]);
                }
            }
            for a in 0..dfa.len() {
                prop_assert!((groups[a] as usize) < count);
                for b in 0..dfa.len() {
                    if groups[a] != groups[b] || a == 0 {
                        continue;
                    }
                    prop_assert_eq!(is_between(a), is_between(b));
                    let alike = if is_between(a) { between[a] == between[b] } else { inside[a] == inside[b] };
                    prop_assert!(alike);
                }
            }
        }
    }

    /// Ten thousand repetitions make as many groups as the longest token has characters.
    #[test]
    fn counted_repetitions_share_groups() {
        let dfa = dfa(r#""[^"\\\x00-\x1F]{0,10000}""#);
        let Groups { count, .. } = dfa
            .chars
            .as_ref()
            .unwrap()
            .groups(dfa.len(), None, 16, 2, &Budget::new(CompileLimits::default()))
            .unwrap();
        assert!(count < 20 + 4 * 8, "{count} groups");
    }
}
