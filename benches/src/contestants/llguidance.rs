//! llguidance: a lazy engine. Its compile ends with its first mask; what a text needs is built when it gets there.

use std::sync::Arc;

use anyhow::Context;
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use super::{Contestant, Decoding};
use crate::cases::{Case, PeerGrammar};
use crate::vocabularies::Source;

/// llguidance's factory, with its standard slices, over the tokens of a gobo vocabulary.
pub struct Llguidance {
    factory: ParserFactory,
    mask_words: usize,
}

impl Llguidance {
    pub fn new(source: &Source) -> anyhow::Result<Self> {
        let vocabulary = source.open()?;
        let words: Vec<Vec<u8>> = (0..source.binding.logits_width)
            .map(|id| match vocabulary.bytes(id) {
                // Its mark of tokens that no text spells.
                name if vocabulary.is_special(id) => [&[TokTrie::SPECIAL_TOKEN_MARKER], name].concat(),
                bytes => bytes.to_vec(),
            })
            .collect();
        let eos = &source.binding.eos;
        let info = TokRxInfo::new(source.binding.logits_width, *eos.first().context("an EOS")?);
        let trie = TokTrie::from(&info, &words).with_eos_tokens(eos);
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&environment)?;
        factory.quiet();
        Ok(Self { factory, mask_words: source.binding.mask_words() })
    }
}

impl Contestant for Llguidance {
    type Ready = Matcher;

    fn compile(&self, case: &Case) -> anyhow::Result<Matcher> {
        let grammar = match (&case.recursive, &case.schema) {
            (Some(recursive), _) => match &recursive.llguidance {
                PeerGrammar::Lark(lark) => TopLevelGrammar::from_lark(lark.clone()),
                PeerGrammar::Schema(schema) => {
                    TopLevelGrammar::from_json_schema(serde_json::from_str(schema)?)
                }
                PeerGrammar::Unknown => anyhow::bail!("no grammar of this language in its dialect"),
            },
            (None, Some(schema)) => TopLevelGrammar::from_json_schema(serde_json::from_str(schema)?),
            (None, None) => TopLevelGrammar::from_regex(&case.regex),
        };
        let mut matcher = Matcher::new(self.factory.create_parser(grammar));
        matcher.compute_mask_or_eos()?;
        Ok(matcher)
    }

    fn facts(&self, _: &Matcher) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn decoding(&self, ready: &Matcher) -> anyhow::Result<Box<dyn Decoding>> {
        Ok(Box::new(ready.clone()))
    }

    fn mask_words(&self) -> usize {
        self.mask_words
    }
}

impl Decoding for Matcher {
    fn fill(&mut self, mask: &mut [u32]) -> anyhow::Result<()> {
        let computed = self.compute_mask_or_eos()?;
        mask.copy_from_slice(&computed.as_slice()[..mask.len()]);
        Ok(())
    }

    fn advance(&mut self, id: u32) -> anyhow::Result<()> {
        self.consume_token(id)
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.reset()
    }
}
