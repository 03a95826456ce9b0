//! The Job of Kubernetes and the array of Slurm in `docs/deploy`, run by a driver that does what schedulers do: it doubles a shard, kills one, and
//! runs it again.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Fleet, library};
use crate::cli::tiny_tokenizer;

const JOB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploy/prewarm-job.yaml");
const ARRAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploy/prewarm-array.sh");
const SHARDS: u32 = 8;

/// The arguments of the Job's container, for one index, with the paths and the number of shards of the test.
fn arguments(home: &Path, tokenizer: &str, index: u32) -> Vec<String> {
    let job = fs::read_to_string(JOB).unwrap();
    let lines = job.lines().skip_while(|line| line.trim() != "args:").skip(1);
    let arguments = lines.map_while(|line| line.trim().strip_prefix("- "));
    let folder = home.display().to_string();
    let arguments: Vec<String> = arguments
        .map(|argument| {
            argument
                .replace("$(JOB_COMPLETION_INDEX)/64", &format!("{index}/{SHARDS}"))
                .replace("s3://models/gobo", &format!("file://{folder}/bucket"))
                .replace("/keys/sign.pem", &format!("{folder}/sign.pem"))
                .replace("/library/llama-3.1/tokenizer.json", tokenizer)
                .replace("/library/library.jsonl.zst", &format!("{folder}/library.jsonl.zst"))
        })
        .collect();
    assert!(arguments.len() == 8 && arguments[0] == "prewarm", "{arguments:?}");
    arguments
}

/// A tokenizer in a folder that gives it a name.
fn named_tokenizer(home: &Path) -> String {
    let folder = home.join("tiny");
    fs::create_dir(&folder).unwrap();
    tiny_tokenizer(&folder)
}

fn start(arguments: &[String]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gobo"));
    command.args(arguments).env_remove("GOBO_STORE").env_remove("GOBO_SERVER");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn status(mut child: Child) -> Option<i32> {
    child.wait().unwrap().code()
}

#[test]
fn shards_of_a_job_may_be_doubled_killed_and_run_again() {
    let home = tempfile::tempdir().unwrap();
    let distinct = library(home.path());
    let tokenizer = named_tokenizer(home.path());
    let shard = |index| start(&arguments(home.path(), &tokenizer, index));
    // Two pods of one index; one that is killed at once, and one in the middle.
    let (first, second) = (shard(2), shard(2));
    for after in [0, 60] {
        let mut killed = shard(5);
        std::thread::sleep(Duration::from_millis(after));
        let _ = killed.kill();
        killed.wait().unwrap();
    }
    assert_eq!((status(first), status(second)), (Some(0), Some(0)));
    for index in (0..SHARDS).rev() {
        assert_eq!(status(shard(index)), Some(0), "{index}");
    }
    // Status 2 ends the Job, and nothing but a mistake in it has that.
    let mut mistaken = arguments(home.path(), &tokenizer, 0);
    *mistaken.last_mut().unwrap() = "/nowhere.jsonl".into();
    assert_eq!(status(start(&mistaken)), Some(2));
    pulls(home.path(), distinct);
}

#[test]
fn an_array_of_slurm_does_the_same() {
    let home = tempfile::tempdir().unwrap();
    let distinct = library(home.path());
    let tokenizer = named_tokenizer(home.path());
    let programs = home.path().join("bin");
    fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gobo"), programs.join("gobo")).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let file = |name: &str| home.path().join(name);
    for index in 0..3 {
        let ended = Command::new("sh")
            .arg(ARRAY)
            .env("PATH", &path)
            .env("SLURM_ARRAY_TASK_ID", index.to_string())
            .env("SLURM_CPUS_PER_TASK", "1")
            .env("GOBO_SHARDS", "3")
            .env("GOBO_REMOTE", format!("file://{}", file("bucket").display()))
            .env("GOBO_SIGN", file("sign.pem"))
            .env("GOBO_MANIFEST", "everyday")
            .env("GOBO_TOKENIZER", &tokenizer)
            .env("GOBO_LIBRARY", file("library.jsonl.zst"))
            .env_remove("GOBO_STORE")
            .stdout(Stdio::null())
            .status();
        assert_eq!(ended.unwrap().code(), Some(0));
    }
    pulls(home.path(), distinct);
}

/// A host that pulls has all of the library.
fn pulls(home: &Path, distinct: usize) {
    let fleet = Fleet { url: format!("file://{}/bucket", home.display()), writer: vec![], reader: vec![] };
    let trust = home.join("trust.pem");
    let pull = ["pull", "everyday", "--trust", trust.to_str().unwrap()];
    let pulled = fleet.json(&[], &home.join("host"), 0, &pull).remove(0);
    let answers = pulled["indices"].as_u64().unwrap() + pulled["verdicts"].as_u64().unwrap();
    assert_eq!((answers, &pulled["keys"]), (distinct as u64, &distinct.into()), "{pulled}");
}
