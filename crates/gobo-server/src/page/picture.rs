//! A graph of states as a picture: layers by `rust-sugiyama` (Sugiyama, Tagawa, Toda, *Methods for Visual Understanding of Hierarchical System
//! Structures*, 1981), from left to right; our own SVG.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use gobo_explain::{Graph, Way};
use maud::{Markup, PreEscaped, html};
use rust_sugiyama::configure::Config;
use rust_sugiyama::from_vertices_and_edges;

/// A state's box, and what lies between two layers and two boxes of one.
const WIDTH: f64 = 56.0;
const HEIGHT: f64 = 26.0;
const LAYER: f64 = 150.0;
const GAP: f64 = 44.0;

/// Most characters of a label, and of what a pointer is told.
const LABEL_SHOWN: usize = 22;
const TOLD: usize = 200;

/// Most lines, those of the present state first.
const WAYS_SHOWN: usize = 200;

/// Draws a graph, with the present state marked.
pub(super) fn picture(graph: &Graph, present: u32) -> Markup {
    if graph.nodes.is_empty() {
        return html! { p { "There is no state." } };
    }
    let mut lines: Vec<((u32, u32), Vec<&Way>)> = merged(graph).into_iter().collect();
    lines.sort_by_key(|((from, to), _)| *from != present && *to != present);
    let left_out = lines.len().saturating_sub(WAYS_SHOWN);
    lines.truncate(WAYS_SHOWN);
    let places = places(graph, lines.iter().map(|(ends, _)| *ends), present);
    let right = places.values().map(|place| place.0).fold(0.0, f64::max) + WIDTH + 30.0;
    let below = places.values().map(|place| place.1).fold(0.0, f64::max) + HEIGHT + 40.0;
    let complete = graph.nodes.iter().filter(|node| node.is_complete).count();
    let said = format!(
        "The automaton around state {present}: {} states, {} ways between them; the text may end in {complete} of them.",
        graph.nodes.len(),
        graph.edges.len()
    );
    html! {
        svg.automaton role="img" aria-label=(said) width=(format!("{right:.0}")) height=(format!("{below:.0}"))
            viewBox=(format!("0 0 {right:.0} {below:.0}")) {
            defs {
                marker #tip viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto" { path d="M0 0L8 4L0 8z" {} }
            }
            @for ((from, to), ways) in &lines { (way(&places, *from, *to, ways)) }
            @for node in &graph.nodes {
                @let (x, y) = places[&node.state];
                g.state.present[node.state == present].complete[node.is_complete].cut[node.is_cut] {
                    rect x=(format!("{x:.0}")) y=(format!("{y:.0}")) width=(WIDTH) height=(HEIGHT) rx="13" {}
                    @if node.is_complete {
                        rect x=(format!("{:.0}", x + 3.0)) y=(format!("{:.0}", y + 3.0)) width=(WIDTH - 6.0) height=(HEIGHT - 6.0) rx="10" {}
                    }
                    text x=(format!("{:.0}", x + WIDTH / 2.0)) y=(format!("{:.0}", y + HEIGHT / 2.0 + 4.0)) text-anchor="middle" {
                        (node.state) @if node.is_cut { "…" }
                    }
                }
            }
        }
        p.legend {
            "The filled box is the present state. A double border: the text (of an index with calls, the rule) may end there. "
            "Dashed: a call; dotted: where a rule goes on after it; “…”: ways lead on to states that are not shown."
            @if left_out > 0 { " " (left_out) " more ways are left out." }
        }
    }
}

/// The ways between two states, which share one line.
fn merged(graph: &Graph) -> BTreeMap<(u32, u32), Vec<&Way>> {
    let mut merged: BTreeMap<(u32, u32), Vec<&Way>> = BTreeMap::new();
    for edge in &graph.edges {
        merged.entry((edge.from, edge.to)).or_default().push(&edge.way);
    }
    merged
}

