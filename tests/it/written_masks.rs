//! What a policy of whitespace costs a sampler, as far as that is seen without a model: how many tokens the masks along valid instances
//! have, and how many of the tokens are forced. The table in `docs/json-schema.md` is made again here; `UPDATE=1` writes it.
//!
//! The instances and their writers are those of [`crate::written`]; texts are cut into tokens by the tokenizer's own encoder. A text that
//! a policy shuts out is in none of its figures.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use gobo_artifact::{Fill, Matcher, Vocabulary};
use gobo_compiler::CompileOptions;
use gobo_schema::PolicyForm;
use gobo_tokenizer::{Encoder, ImportOptions, ordinary_bytes};
use gobo_types::{Binding, Budget, Constraint, SchemaOptions, TokenId, Whitespace};
use serde_json::Value;

use crate::data::data_dir;
use crate::documents::stands_in;
use crate::subject::index_of;
use crate::written::{LIMITS, WRITERS, sample};

const TOKENIZERS: [&str; 2] = ["llama-3.1", "o200k_base"];
const POLICIES: [Whitespace; 3] = [Whitespace::Compact, Whitespace::Single, Whitespace::Lines];
const STYLES: [&str; 3] =
    ["`json.dumps`, `separators=(\",\", \":\")`", "`json.dumps`", "`json.dumps`, `indent=2`"];

/// What was seen along some texts.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    texts: u64,
    tokens: u64,
    /// The tokens that were allowed, over all masks.
    allowed: u64,
    forced: u64,
}

impl Seen {
    /// Adds the masks along a text, if the policy lets it through.
    fn add(&mut self, start: &Matcher, ids: &[TokenId]) {
        let mut matcher = start.clone();
        let mut mask = vec![0; matcher.mask_words()];
        let mut seen = Self { texts: self.texts + 1, ..*self };
        for &id in ids {
            assert_eq!(matcher.fill(&mut mask).unwrap(), Fill::Masked);
            seen.allowed += mask.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            let mut forced = Vec::new();
            matcher.forced(&mut forced);
            seen.forced += u64::from(forced.starts_with(matcher.vocabulary().bytes(id)));
            seen.tokens += 1;
            if matcher.advance(id).is_err() {
                return;
            }
        }
        if matcher.is_complete() {
            *self = seen;
        }
    }
}

/// The index of a schema under a policy, if it has one.
fn matcher(
    vocabulary: &Arc<Vocabulary>,
    binding: &Binding,
    schema: &str,
    whitespace: Whitespace,
) -> Option<Matcher> {
    let options = SchemaOptions { whitespace, ..SchemaOptions::default() };
    let constraint = Constraint::schema(schema, options);
    let budget = Budget::new(LIMITS);
    let lowered = gobo_worker::lower(&constraint, &budget).ok()?;
    let options = CompileOptions::default();
    let compiled = gobo_compiler::compile(vocabulary, &constraint, &lowered, &options, &budget).ok()?;
    Some(Matcher::new(index_of(compiled.bytes()), Arc::clone(vocabulary), binding).unwrap())
}

/// The rows of the table for one tokenizer.
fn rows(dir: &Path, name: &str, schemas: &[(String, Vec<Value>)]) -> String {
    let path = dir.join("tokenizers").join(name);
    let imported = gobo_tokenizer::import(&path, &ImportOptions::default()).unwrap();
    let vocabulary = Arc::new(Vocabulary::from_bytes(&imported.table.build().unwrap()).unwrap());
    let binding = Binding::new(imported.eos.clone(), imported.logits_width);
    let encoder = Encoder::open(&path).unwrap();
    let mut all = [[Seen::default(); POLICIES.len()]; STYLES.len()];
    for (schema, values) in schemas {
        let matchers: Option<Vec<Matcher>> =
            POLICIES.iter().map(|&policy| matcher(&vocabulary, &binding, schema, policy)).collect();
        let Some(matchers) = matchers else { continue };
        let form = PolicyForm::new(schema, &SchemaOptions::default(), &Budget::default()).unwrap();
        for value in values {
            let value = form.in_order(value);
            for (style, seen) in STYLES.iter().zip(&mut all) {
                let writer = WRITERS.iter().find(|writer| writer.name == *style).unwrap();
                let text = writer.text(&value);
                let ids = encoder.encode_continuation(&text, ordinary_bytes(&imported.table)).unwrap();
                let ids = ids.unwrap_or_else(|| panic!("{name} writes {text}"));
                matchers.iter().zip(seen).for_each(|(matcher, seen)| seen.add(matcher, &ids));
            }
        }
    }
    let mut out = String::new();
    for (style, seen) in STYLES.iter().zip(all) {
        write!(out, "| `{name}` | {style} |").unwrap();
        let most = seen.iter().map(|seen| seen.texts).max().unwrap();
        for Seen { texts, tokens, allowed, forced } in seen {
            if texts * 2 < most {
                out.push_str(" shut out |");
                continue;
            }
            let share = forced * 1000 / tokens;
            write!(out, " {}, {}.{} % |", allowed / tokens, share / 10, share % 10).unwrap();
        }
        writeln!(out, " {most} |").unwrap();
    }
    out
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn what_policies_of_whitespace_cost_is_in_the_documentation() {
    let dir = data_dir();
    let schemas = sample(&dir);
    let mut table = "| tokenizer | writer |".to_owned();
    POLICIES.iter().for_each(|policy| write!(table, " `{policy}` |").unwrap());
    table.push_str(" texts |\n|---|---|");
    POLICIES.iter().for_each(|_| table.push_str("---|"));
    table.push_str("---|\n");
    TOKENIZERS.iter().for_each(|name| table += &rows(&dir, name, &schemas));
    stands_in("docs/json-schema.md", "masks", "written_masks", &table);
}
