//! Variants as rules over characters.
//!
//! A class of variants is a rule for each of its exits, and these are a family: which of them it was is known where the text has ended. A variant that begins with itself needs no call for that: where it ends, it may go
//! on after the call, whichever exit it is (`A = A α | β` becomes `β α*`, for all exits of `A` at once).

use std::collections::HashMap;

use gobo_automata::{Expr, Grammar, Machine, MachineState, Rule, RuleId};
use gobo_types::{Budget, CompileError, DenseId as _, LengthRange, Table};

use super::grammar::{Productions, TerminalId};
use super::lexer::{Lexemes, PlaceId, Texts, TextsId};
use super::merge::{ClassEdge, Classes, NodeClass, VariantClass};
use super::variants::{Node, NodeId, VariantId, Variants};

const PHASE: &str = "writing out rules";

/// Bytes that a rule or an edge is charged.
const RULE_BYTES: u64 = 128;

struct Emitter<'a, 'b> {
    productions: &'a Productions,
    lexemes: &'a Lexemes<'b>,
    variants: &'a Variants,
    classes: &'a Classes,
    /// One variant of each class, and one node.
    variant_of: Table<VariantClass, VariantId>,
    node_of: Table<NodeClass, NodeId>,
    grammar: Grammar,
    texts: HashMap<TextsId, RuleId>,
    /// The rules of terminals that stand for other grammars.
    nested: HashMap<TerminalId, RuleId>,
    exits: HashMap<(VariantClass, PlaceId), RuleId>,
    /// Exits whose rules are to be written.
    open: Vec<(VariantClass, PlaceId)>,
    budget: &'a Budget,
}

/// The grammar of the variants.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn emit(
    productions: &Productions,
    lexemes: &Lexemes<'_>,
    variants: &Variants,
    classes: &Classes,
    budget: &Budget,
) -> Result<Grammar, CompileError> {
    let mut variant_of = Table::filled(VariantId::new(0), classes.variants);
    for id in variants.all.ids().rev() {
        variant_of[classes.of_variant[id]] = id;
    }
    let mut node_of = Table::filled(NodeId::new(0), classes.nodes);
    for id in variants.nodes.ids().rev() {
        node_of[classes.of_node[id]] = id;
    }
    let mut emitter = Emitter {
        productions,
        lexemes,
        variants,
        classes,
        variant_of,
        node_of,
        grammar: Grammar {
            rules: Vec::new(),
            start: RuleId::new(0),
            called: Vec::new(),
            families: Vec::new(),
            tokens: Vec::new(),
        },
        texts: HashMap::new(),
        nested: HashMap::new(),
        exits: HashMap::new(),
        open: Vec::new(),
        budget,
    };
    let mut alternatives = Vec::new();
    for &(texts, variant) in &variants.starts {
        let class = classes.of_variant[variant];
        let of = &variants.all[variant];
        let mut exits: Vec<(PlaceId, (TextsId, TextsId))> = Vec::new();
        for &exit in &of.exits {
            let Some(class) = classes.exit(of.site, exit) else { continue };
            exits.extend(variants.endings(exit).iter().map(|&ending| (class, ending)));
        }
        exits.sort_unstable();
        exits.dedup();
        for (exit, (blanks, tail)) in exits {
            let rule = emitter.rule(class, exit)?;
            let mut parts = emitter.read(texts)?;
            parts.push(Expr::Call(rule));
            parts.extend(emitter.read(blanks)?);
            parts.extend(emitter.read(tail)?);
            alternatives.push(Expr::Concat(parts));
        }
    }
    while let Some((class, exit)) = emitter.open.pop() {
        emitter.write(class, exit)?;
    }
    let families = emitter.families();
    let mut grammar = emitter.grammar;
    grammar.start = RuleId::new(grammar.rules.len());
    grammar.families = families;
    grammar.rules.push(Rule { name: "text".to_owned(), expr: Expr::Alternate(alternatives), lengths: None });
    Ok(grammar)
}