/// The upper left corner of each state's box. The layout takes time that grows with the square of the lines and more, so it has only those that are drawn.
fn places(graph: &Graph, lines: impl Iterator<Item = (u32, u32)>, present: u32) -> HashMap<u32, (f64, f64)> {
    let numbers: HashMap<u32, u32> = graph.nodes.iter().map(|node| node.state).zip(0..).collect();
    let number = |state: u32| numbers.get(&state).copied();
    let mut ways: Vec<Vec<u32>> = vec![Vec::new(); graph.nodes.len()];
    for (from, to) in lines.filter(|(from, to)| from != to) {
        if let (Some(from), Some(to)) = (number(from), number(to)) {
            ways[from as usize].push(to);
        }
    }
    // The layout goes from the top down, with the width of a layer across: here that is its height. It knows states by their position.
    let vertices: Vec<(u32, (f64, f64))> =
        (0..).zip(&graph.nodes).map(|(at, _)| (at, (HEIGHT, HEIGHT))).collect();
    let config = Config { vertex_spacing: GAP, ..Config::default() };
    let layouts = from_vertices_and_edges(&vertices, &acyclic(&ways, number(present).unwrap_or(0)), &config);
    let mut places = HashMap::new();
    // Parts without a way between them stand below each other.
    let mut top = 20.0;
    for (states, _, _) in layouts {
        let least = |of: fn(&(f64, f64)) -> f64| {
            states.iter().map(|(_, place)| of(place)).reduce(f64::min).unwrap_or(0.0)
        };
        let (least_x, least_y) = (least(|place| place.0), least(|place| place.1));
        let most_x = states.iter().map(|(_, place)| place.0).reduce(f64::max).unwrap_or(0.0);
        for (at, (x, y)) in &states {
            let place = (20.0 + (y - least_y) / (HEIGHT + GAP) * LAYER, top + (x - least_x));
            places.insert(graph.nodes[*at].state, place);
        }
        top += most_x - least_x + HEIGHT + GAP;
    }
    places
}

