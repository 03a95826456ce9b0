//! The run over a corpus of schemas.

use std::collections::BTreeMap;
use std::time::Duration;

use super::steps::STEPPING;
use super::{Peer, Tokens, compile};
use crate::ask::{Answer, Ask, Sequence};
use crate::cases::Case;
use crate::record::Record;
use crate::schema::args::Args;
use crate::schema::outcome::{Answers, Masks, Side};
use crate::schema::{Entry, Outcome, PEER, Run};
use crate::spread::Spread;
use crate::vocabularies::Source;

/// Warm rounds of gobo's masks.
pub const ROUNDS: usize = 3;
/// Warm rounds of the peer's, each of which takes as long as a hundred of gobo's.
const PEER_ROUNDS: usize = 1;
/// llguidance on all texts of a schema.
const LONG: Duration = Duration::from_secs(60);

/// Measures all schemas over one vocabulary.
pub fn corpus(args: &Args, source: &Source, entries: &[Entry]) -> anyhow::Result<Run> {
    let table = source.open()?;
    let mut bench = Bench {
        args,
        source,
        tokens: Tokens::of(&table),
        peers: ["gobo", PEER].map(|name| Peer::new(name, source, args.bound)),
        run: Run::default(),
    };
    // Neither the start of a process nor its first touch of the vocabulary is the first schema's.
    for peer in &mut bench.peers {
        let case = Case::schema("true", "true");
        if let Err(reason) = peer.ask(&Ask::Compile { case, runs: 20, spend_ms: 1000 }) {
            anyhow::bail!("{} at the schema `true`: {reason}", peer.name());
        }
    }
    for (at, entry) in entries.iter().enumerate() {
        if at % 100 == 0 {
            eprintln!("{}: {at} of {}, {}", source.name, entries.len(), entry.subset);
        }
        bench.schema(entry)?;
    }
    Ok(bench.run)
}

struct Bench<'a> {
    args: &'a Args,
    source: &'a Source,
    tokens: Tokens<'a>,
    peers: [Peer; 2],
    run: Run,
}

/// One text of an instance: as it is given, or in the order of the schema.
struct Text {
    test: usize,
    tokens: Vec<u32>,
}

