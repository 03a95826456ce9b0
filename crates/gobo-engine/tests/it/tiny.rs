use gobo_tokenizer::Imported;
use gobo_vocab::TokenTable;

/// All printable ASCII but `~`, a few longer tokens, and one special id at the end. The tests of client and server
/// include this file.
pub(crate) fn tiny() -> Imported {
    let mut table = TokenTable::new();
    let mut tokens: Vec<Vec<u8>> = (b' '..=b'}').map(|byte| vec![byte]).collect();
    tokens.extend(["ab", "abc", "00", "  "].map(|token| token.as_bytes().to_vec()));
    for (id, bytes) in (0..).zip(&tokens) {
        table.insert(id, bytes.clone(), false).unwrap();
    }
    let eos = u32::try_from(tokens.len()).unwrap();
    table.insert(eos, b"<end>".to_vec(), true).unwrap();
    Imported { table, kind: "test", eos: vec![eos], bos: None, pad: Some(eos), logits_width: 128 }
}