/// The ways without circles: those that lead back on the way from the present state are turned round. O(states + ways).
fn acyclic(ways: &[Vec<u32>], present: u32) -> Vec<(u32, u32)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        OnTheWay,
        Done,
    }
    let mut seen = vec![Seen::Not; ways.len()];
    let mut edges = Vec::new();
    for first in [present].into_iter().chain((0..).take(ways.len())) {
        let mut open = if seen[first as usize] == Seen::Not { vec![(first, 0)] } else { Vec::new() };
        while let Some((state, next)) = open.last_mut() {
            seen[*state as usize] = Seen::OnTheWay;
            let Some(&to) = ways[*state as usize].get(*next) else {
                seen[*state as usize] = Seen::Done;
                open.pop();
                continue;
            };
            *next += 1;
            let from = *state;
            edges.push(if seen[to as usize] == Seen::OnTheWay { (to, from) } else { (from, to) });
            if seen[to as usize] == Seen::Not {
                open.push((to, 0));
            }
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn way(places: &HashMap<u32, (f64, f64)>, from: u32, to: u32, ways: &[&Way]) -> Markup {
    let ((from_x, from_y), (to_x, to_y)) = (places[&from], places[&to]);
    let mut path = String::new();
    let (label_x, label_y);
    let (middle_from, middle_to) = (from_y + HEIGHT / 2.0, to_y + HEIGHT / 2.0);
    // Writing to a string does not fail.
    if from == to {
        let x = from_x + WIDTH / 2.0;
        let _ = write!(path, "M{:.0} {from_y:.0}c-14 -22 36 -22 22 0", x - 11.0);
        (label_x, label_y) = (x, from_y - 18.0);
    } else if to_x > from_x {
        let (start, end) = (from_x + WIDTH, to_x);
        let bend = (end - start) / 2.0;
        let _ = write!(
            path,
            "M{start:.0} {middle_from:.0}C{:.0} {middle_from:.0} {:.0} {middle_to:.0} {end:.0} {middle_to:.0}",
            start + bend,
            end - bend
        );
        (label_x, label_y) = (f64::midpoint(start, end), f64::midpoint(middle_from, middle_to) - 4.0);
    } else {
        // Back, below both.
        let (start, end) = (from_x + WIDTH / 2.0, to_x + WIDTH / 2.0);
        let (from_low, to_low) = (from_y + HEIGHT, to_y + HEIGHT);
        let low = from_low.max(to_low) + 24.0;
        let _ = write!(
            path,
            "M{start:.0} {from_low:.0}C{start:.0} {low:.0} {end:.0} {low:.0} {end:.0} {to_low:.0}"
        );
        (label_x, label_y) = (f64::midpoint(start, end), low - 8.0);
    }
    let class = match ways {
        [Way::Call(_), ..] => "call",
        [Way::Return(_), ..] => "return",
        [Way::Token, ..] => "token",
        _ => "bytes",
    };
    let label = ways.iter().map(|way| way.label()).collect::<Vec<_>>().join(", ");
    let shown: String = label.chars().take(LABEL_SHOWN).collect();
    let is_cut = label.chars().nth(LABEL_SHOWN).is_some();
    html! {
        g.way.(class) {
            title { (from) " → " (to) ": " (label.chars().take(TOLD).collect::<String>()) }
            path d=(PreEscaped(path)) marker-end="url(#tip)" {}
            text x=(format!("{label_x:.0}")) y=(format!("{label_y:.0}")) text-anchor="middle" { (shown) @if is_cut { "…" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use gobo_explain::{Edge, Node};

    use super::*;

    fn graph(states: u32, edges: &[(u32, u32)]) -> Graph {
        let node = |state| Node { state, is_complete: state % 2 == 0, is_cut: state == 1 };
        let edge = |&(from, to)| Edge { from, to, way: Way::Bytes(vec![b'<', b'a']) };
        Graph { nodes: (1..=states).map(node).collect(), edges: edges.iter().map(edge).collect() }
    }

    #[test]
    fn ways_lead_to_the_right_from_the_present_state() {
        let chain = graph(5, &[(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]);
        for present in 1..=5 {
            let lines = chain.edges.iter().map(|edge| (edge.from, edge.to));
            let places = places(&chain, lines, present);
            let order: Vec<u32> = (0..5).map(|step| (present - 1 + step) % 5 + 1).collect();
            assert!(order.is_sorted_by(|a, b| places[a].0 < places[b].0), "{present}: {places:?}");
        }
    }

    /// Graphs of all shapes: loops, circles, parts without a way between them.
    #[test]
    fn every_graph_has_a_picture_and_every_state_its_place() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..300 {
            let states = random.u32(1..=60);
            let edges: Vec<(u32, u32)> =
                (0..random.u32(0..3000)).map(|_| (random.u32(1..=states), random.u32(1..=states))).collect();
            let mut graph = graph(states, &edges);
            graph.edges.sort_unstable();
            graph.edges.dedup();
            let lines = graph.edges.iter().map(|edge| (edge.from, edge.to)).take(WAYS_SHOWN);
            let places = places(&graph, lines, 1);
            assert_eq!(places.len(), graph.nodes.len(), "round {round}");
            let mut corners: Vec<(i64, i64)> = Vec::new();
            for node in &graph.nodes {
                let (x, y) = places[&node.state];
                assert!(x.is_finite() && y.is_finite() && x >= 0.0 && y >= 0.0, "round {round}: {x} {y}");
                #[expect(clippy::cast_possible_truncation, reason = "pixels")]
                corners.push((x as i64, y as i64));
            }
            corners.sort_unstable();
            corners.dedup();
            assert_eq!(corners.len(), graph.nodes.len(), "round {round}: two states in one place");
            let svg = picture(&graph, 1).into_string();
            assert!(svg.len() < 120 << 10, "round {round}: {} bytes", svg.len());
            assert!(!svg.contains("NaN") && !svg.contains("<a"), "round {round}");
        }
    }
}
