//! One vocabulary in several packages: whatever file it came from, its masks are the same, bit for bit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gobo_artifact::{Matcher, Vocabulary};
use gobo_oracle::Segmenter;
use gobo_tokenizer::{ImportOptions, Imported};
use gobo_types::{Binding, Constraint};

use crate::data::{data_dir, examples};
use crate::subject::{answer, compile, index_of, tokens_of};

struct Package {
    about: String,
    vocabulary: Arc<Vocabulary>,
    binding: Binding,
}

impl Package {
    fn new(about: &str, imported: &Imported) -> Self {
        let bytes = imported.table.build().unwrap();
        let vocabulary = Arc::new(Vocabulary::from_bytes(&bytes).unwrap());
        Self { about: about.to_owned(), vocabulary, binding: imported.binding() }
    }
}

/// A folder of its own, removed in the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gobo-packages-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.0.join(name);
        std::fs::write(&file, content).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn import(path: &Path, special: Option<PathBuf>) -> Imported {
    let options = ImportOptions { special, ..ImportOptions::default() };
    gobo_tokenizer::import(path, &options).unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Walks every text through every package at once, and compares their masks at every step. Returns their number.
fn compare(packages: &[Package], cases: &[(Constraint, Vec<String>)]) -> usize {
    let segmenter = Segmenter::new(&tokens_of(&packages[0].vocabulary));
    let mut masks = 0;
    for (constraint, texts) in cases {
        let starts: Vec<Matcher> = packages
            .iter()
            .map(|package| {
                let index = compile(&package.vocabulary, constraint, 1)
                    .unwrap_or_else(|error| panic!("{}: {constraint:?}: {error}", package.about));
                Matcher::new(index_of(&index), Arc::clone(&package.vocabulary), &package.binding).unwrap()
            })
            .collect();
        for text in texts {
            let mut matchers = starts.clone();
            let ids = segmenter.greedy(text.as_bytes()).unwrap();
            for step in 0..=ids.len() {
                let first = answer(&matchers[0], &packages[0].binding);
                for (package, matcher) in packages.iter().zip(&matchers).skip(1) {
                    let found = answer(matcher, &package.binding);
                    assert!(found == first, "{}: {constraint:?} after {:?}", package.about, &ids[..step]);
                    masks += 1;
                }
                if let Some(&id) = ids.get(step) {
                    matchers.iter_mut().for_each(|matcher| matcher.advance(id).unwrap());
                }
            }
        }
    }
    masks
}

/// The ranks with their list of special tokens, the `tokenizer.json`, and the ranks that are part of the program.
#[test]
#[ignore = "needs GOBO_DATA"]
fn masks_of_o200k_base_do_not_depend_on_its_package() {
    let dir = data_dir();
    let folder = dir.join("tokenizers/o200k_base");
    let scratch = Folder::new("o200k");
    let list = scratch.write("special.json", r#"{"<|endoftext|>": 199999, "<|endofprompt|>": 200018}"#);
    let packages = [
        Package::new("tokenizer.json", &import(&folder, None)),
        Package::new("ranks", &import(&folder.join("o200k_base.tiktoken"), Some(list))),
        Package::new("built in", &gobo_tokenizer::builtin("o200k_base").unwrap()),
    ];
    let cases: Vec<_> = examples(&dir)
        .into_iter()
        .filter(|example| !example.invalid && !example.unsupported)
        .map(|example| (example.constraint, example.accept.into_iter().take(2).collect()))
        .collect();
    let masks = compare(&packages, &cases);
    println!("{masks} masks compared");
    assert!(masks > 2000);
}

/// A field of protobuf that has a length.
pub(crate) fn field(key: u8, content: &[u8]) -> Vec<u8> {
    [&[key, u8::try_from(content.len()).unwrap()], content].concat()
}

pub(crate) fn gguf(model: &str, tokens: &[(String, u8)]) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let array = |kind: u32, elements: Vec<u8>| {
        [&kind.to_le_bytes()[..], &(tokens.len() as u64).to_le_bytes(), &elements].concat()
    };
    let entry =
        |key: &str, kind: u32, value: Vec<u8>| [text(key), kind.to_le_bytes().to_vec(), value].concat();
    let texts = tokens.iter().flat_map(|(token, _)| text(token)).collect();
    let kinds = tokens.iter().flat_map(|(_, kind)| u32::from(*kind).to_le_bytes()).collect();
    [
        b"GGUF\x03\0\0\0".to_vec(),
        0_u64.to_le_bytes().to_vec(),
        3_u64.to_le_bytes().to_vec(),
        entry("tokenizer.ggml.model", 8, text(model)),
        entry("tokenizer.ggml.tokens", 9, array(8, texts)),
        entry("tokenizer.ggml.token_type", 9, array(5, kinds)),
    ]
    .concat()
}

fn cases() -> Vec<(Constraint, Vec<String>)> {
    let case = |pattern: &str, texts: &[&str]| {
        (Constraint::regex(pattern), texts.iter().map(|text| (*text).to_owned()).collect())
    };
    vec![
        case("(ab|a b|b)*", &["abab", "a bb", ""]),
        case("[a-c ]{0,9}", &["abcabc", "   a b c"]),
        case(" *(the|a)( cab)+", &["  the cab cab", "a cab"]),
        case("\\PC*", &["<end>", "</s> a", "é"]),
    ]
}

#[test]
fn masks_of_byte_level_twins_are_equal() {
    let scratch = Folder::new("byte-level");
    let letters = [" ", "a", "b", "c", "t", "h", "e", "<", ">", "/", "n", "d", "s", "é", "\u{301}"];
    let bytes: Vec<u8> = letters.concat().bytes().collect();
    let mut ordinary: Vec<Vec<u8>> = Vec::new();
    for byte in bytes {
        if !ordinary.contains(&vec![byte]) {
            ordinary.push(vec![byte]);
        }
    }
    ordinary.extend([" t", "he", " the", "ab", " c", "ca", "  "].map(|token| token.as_bytes().to_vec()));
    // The alphabet, as far as it is needed here.
    let written = |bytes: &[u8]| -> String {
        bytes
            .iter()
            .map(|&byte| {
                if byte == b' ' {
                    'Ġ'
                } else {
                    match byte {
                        0x81 => 'ģ',
                        byte => char::from(byte),
                    }
                }
            })
            .collect()
    };
    let base64 = |bytes: &[u8]| {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        bytes.chunks(3).fold(String::new(), |mut text, chunk| {
            let word = chunk
                .iter()
                .chain(&[0; 2])
                .take(3)
                .fold(0_usize, |word, &byte| word << 8 | usize::from(byte));
            for digit in 0..4 {
                let padding = digit > chunk.len();
                text.push(if padding { '=' } else { char::from(DIGITS[word >> (18 - 6 * digit) & 63]) });
            }
            text
        })
    };
    let (mut vocab, mut ranks, mut tekken) = (Vec::new(), Vec::new(), Vec::new());
    let mut gguf_tokens = vec![("<end>".to_owned(), 3), ("</s>".to_owned(), 3)];
    for (rank, token) in ordinary.iter().enumerate() {
        vocab.push(format!("{:?}: {}", written(token), rank + 2));
        ranks.push(format!("{} {}", base64(token), rank + 2));
        tekken.push(format!(r#"{{"rank": {rank}, "token_bytes": "{}"}}"#, base64(token)));
        gguf_tokens.push((written(token), 1));
    }
    let json = format!(
        r#"{{"pre_tokenizer": {{"type": "ByteLevel"}}, "added_tokens": [{{"id": 0, "content": "<end>", "special": true}},
            {{"id": 1, "content": "</s>", "special": true}}],
            "model": {{"type": "BPE", "merges": [], "vocab": {{{}}}}}}}"#,
        vocab.join(",")
    );
    let tekken = format!(
        r#"{{"config": {{"default_vocab_size": {}, "default_num_special_tokens": 2}}, "vocab": [{}],
            "special_tokens": [{{"rank": 0, "token_str": "<end>"}}, {{"rank": 1, "token_str": "</s>"}}]}}"#,
        ordinary.len() + 2,
        tekken.join(",")
    );
    let list = scratch.write("list.json", r#"{"<end>": 0, "</s>": 1}"#);
    let packages = [
        Package::new("tokenizer.json", &import(&scratch.write("tokenizer.json", json), None)),
        Package::new("tekken.json", &import(&scratch.write("tekken.json", tekken), None)),
        Package::new("ranks", &import(&scratch.write("x.tiktoken", ranks.join("\n")), Some(list))),
        Package::new("GGUF", &import(&scratch.write("x.gguf", gguf("gpt2", &gguf_tokens)), None)),
    ];
    assert!(compare(&packages, &cases()) > 50);
}

