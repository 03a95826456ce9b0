//! Tokenizers: import, list, show.

use serde_json::Value;

use super::{TOKENIZER, has, tiny_tokenizer};
use crate::gobo::{gobo, json, one};

#[test]
fn tokenizers_are_imported_listed_and_shown() {
    let store = tempfile::tempdir().unwrap();
    let path = tiny_tokenizer(store.path());
    let keys = ["name", "kind", "tokens", "logits_width", "special", "eos", "bos", "pad", "digest", "bytes"];
    let import = ["tokenizer", "import", &path, "--name", "tiny", "--logits-width", "8"];
    let import = [&import[..], &["--eos", "<eos>", "2", "--bos", "0"]].concat();
    let imported = one(store.path(), 0, &import);
    has(&imported, &keys);
    assert_eq!((&imported["tokens"], &imported["logits_width"]), (&5.into(), &8.into()));
    assert_eq!(imported["eos"], serde_json::json!([2, 4]));
    assert_eq!((&imported["bos"], &imported["pad"]), (&0.into(), &Value::Null));
    assert_eq!(one(store.path(), 0, &["tokenizer", "show", "tiny"]), imported);
    let listed = json(store.path(), 0, &["tokenizer", "list"]);
    assert!(listed.contains(&imported) && listed.len() == 4, "{listed:?}");
    // Listing builds nothing and reads no vocabulary whole: the built-in ones have no numbers before their first use, and a
    // damaged byte is not its matter.
    assert!(listed.iter().all(|line| line["name"] == "tiny" || line.get("tokens").is_none()), "{listed:?}");
    let digest = imported["digest"].as_str().unwrap();
    let vocabularies = store.path().join("v0/vocab").join(&digest[..2]);
    let file = std::fs::read_dir(&vocabularies).unwrap().next().unwrap().unwrap().path();
    let sound = std::fs::read(&file).unwrap();
    let mut damaged = sound.clone();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, damaged).unwrap();
    assert_eq!(json(store.path(), 0, &["tokenizer", "list"]), listed);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(json(store.path(), 0, &["tokenizer", "list"]).len(), 3, "it is not there");
    std::fs::write(&file, sound).unwrap();
    // The built-in ones are what their library decodes; a source of another tokenizer is not this one's.
    let verified = one(store.path(), 0, &["tokenizer", "verify", TOKENIZER]);
    has(
        &verified,
        &[
            "name",
            "passes",
            "compared",
            "mismatches",
            "round_trips",
            "lossy",
            "lost",
            "unspellable",
            "eos",
            "bos",
            "pad",
            "special",
            "holes",
            "duplicates",
            "only_inside",
            "as_replacement",
            "beside",
            "source",
            "judge",
            "digest",
        ],
    );
    assert_eq!((&verified["passes"], &verified["compared"]), (&true.into(), &50_256.into()));
    assert_eq!(one(store.path(), 1, &["tokenizer", "verify", TOKENIZER, "--source", &path])["passes"], false);
    // A width too small, an unknown EOS, a file that is none.
    for args in [["--logits-width", "3"], ["--eos", "<nope>"]] {
        assert_eq!(
            gobo(store.path(), &[&["tokenizer", "import", &path][..], &args].concat()).status.code(),
            Some(2)
        );
    }
    assert_eq!(gobo(store.path(), &["tokenizer", "import", "Cargo.toml"]).status.code(), Some(2));
}