impl Emitter<'_, '_> {
    fn add(&mut self, name: String, expr: Expr) -> Result<RuleId, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, RULE_BYTES + name.len() as u64)?;
        self.grammar.rules.push(Rule { name, expr, lengths: None });
        Ok(RuleId::new(self.grammar.rules.len() - 1))
    }

    /// The rule of a variant up to an exit.
    fn rule(&mut self, class: VariantClass, exit: PlaceId) -> Result<RuleId, CompileError> {
        if let Some(&known) = self.exits.get(&(class, exit)) {
            return Ok(known);
        }
        let rule = self.variants.all[self.variant_of[class]].rule;
        let id = self.add(self.productions.names[rule].clone(), Expr::Alternate(Vec::new()))?;
        self.exits.insert((class, exit), id);
        self.open.push((class, exit));
        Ok(id)
    }

    /// The rules of each variant that has several.
    fn families(&self) -> Vec<Vec<RuleId>> {
        let mut families: Table<VariantClass, Vec<RuleId>> = Table::filled(Vec::new(), self.classes.variants);
        self.exits.iter().for_each(|(&(class, _), &rule)| families[class].push(rule));
        families.iter_mut().for_each(|rules| rules.sort_unstable());
        families.iter().filter(|rules| rules.len() > 1).cloned().collect()
    }

    /// What reads texts: nothing for the empty one.
    fn read(&mut self, texts: TextsId) -> Result<Vec<Expr>, CompileError> {
        if texts == TextsId::EMPTY {
            return Ok(Vec::new());
        }
        if let Some(&known) = self.texts.get(&texts) {
            return Ok(vec![Expr::Call(known)]);
        }
        let id = match &self.lexemes.texts[texts] {
            Texts::Plain(language) => {
                let expr = language.to_expr(|chars| Expr::Chars(chars.clone()), self.budget)?;
                self.add(self.lexemes.name(texts), expr)?
            }
            Texts::Budgeted(of, budget) => {
                let language = self.lexemes.language(*of).expect("tokens are counted in languages");
                let expr = language.spent(&Expr::Chars(budget.spent.clone()), self.budget)?;
                let id = self.add(self.lexemes.name(texts), expr)?;
                self.grammar.rules[id.index()].lengths = Some(LengthRange::of_tokens(budget.most));
                id
            }
            Texts::Nested { terminal, first } => {
                let rule = self.nested(*terminal)?;
                match first {
                    Some(chars) => self.grammar.beginning_with(rule, chars, self.budget)?,
                    None => rule,
                }
            }
        };
        self.texts.insert(texts, id);
        Ok(vec![Expr::Call(id)])
    }

    /// The rule of a terminal that stands for another grammar.
    fn nested(&mut self, terminal: TerminalId) -> Result<RuleId, CompileError> {
        if let Some(&known) = self.nested.get(&terminal) {
            return Ok(known);
        }
        let nested = self.productions.terminals[terminal].text.nested.as_ref();
        let grammar = nested.map(|nested| nested.grammar.clone());
        let id = match grammar {
            Some(grammar) => self.grammar.append(grammar, self.budget)?,
            None => self.add(String::new(), Expr::Alternate(Vec::new()))?,
        };
        self.nested.insert(terminal, id);
        Ok(id)
    }

    fn write(&mut self, class: VariantClass, exit: PlaceId) -> Result<(), CompileError> {
        let (variants, classes) = (self.variants, self.classes);
        let variant = self.variant_of[class];
        let mut machine = Machine::default();
        let start = machine.add_state(false);
        let mut states: HashMap<NodeClass, MachineState> = HashMap::new();
        let mut open: Vec<NodeClass> = Vec::new();
        // Where the rule goes on after a text of its own that stands first, by the exit of that text.
        let mut again: Vec<(PlaceId, MachineState)> = Vec::new();
        let mut ends: Vec<(MachineState, PlaceId)> = Vec::new();
        let mut state = |to: NodeClass, machine: &mut Machine, open: &mut Vec<NodeClass>| {
            *states.entry(to).or_insert_with(|| {
                open.push(to);
                machine.add_state(false)
            })
        };
        let exit_of = |node: &Node| node.exit.and_then(|exit| classes.exit(node.site, exit));
        for &node in &variants.all[variant].starts {
            let node = &variants.nodes[node];
            ends.extend(exit_of(node).map(|exit| (start, exit)));
            for edge in &node.edges {
                match classes.edge(variants, edge) {
                    ClassEdge::Call { variant, exit, to } if variant == class => {
                        again.push((exit, state(to, &mut machine, &mut open)));
                    }
                    edge => {
                        let to = state(edge.to(), &mut machine, &mut open);
                        let expr = self.edge(edge)?;
                        machine.add_edge(start, expr, to);
                    }
                }
            }
        }
        while let Some(at) = open.pop() {
            let from = state(at, &mut machine, &mut open);
            let node = &variants.nodes[self.node_of[at]];
            ends.extend(exit_of(node).map(|exit| (from, exit)));
            let mut edges: Vec<ClassEdge> =
                node.edges.iter().map(|edge| classes.edge(variants, edge)).collect();
            edges.sort_unstable();
            edges.dedup();
            for edge in edges {
                let to = state(edge.to(), &mut machine, &mut open);
                let expr = self.edge(edge)?;
                machine.add_edge(from, expr, to);
            }
        }
        for (end, at) in ends {
            if at == exit {
                machine.accept(end);
            }
            self.budget.charge_steps(PHASE, 1 + again.len() as u64)?;
            for &(_, to) in again.iter().filter(|of| of.0 == at) {
                machine.add_edge(end, Expr::text(""), to);
            }
        }
        let rule = self.exits[&(class, exit)];
        self.grammar.rules[rule.index()].expr = Expr::Machine(Box::new(machine));
        Ok(())
    }

    fn edge(&mut self, edge: ClassEdge) -> Result<Expr, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, RULE_BYTES)?;
        Ok(match edge {
            ClassEdge::Letter { texts, tail, .. } => {
                let mut parts = self.read(texts)?;
                parts.extend(self.read(tail)?);
                Expr::Concat(parts)
            }
            ClassEdge::Call { variant, exit, .. } => Expr::Call(self.rule(variant, exit)?),
        })
    }
}
