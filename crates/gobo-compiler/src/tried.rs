//! Which frames a pending suffix has been tried at.
//!
//! A suffix that is pending where a rule may end at once stays pending for the frame below. A mask is the union along the stack, so
//! once the suffix has been read at a return state of a class, its tokens are in the mask, and the suffixes that it left there are pending
//! themselves. Below it, as long as no frame has to be read, further frames of the same class would find the same tokens and leave the
//! same suffixes again. So a suffix need not be read there a second time, and where every frame that it may still meet is of a class that
//! it has been tried at, it need not be kept at all.
//!
//! *Invariant.* Let a suffix be marked with a class. Then it was read at a frame of that class, and every frame from there to the one
//! at hand may be popped without reading. Each suffix that it left at that frame was pending for the next one below, and is still, or it was
//! dropped because it was marked with all that it may meet. By induction over the frames, the union of the rows along the stack is the
//! same as without marks.
//!
//! Without marks the suffixes pile up: after `"-" root root?` any number of frames may be popped, and each frame reads one letter more,
//! so that every frame reads all places of every token again. With them a frame reads the places that the frame above has reached, and
//! all frames together read each place once.
//!
//! A mark is set only for a class at which some byte of the suffix can be read, so that marks do not tell apart suffixes that go on
//! alike. O(1) for each suffix and frame, after the first time that a class meets a set of marks.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::Calls;
use gobo_types::{ByteSet, DenseId as _, Table, dense_id};

use crate::return_classes::{ReturnClassId, ReturnClasses, Under};
use crate::rows::RuleView;

dense_id! {
    /// A set of classes of return states that a suffix has been tried at.
    pub(crate) struct TriedId;
}

impl TriedId {
    /// The empty set.
    pub(crate) const NONE: Self = Self(0);
}

/// The sets of classes, and what may lie below the return states of each class.
pub(crate) struct Tried<'a> {
    view: &'a RuleView<'a>,
    calls: &'a Calls,
    classes: &'a ReturnClasses,
    /// `[classes]`: what may lie directly below.
    under: Vec<Option<Rc<Under>>>,
    /// `[classes]`: the classes that may lie below with nothing between that has to be read, ascending.
    reached: Vec<Option<Rc<[ReturnClassId]>>>,
    /// `[classes]`: the bytes that can be read at the class before its rule ends.
    first: Vec<Option<ByteSet>>,
    /// The classes of each set, ascending.
    sets: Table<TriedId, Rc<[ReturnClassId]>>,
    known: HashMap<Rc<[ReturnClassId]>, TriedId>,
    follow: HashMap<(ReturnClassId, TriedId), ByteSet>,
}

impl<'a> Tried<'a> {
    pub(crate) fn new(view: &'a RuleView<'a>, calls: &'a Calls, classes: &'a ReturnClasses) -> Self {
        let none: Rc<[ReturnClassId]> = Rc::default();
        Self {
            view,
            calls,
            classes,
            under: vec![None; classes.len()],
            reached: vec![None; classes.len()],
            first: vec![None; classes.len()],
            sets: vec![Rc::clone(&none)].into(),
            known: HashMap::from_iter([(none, TriedId::NONE)]),
            follow: HashMap::new(),
        }
    }

    /// What may lie under the return states of a class.
    pub(crate) fn under(&mut self, class: ReturnClassId) -> Rc<Under> {
        let under = self.under[class.index()].get_or_insert_with(|| {
            Rc::new(self.classes.under(self.calls, self.classes.states(self.calls, class)))
        });
        Rc::clone(under)
    }

    /// The bytes that can be read at a class before its rule ends.
    pub(crate) fn first(&mut self, class: ReturnClassId) -> ByteSet {
        if let Some(first) = self.first[class.index()] {
            return first;
        }
        let mut first = ByteSet::default();
        for state in self.classes.states(self.calls, class) {
            first.insert_all(&self.view.live(state));
            for push in self.view.push_transitions(state) {
                first.insert_all(&self.view.live(push.entry));
            }
        }
        self.first[class.index()] = Some(first);
        first
    }

    fn reached(&mut self, class: ReturnClassId) -> Rc<[ReturnClassId]> {
        if let Some(reached) = &self.reached[class.index()] {
            return Rc::clone(reached);
        }
        let mut is_reached = vec![false; self.classes.len()];
        let mut open = vec![class];
        while let Some(above) = open.pop() {
            for &below in &self.under(above).classes {
                let is_new = !std::mem::replace(&mut is_reached[below.index()], true);
                if is_new && self.classes.states(self.calls, below).any(|state| self.view.accepts(state)) {
                    open.push(below);
                }
            }
        }
        let reached = ReturnClassId::enumerate(is_reached).filter(|(_, is_reached)| *is_reached);
        let reached: Rc<[ReturnClassId]> = reached.map(|(class, _)| class).collect();
        self.reached[class.index()] = Some(Rc::clone(&reached));
        reached
    }

    /// Whether a class is in a set.
    pub(crate) fn has(&self, tried: TriedId, class: ReturnClassId) -> bool {
        tried != TriedId::NONE && self.sets[tried].binary_search(&class).is_ok()
    }

    /// The set with a class more.
    pub(crate) fn with(&mut self, tried: TriedId, class: ReturnClassId) -> TriedId {
        match self.sets[tried].binary_search(&class) {
            Ok(_) => tried,
            Err(at) => {
                let mut set = self.sets[tried].to_vec();
                set.insert(at, class);
                self.intern(set.into())
            }
        }
    }

    fn intern(&mut self, set: Rc<[ReturnClassId]>) -> TriedId {
        *self.known.entry(set).or_insert_with_key(|set| self.sets.push(Rc::clone(set)))
    }

    /// The bytes with which a suffix can go on below the return states of a class, at one that it has not been tried at.
    pub(crate) fn follow(&mut self, class: ReturnClassId, tried: TriedId) -> ByteSet {
        if tried == TriedId::NONE {
            return self.under(class).follow;
        }
        if let Some(follow) = self.follow.get(&(class, tried)) {
            return *follow;
        }
        let mut follow = ByteSet::default();
        for &below in self.reached(class).iter() {
            if !self.has(tried, below) {
                follow.insert_all(&self.first(below));
            }
        }
        self.follow.insert((class, tried), follow);
        follow
    }
}
