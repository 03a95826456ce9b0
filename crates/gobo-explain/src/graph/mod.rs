//! Automata as graphs: the states around one, for a picture, and all of them, for a program that draws (`dot`).

mod dot;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gobo_artifact::layout::DEAD;
use gobo_artifact::{ArtifactError, Index};

use crate::bytes::byte_ranges;
pub use dot::{TooLong, write_dot};

/// Most states of an index whose states are all looked at for those that lead to one.
const MAX_SEARCHED: u32 = 4_096;

/// Some states of an index and the ways between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// The states, ascending.
    pub nodes: Vec<Node>,
    /// The ways between them, ascending.
    pub edges: Vec<Edge>,
}

/// A state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub state: u32,
    /// Whether the text may end there; in an index with calls, whether the rule may.
    pub is_complete: bool,
    /// Whether ways lead on from there to states that are left out.
    pub is_cut: bool,
}

/// A way from one state to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// From this state.
    pub from: u32,
    /// To this one.
    pub to: u32,
    /// How.
    pub way: Way,
}

/// How one state leads to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By one of these bytes, ascending.
    Bytes(Vec<u8>),
    /// By a token that is read whole, or a part of the way to that.
    Token,
    /// By a call of this rule, which begins there.
    Call(String),
    /// Once this rule, which is called here, has ended.
    Return(String),
}

impl Way {
    /// For a picture: bytes as ranges, the names of rules.
    pub fn label(&self) -> String {
        match self {
            Self::Bytes(bytes) => byte_ranges(bytes),
            Self::Token => "a token".into(),
            Self::Call(rule) => format!("call {rule}"),
            Self::Return(rule) => format!("after {rule}"),
        }
    }
}

/// The ways on of one state, and the names of its calls.
struct Ways<'a> {
    index: &'a Index,
    /// By the number of a return state: the rule that is called there.
    callees: Vec<String>,
}

impl<'a> Ways<'a> {
    fn of(index: &'a Index) -> Result<Self, ArtifactError> {
        let returns = index.call_root()?.map(|calls| calls.returns).unwrap_or_default();
        Ok(Self { index, callees: returns.into_iter().map(|name| name.callee).collect() })
    }

    fn from(&self, state: u32) -> Vec<Edge> {
        let leaving = self.index.leaving(state);
        let edge = |to, way| Edge { from: state, to, way };
        let mut edges: Vec<Edge> =
            leaving.bytes.into_iter().map(|(to, bytes)| edge(to, Way::Bytes(bytes))).collect();
        edges.extend(leaving.tokens.into_iter().map(|to| edge(to, Way::Token)));
        for call in leaving.calls {
            let rule = |number: u32| {
                let name = self.callees.get(number as usize);
                name.cloned().unwrap_or_else(|| number.to_string())
            };
            // The innermost of the rules that are called at once begins at the entry; behind the outermost the state's own rule goes on.
            if let (Some(&outermost), Some(&innermost)) = (call.returns.first(), call.returns.last()) {
                edges.push(edge(call.entry, Way::Call(rule(innermost))));
                for after in self.index.states_after_return(outermost) {
                    edges.push(edge(after, Way::Return(rule(outermost))));
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }
}

/// The states around one: those that can be reached in the fewest steps, and of an index of few states also those that lead there; at most
/// `most`. O(`most` × 256), and of an index of at most 4,096 states O(states × 256).
///
/// # Errors
/// [`ArtifactError`] if the names of rules cannot be read.
pub fn neighbourhood(index: &Index, around: u32, most: usize) -> Result<Graph, ArtifactError> {
    let ways = Ways::of(index)?;
    if around == DEAD || around >= index.states() {
        return Ok(Graph::default());
    }
    let mut before: Vec<u32> = Vec::new();
    if index.states() <= MAX_SEARCHED {
        let leads = |&state: &u32| state != around && ways.from(state).iter().any(|edge| edge.to == around);
        before = (1..index.states()).filter(leads).collect();
    }
    // A sixth of the room is for those that lead here.
    before.truncate(most / 6);
    let mut found = BTreeSet::from([around]);
    found.extend(before);
    let mut leaving: BTreeMap<u32, Vec<Edge>> = BTreeMap::new();
    let mut queue = VecDeque::from([around]);
    while let Some(state) = queue.pop_front() {
        let edges = ways.from(state);
        for to in edges.iter().map(|edge| edge.to) {
            if !leaving.contains_key(&to)
                && !queue.contains(&to)
                && to != state
                && (found.contains(&to) || found.len() < most)
            {
                found.insert(to);
                queue.push_back(to);
            }
        }
        leaving.insert(state, edges);
    }
    let mut graph = Graph::default();
    for &state in &found {
        let edges = leaving.remove(&state).unwrap_or_else(|| ways.from(state));
        let (inside, outside): (Vec<Edge>, Vec<Edge>) =
            edges.into_iter().partition(|edge| found.contains(&edge.to));
        graph.nodes.push(Node { state, is_complete: index.is_complete(state), is_cut: !outside.is_empty() });
        graph.edges.extend(inside);
    }
    Ok(graph)
}