impl Bench<'_> {
    fn schema(&mut self, entry: &Entry) -> anyhow::Result<()> {
        let case = Case::schema(&entry.id, &entry.schema);
        let mut record = Record::default();
        // First, because nothing of the schema has been compiled in that process yet.
        let after_others =
            self.peers[0].ask_within(&Ask::AfterOthers { case: case.clone() }, self.args.bound).ok();
        compile(self.args.rounds, &mut self.peers, self.source, &case, &mut record);
        let compiled = self
            .peers
            .each_ref()
            .map(|peer| record.get((&self.source.name, &case.name, peer.name()), "compile_ns").is_some());
        let texts = if compiled == [false; 2] { Vec::new() } else { self.texts(entry, &case, compiled[0]) };
        let accepted = [0, 1].map(|at| compiled[at].then(|| self.accepted(at, &case, &texts)).flatten());
        let answers = accepted.each_ref().map(|accepted| Some(counted(entry, &texts, accepted.as_ref()?)));
        let [gobo, llguidance] = &accepted;
        let (mut shared, mut own) = match gobo {
            Some(gobo) => self.masks(entry, &case, &texts, gobo, llguidance.as_deref()),
            None => Default::default(),
        };

        let side = |at: usize| {
            let at_peer = (&*self.source.name, &*case.name, self.peers[at].name());
            let compile = record.row(at_peer, "compile_ns").map(|row| row.figure.clone());
            Side {
                compile: compile.unwrap_or_else(|| Err("not measured".into())),
                refusal_ns: record.get(at_peer, "refusal_ns").map(|spent| spent.p50),
                answers: answers[at],
            }
        };
        let facts = record.rows.iter().filter(|row| row.contestant == "gobo");
        let facts = facts.filter_map(|row| Some((row.measure.clone(), row.figure.as_ref().ok()?.p50)));
        let after_others =
            after_others.as_ref().and_then(|answer| answer.samples.get("after_others_ns")?.first());
        let facts = facts.chain(after_others.map(|&ns| ("after_others_ns".to_owned(), ns)));
        let all = |shared: &[f64], own: &[f64]| Spread::of(&[shared, own].concat());
        let outcome = Outcome {
            subset: entry.subset.clone(),
            id: entry.id.clone(),
            schema_bytes: entry.schema.len(),
            keywords: entry.keywords()?,
            gobo: side(0),
            llguidance: side(1),
            facts: if compiled[0] { facts.collect() } else { BTreeMap::new() },
            fill: all(&shared.fill, &own.fill),
            copy: all(&shared.copy, &own.copy),
            peer_mask: Spread::of(&shared.peer_warm),
        };
        self.run.outcomes.push(outcome);
        self.run.shared.append(&mut shared);
        self.run.own.append(&mut own);
        Ok(())
    }

    /// The answer, or a line on why there is none.
    fn ask(&mut self, at: usize, ask: &Ask, bound: Duration, id: &str) -> Option<Answer> {
        let peer = &mut self.peers[at];
        match peer.ask_within(ask, bound) {
            Ok(answer) => Some(answer),
            Err(reason) => {
                let failed = format!("{}, {}", peer.name(), ask.name());
                eprintln!("{id}: {failed}: {reason}");
                // What is behind the first colon may quote the schema.
                let kind = reason.split(':').next().unwrap_or_default();
                self.run.failures.push((id.to_owned(), format!("{failed}: {kind}")));
                None
            }
        }
    }

    /// All instances as they are given, and those whose members the schema orders in another way once more.
    fn texts(&mut self, entry: &Entry, case: &Case, has_index: bool) -> Vec<Text> {
        let given: Vec<String> = entry.tests.iter().map(|test| test.text.clone()).collect();
        if given.is_empty() {
            return Vec::new();
        }
        let ask = Ask::InOrder { case: case.clone(), texts: given.clone() };
        let ordered = if has_index {
            self.ask(0, &ask, STEPPING, &entry.id)
        } else {
            // That gobo cannot read the schema is known by now.
            self.peers[0].ask_within(&ask, STEPPING).ok()
        };
        let ordered = ordered.map_or_else(Vec::new, |answer| answer.texts);
        let other = ordered.into_iter().enumerate().filter(|(test, text)| *text != given[*test]);
        let all = given.iter().cloned().enumerate().chain(other);
        all.map(|(test, text)| Text { test, tokens: self.tokens.greedy(&text) }).collect()
    }

    /// Whether each text is accepted.
    fn accepted(&mut self, at: usize, case: &Case, texts: &[Text]) -> Option<Vec<bool>> {
        let tokens = texts.iter().map(|text| text.tokens.clone()).collect();
        let ask = Ask::Accept { case: case.clone(), texts: tokens };
        let answer = self.ask(at, &ask, LONG, &case.name)?;
        Some(answer.samples.get("accepted")?.iter().map(|&accepted| accepted == 1.0).collect())
    }

    /// Along a text of each valid instance that gobo accepts: those that llguidance accepts too, and the others.
    fn masks(
        &mut self,
        entry: &Entry,
        case: &Case,
        texts: &[Text],
        gobo: &[bool],
        llguidance: Option<&[bool]>,
    ) -> (Masks, Masks) {
        let (mut shared, mut own, mut chosen) = (Vec::new(), Vec::new(), vec![false; entry.tests.len()]);
        for (at, text) in texts.iter().enumerate() {
            if gobo[at] && entry.tests[text.test].is_valid && !chosen[text.test] {
                chosen[text.test] = true;
                let is_shared = llguidance.is_some_and(|accepted| accepted[at]);
                if is_shared { &mut shared } else { &mut own }.push(text.tokens.clone());
            }
        }
        let [shared, own] = [shared, own].map(|texts| Sequence { case: case.clone(), texts });
        let masks = [&shared, &own].map(|sequence| self.beside_copy(sequence));
        let [mut of_shared, of_own] = masks;
        if !shared.texts.is_empty() {
            let ask = Ask::Walk { sequence: shared, rounds: PEER_ROUNDS };
            let mut walk = self.ask(1, &ask, LONG, &case.name).unwrap_or_default();
            of_shared.peer_cold = walk.samples.remove("cold_fill_ns").unwrap_or_default();
            of_shared.peer_warm = walk.samples.remove("fill_ns").unwrap_or_default();
        }
        (of_shared, of_own)
    }

    fn beside_copy(&mut self, sequence: &Sequence) -> Masks {
        if sequence.texts.is_empty() {
            return Masks::default();
        }
        let ask = Ask::FillBesideCopy { sequences: vec![sequence.clone()], rounds: ROUNDS };
        let mut beside = self.ask(0, &ask, STEPPING, &sequence.case.name).unwrap_or_default();
        let mut take = |name: &str| beside.samples.remove(name).unwrap_or_default();
        Masks { fill: take("fill_ns"), copy: take("copy_ns"), ..Masks::default() }
    }
}

/// Counts the verdicts over the instances.
fn counted(entry: &Entry, texts: &[Text], accepted: &[bool]) -> Answers {
    let mut answers = Answers::default();
    for (at, test) in entry.tests.iter().enumerate() {
        // The first text of an instance is the given one.
        let mut of_test = texts.iter().zip(accepted).filter(|(text, _)| text.test == at).map(|(_, is)| *is);
        let as_given = of_test.next().unwrap_or(false);
        let is_accepted = as_given || of_test.next().unwrap_or(false);
        if test.is_valid {
            answers.valid += 1;
            answers.valid_refused += usize::from(!is_accepted);
            answers.only_in_order += usize::from(is_accepted && !as_given);
        } else {
            answers.invalid += 1;
            answers.invalid_accepted += usize::from(is_accepted);
        }
    }
    answers
}
