//! Migrations: the numbered steps of the catalog's layout. See `migrations/README.md`.

use std::time::SystemTime;

use gobo_types::Digest;
use serde::{Deserialize, Serialize};

use super::records::name;
use crate::StoreError;
use crate::clock::unix_ms;
use crate::database::{Database, DatabaseError, Entry};

/// The steps, in order; the number of each is its place, from 1.
const FILES: [(&str, &str); 3] = [
    ("0001_indices.toml", include_str!("../../../../migrations/0001_indices.toml")),
    ("0002_verdicts.toml", include_str!("../../../../migrations/0002_verdicts.toml")),
    ("0003_uses.toml", include_str!("../../../../migrations/0003_uses.toml")),
];

/// Records of applied steps. The one prefix that no step declares.
const PREFIX: &str = "m/";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    AddPrefix,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Codec {
    Json,
}

/// One file of `migrations/`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    number: u32,
    title: String,
    #[serde(rename = "why")]
    _why: String,
    #[serde(rename = "operation")]
    _operation: Operation,
    prefix: String,
    #[serde(rename = "codec")]
    _codec: Codec,
    #[serde(skip, default = "unset")]
    digest: Option<Digest>,
}

fn unset() -> Option<Digest> {
    None
}

/// A step as the catalog records it.
#[derive(Debug, Serialize, Deserialize)]
struct Applied {
    digest: Digest,
    title: String,
    at_unix_ms: u64,
}

/// The state of a catalog, as this version's steps define it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// No step was applied, and nothing is in it.
    Blank,
    /// The first `from` steps were applied as this version knows them; possibly all.
    At(u32),
    /// Not a state that these steps lead to, and why.
    Foreign(String),
}

/// The steps known to this program.
#[derive(Debug, Clone)]
pub(super) struct Migrations {
    steps: Vec<Step>,
}

impl Migrations {
    /// The built-in steps.
    pub(super) fn built_in() -> Result<Self, StoreError> {
        Self::parse(&FILES)
    }

