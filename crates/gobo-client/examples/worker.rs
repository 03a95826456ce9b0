//! An inference worker: resolves a constraint to an index, then decodes texts under its masks, one alone and a batch.
//!
//! ```sh
//! gobo serve --store /tmp/gobo &
//! cargo run -p gobo-client --example worker -- /tmp/gobo o200k_base '[0-9]{4}-[0-9]{2}-[0-9]{2}'
//! ```
//!
//! A model is not needed: [`sample`] stands for it and for its sampler.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example says what it finds")]

use std::error::Error;

use gobo_client::{Client, Constraint, Fill, Matcher, Resolved, TokenId, fill_batch};

/// Texts that are decoded together.
const BATCH: u64 = 8;

/// Most tokens of one text: a constraint may allow texts without end.
const MAX_TOKENS: u64 = 64;

/// Threads that fill the masks of a batch. More than one pays for hundreds of texts.
const FILL_THREADS: usize = 1;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, vocabulary, pattern] = arguments.as_slice() else {
        return Err("usage: worker STORE VOCABULARY PATTERN".into());
    };

    // One client for the whole process: all tasks share its maps and its one connection.
    let client = Client::builder().store(store).connect()?;

    // Without any call if the index is on this host; otherwise the daemon finds or compiles it.
    let resolved = client.resolve(vocabulary, &Constraint::regex(pattern)).await?;
    println!("index {} by {} in {} us", resolved.key, resolved.source.name(), resolved.resolve_us);

    println!("alone: {}", decode(&client, &resolved)?);
    for text in decode_batch(&client, &resolved)? {
        println!("batch: {text}");
    }
    Ok(())
}

/// Decodes one text: fill the mask, sample under it, advance; until the text has ended.
fn decode(client: &Client, resolved: &Resolved) -> Result<String, Box<dyn Error>> {
    let mut matcher = client.matcher(resolved)?;
    let mut mask = vec![0; matcher.mask_words()];
    let mut text = Vec::new();
    for step in 0..MAX_TOKENS {
        // `Ended`: the text is complete and nothing can follow. The mask is zero then, and must not be sampled from.
        if matcher.fill(&mut mask)? == Fill::Ended {
            break;
        }
        let token = sample(&mask, 0, step).ok_or("a mask without a token")?;
        take(&mut matcher, token, &mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Decodes a batch: one call fills the masks of all texts as the rows of one matrix, which is what goes to the device.
fn decode_batch(client: &Client, resolved: &Resolved) -> Result<Vec<String>, Box<dyn Error>> {
    let mut matchers = (0..BATCH).map(|_| client.matcher(resolved)).collect::<Result<Vec<_>, _>>()?;
    let stride = matchers.first().map_or(0, Matcher::mask_words);
    let mut matrix = vec![0; matchers.len() * stride];
    let mut fills: Vec<_> = matchers.iter().map(|_| Ok(Fill::Ended)).collect();
    let mut texts = vec![Vec::new(); matchers.len()];

    for step in 0..MAX_TOKENS {
        fill_batch(&matchers, &mut matrix, stride, FILL_THREADS, &mut fills)?;
        let mut running = false;
        let rows = matrix.chunks_exact(stride);
        for ((((row, fill), matcher), text), seed) in
            rows.zip(&fills).zip(&mut matchers).zip(&mut texts).zip(1..)
        {
            // What is wrong with one text is said in its place; the others go on.
            match fill {
                Ok(Fill::Masked) => {
                    let token = sample(row, seed, step).ok_or("a mask without a token")?;
                    take(matcher, token, text)?;
                    running = true;
                }
                Ok(Fill::Ended) => {}
                Err(error) => return Err(error.clone().into()),
            }
        }
        if !running {
            break;
        }
    }
    Ok(texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect())
}

/// Takes a token, and appends its bytes to the text unless it is the EOS that ends it. A refused token changes nothing.
fn take(matcher: &mut Matcher, token: TokenId, text: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
    matcher.advance(token)?;
    if !matcher.is_ended() {
        text.extend_from_slice(matcher.vocabulary().bytes(token));
    }
    Ok(())
}

/// The allowed token with the greatest logit. The logits are a hash of seed, step and id.
fn sample(mask: &[u32], seed: u64, step: u64) -> Option<TokenId> {
    let logit = |id: TokenId| {
        let mixed = ((seed << 48) ^ (step << 32) ^ u64::from(id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let allowed = (0..).zip(mask).flat_map(|(word, &bits): (TokenId, &u32)| {
        (0..32).filter(move |bit| (bits >> bit) & 1 == 1).map(move |bit| word * 32 + bit)
    });
    allowed.max_by_key(|&id| logit(id))
}
