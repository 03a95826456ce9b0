//! Push-down automata over texts: what a front end writes that knows its stack symbols better than rules would say them.
//!
//! A front end whose texts are read by a parser of its own, such as Lark's LALR(1), has *frames*: what the parser keeps on its stack. The
//! automaton is then written out directly, and no rule is inlined, folded or merged. A *node* is where a text stands with some
//! stack below: texts lead from it to other nodes, frames are pushed from it, and it has *ends*, at which the top of the stack is popped. Where
//! that leads is a matter of the frame and of the end. An end leads to a node, which may have ends in its turn, so that any number of frames are
//! popped before something is read.
//!
//! `subset` makes it deterministic: an automaton over characters whose states are sets of nodes and of states within texts. The ends of a set
//! are an exit of the network, and what a set pushes is a call for each frame. `live` takes away what leads to no text, `merge` finds what is
//! equal, and `network` writes the network.

mod live;
mod merge;
mod network;
mod subset;

use std::collections::BTreeMap;

use gobo_types::{Table, dense_id};

use crate::chars::Language;

dense_id! {
    /// Where a text stands, with some stack below.
    pub struct NodeId;

    /// What can lie on the stack.
    pub struct FrameId;

    /// How the top of the stack is popped.
    pub struct EndId;

    /// Texts that lead to a node.
    pub struct ReadId;
}

impl EndId {
    /// The end of the whole text, which pops nothing: the stack is empty there.
    pub const WHOLE: Self = Self(0);
}

/// A push-down automaton over texts.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use gobo_automata::{Dfa, EndId, Frame, FrameId, Language, Node, NodeId, PushDown, ReadId};
/// use gobo_types::{Budget, CompileLimits, DenseId as _, TextStart};
///
/// // `(`, maybe another such text, and `)`: each `(` stands above a frame, which is popped before the `)`.
/// let budget = Budget::new(CompileLimits::default());
/// let text = |text: &str| Language::choice(&[text.to_owned()], &budget);
/// let [start, open, inside, back, closed] = [0, 1, 2, 3, 4].map(NodeId::new);
/// let (frame, pop) = (FrameId::new(0), EndId::new(1));
/// let pushes = vec![(frame, open)];
/// let push_down = PushDown {
///     texts: vec![text("(")?, text(")")?],
///     reads: vec![(0, inside), (1, closed)].into(),
///     nodes: vec![
///         Node { pushes: pushes.clone(), ..Node::default() },
///         Node { reads: vec![ReadId::new(0)], ..Node::default() },
///         Node { pushes, ends: vec![pop], ..Node::default() },
///         Node { reads: vec![ReadId::new(1)], ..Node::default() },
///         // It stands in another one, or is the whole text.
///         Node { ends: vec![pop, EndId::WHOLE], ..Node::default() },
///     ]
///     .into(),
///     frames: vec![Frame { name: "(".to_owned(), returns: BTreeMap::from([(pop, back)]) }].into(),
///     start,
///     name: "text".to_owned(),
/// };
/// let dfa = Dfa::push_down(&push_down, TextStart::Exact, &budget)?;
/// assert!(dfa.has_calls() && dfa.calls.is_some_and(|calls| calls.is_deterministic));
/// # Ok::<(), gobo_types::CompileError>(())
/// ```
#[derive(Debug)]
pub struct PushDown {
    /// The languages of texts.
    pub texts: Vec<Language>,
    /// Which texts, an index of [`Self::texts`], lead to which node. Nodes share what is equal.
    pub reads: Table<ReadId, (usize, NodeId)>,
    /// The nodes.
    pub nodes: Table<NodeId, Node>,
    /// The frames.
    pub frames: Table<FrameId, Frame>,
    /// Where whole texts begin, with nothing on the stack.
    pub start: NodeId,
    /// The name of what is read, as stacks are shown to people.
    pub name: String,
}

/// Where a text stands, with some stack below. All its ways are taken at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Node {
    /// Texts that are read.
    pub reads: Vec<ReadId>,
    /// Frames that are pushed, each with the node above it, where something is read before the frame is popped.
    pub pushes: Vec<(FrameId, NodeId)>,
    /// How the top of the stack is popped.
    pub ends: Vec<EndId>,
}

/// What can lie on the stack.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The name, as stacks are shown to people.
    pub name: String,
    /// Where the text goes on when it is popped at an end; nowhere at all others.
    pub returns: BTreeMap<EndId, NodeId>,
}