    fn parse(files: &[(&'static str, &str)]) -> Result<Self, StoreError> {
        let mut steps: Vec<Step> = Vec::with_capacity(files.len());
        for &(file, text) in files {
            let mut step: Step = toml::from_str(text)
                .map_err(|source| StoreError::Migration { file, source: Some(Box::new(source)) })?;
            if step.number as usize != steps.len() + 1 {
                return Err(StoreError::Migration { file, source: None });
            }
            step.digest = Some(Digest::of(text.as_bytes()));
            steps.push(step);
        }
        Ok(Self { steps })
    }

    /// The number of the last step.
    pub(super) fn last(&self) -> u32 {
        self.steps.last().map_or(0, |step| step.number)
    }

    /// Looks at every key of `db`. O(records): a catalog that cannot be read to its end shows it here, while it can
    /// still be rebuilt.
    pub(super) fn state(&self, db: &dyn Database) -> Result<State, DatabaseError> {
        let mut applied = 0;
        for entry in db.scan(PREFIX.as_bytes()) {
            let (key, value) = entry?;
            if !key.starts_with(PREFIX.as_bytes()) {
                break;
            }
            let Some(step) = self.steps.get(applied as usize) else {
                return Ok(State::Foreign(format!("a newer gobo wrote {}", name(&key))));
            };
            if key != record_key(step.number).as_bytes() {
                return Ok(State::Foreign(format!(
                    "found {} where step {} belongs",
                    name(&key),
                    step.number
                )));
            }
            let same = serde_json::from_slice::<Applied>(&value)
                .is_ok_and(|found| Some(found.digest) == step.digest);
            if !same {
                return Ok(State::Foreign(format!("{} was applied with another text", name(&key))));
            }
            applied = step.number;
        }
        let declared = &self.steps[..applied as usize];
        for entry in db.scan(b"") {
            let (key, value) = entry?;
            if key.starts_with(PREFIX.as_bytes()) {
                continue;
            }
            if !declared.iter().any(|step| key.starts_with(step.prefix.as_bytes())) {
                return Ok(State::Foreign(format!("no step declares the record {}", name(&key))));
            }
            if serde_json::from_slice::<serde::de::IgnoredAny>(&value).is_err() {
                return Ok(State::Foreign(format!("the record {} is damaged", name(&key))));
            }
        }
        Ok(if applied == 0 { State::Blank } else { State::At(applied) })
    }

    /// The records of the steps after `from`, to be applied all or none. `add_prefix` moves no data, so recording a step applies
    /// it.
    pub(super) fn entries(&self, from: u32, now: SystemTime) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        for step in self.steps.iter().skip(from as usize) {
            let Some(digest) = step.digest else { continue };
            let applied = Applied { digest, title: step.title.clone(), at_unix_ms: unix_ms(now) };
            let json = serde_json::to_vec(&applied)
                .map_err(|source| StoreError::Encode { what: "a step of the catalog", source })?;
            entries.push((record_key(step.number).into_bytes(), json));
        }
        Ok(entries)
    }
}

fn record_key(number: u32) -> String {
    format!("{PREFIX}{number:04}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryDatabase;

    fn database() -> MemoryDatabase {
        MemoryDatabase::default()
    }

    fn apply(migrations: &Migrations, db: &MemoryDatabase, from: u32) {
        db.apply(&migrations.entries(from, SystemTime::now()).unwrap()).unwrap();
    }

    #[test]
    fn built_in_steps_parse_and_are_all_there_is() {
        let migrations = Migrations::built_in().unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "README.md")
            .collect();
        files.sort();
        assert_eq!(files, FILES.map(|(file, _)| file));
        assert_eq!(migrations.last() as usize, FILES.len());
        assert!(files.iter().zip(1..).all(|(file, number)| file.starts_with(&format!("{number:04}_"))));
    }

    /// A released step never changes: catalogs in the field recorded these digests.
    #[test]
    fn released_steps_are_pinned() {
        let migrations = Migrations::built_in().unwrap();
        let digests: Vec<String> =
            migrations.steps.iter().map(|step| step.digest.unwrap().to_string()[..16].to_owned()).collect();
        assert_eq!(digests, GOLDEN);
    }
    const GOLDEN: [&str; 3] = ["efc44fc306959a92", "5a5da7de9d91bdd7", "46a2a018497e3b8f"];

    #[test]
    fn steps_replay_from_every_earlier_state() {
        let migrations = Migrations::built_in().unwrap();
        for from in 0..=migrations.last() {
            let db = database();
            let earlier = Migrations::parse(&FILES[..from as usize]).unwrap();
            apply(&earlier, &db, 0);
            let expected = if from == 0 { State::Blank } else { State::At(from) };
            assert_eq!(migrations.state(&db).unwrap(), expected);
            apply(&migrations, &db, from);
            assert_eq!(migrations.state(&db).unwrap(), State::At(migrations.last()));
        }
    }

    #[test]
    fn what_these_steps_do_not_lead_to_is_foreign() {
        let migrations = Migrations::built_in().unwrap();
        let foreign = |change: &dyn Fn(&MemoryDatabase)| {
            let db = database();
            apply(&migrations, &db, 0);
            change(&db);
            match migrations.state(&db).unwrap() {
                State::Foreign(why) => why,
                state => panic!("{state:?}"),
            }
        };
        assert!(foreign(&|db| drop(db.insert(b"m/0004", b"{}").unwrap())).contains("newer"));
        assert!(foreign(&|db| drop(db.remove(b"m/0001").unwrap())).contains("where step 1 belongs"));
        assert!(foreign(&|db| drop(db.insert(b"m/0001", b"{}").unwrap())).contains("another text"));
        assert!(foreign(&|db| drop(db.insert(b"x/", b"{}").unwrap())).contains("no step declares"));
        assert!(foreign(&|db| drop(db.insert(b"i/1", b"{").unwrap())).contains("damaged"));

        let unmarked = database();
        unmarked.insert(b"i/1", b"{}").unwrap();
        assert!(matches!(migrations.state(&unmarked).unwrap(), State::Foreign(_)));
    }
}