#[test]
fn masks_of_twins_with_marks_are_equal() {
    let scratch = Folder::new("marks");
    let mut pieces: Vec<(String, u8)> =
        [("<unk>", 2), ("<end>", 3), ("</s>", 3)].map(|(text, kind)| (text.to_owned(), kind)).to_vec();
    pieces.extend((0..=255).map(|byte| (format!("<0x{byte:02X}>"), 6)));
    pieces.extend(
        ["▁", "▁▁", "a", "b", "c", "▁the", "▁a", "ab", "ca", "▁c", "é"].map(|text| (text.to_owned(), 1)),
    );
    let vocab: Vec<String> =
        pieces.iter().enumerate().map(|(id, (text, _))| format!("{text:?}: {id}")).collect();
    let json = format!(
        r#"{{"decoder": {{"type": "Metaspace", "replacement": "▁"}}, "added_tokens": [
            {{"id": 0, "content": "<unk>", "special": true}}, {{"id": 1, "content": "<end>", "special": true}},
            {{"id": 2, "content": "</s>", "special": true}}],
            "model": {{"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "vocab": {{{}}}, "merges": []}}}}"#,
        vocab.join(",")
    );
    let model: Vec<u8> = pieces
        .iter()
        .flat_map(|(text, kind)| field(0x0a, &[field(0x0a, text.as_bytes()), vec![0x18, *kind]].concat()))
        .collect();
    let packages = [
        Package::new("tokenizer.json", &import(&scratch.write("tokenizer.json", json), None)),
        Package::new("SentencePiece", &import(&scratch.write("tokenizer.model", model), None)),
        Package::new("GGUF", &import(&scratch.write("x.gguf", gguf("llama", &pieces)), None)),
    ];
    assert!(compare(&packages, &cases()) > 50);
}
