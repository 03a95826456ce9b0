//! Where `gobo compile --out` puts an index.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Output;

use gobo_artifact::Index;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::gobo::{gobo, under};

fn compile(home: &Path, regex: &str, out: &Path) -> Output {
    let args = ["compile", "--tokenizer", "r50k_base", "--json", "--regex", regex, "--out"];
    gobo(home, &[&args[..], &[out.to_str().unwrap()]].concat())
}

fn compiled(home: &Path, regex: &str, out: &Path) {
    let output = compile(home, regex, out);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn who_has_mapped_what_was_there_keeps_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("here");
    fs::create_dir(&folder).unwrap();
    let out = folder.join("index.gobo");
    compiled(home.path(), "[a-z]{3,40}", &out);
    let (mapped, before) = (Index::open(&out).unwrap(), fs::metadata(&out).unwrap());
    fs::set_permissions(&out, Permissions::from_mode(0o640)).unwrap();

    compiled(home.path(), "a", &out);
    // Cut or written over, the map would end this process or tell of another index.
    mapped.verify().unwrap();
    let after = fs::metadata(&out).unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!(after.mode() & 0o777, 0o640, "as private as it was");
    let second = Index::open(&out).unwrap();
    second.verify().unwrap();
    assert_ne!(second.key(), mapped.key());

    // A link stays a link, and what it leads to is replaced.
    let link = home.path().join("link.gobo");
    symlink("here/index.gobo", &link).unwrap();
    compiled(home.path(), "b", &link);
    assert!(link.is_symlink());
    assert_ne!(Index::open(&out).unwrap().key(), second.key());
    second.verify().unwrap();
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["index.gobo"], "no temporary file is left");
}

#[test]
fn what_cannot_be_written_leaves_what_was_there() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("index.gobo");
    compiled(home.path(), "a", &out);
    let before = fs::read(&out).unwrap();
    let full = under("trap '' XFSZ; ulimit -S -f 0;")
        .args(["compile", "--tokenizer", "r50k_base", "--regex", "b", "--out", out.to_str().unwrap()])
        .env("GOBO_STORE", home.path().join("store"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&full.stderr);
    assert_eq!(full.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("no room to write"), "{stderr}");
    assert_eq!(fs::read(&out).unwrap(), before);
    let folder = home.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let dangling = home.path().join("dangling");
    symlink("nowhere", &dangling).unwrap();
    let socket = home.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for (path, why) in [(&folder, "a folder"), (&dangling, "No such file"), (&socket, "a socket")] {
        let output = compile(home.path(), "b", path);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(why) && stderr.contains(path.to_str().unwrap()), "{stderr}");
    }
    assert!(dangling.is_symlink() && !home.path().join("nowhere").exists());
    assert!(
        fs::read_dir(home.path())
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_str().unwrap().starts_with(".tmp-") })
    );
}

#[test]
fn stdout_gets_the_index_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("index.gobo");
    compiled(home.path(), "a", &file);
    let bytes = fs::read(&file).unwrap();
    for out in ["-", "/dev/stdout", "/proc/self/fd/1"] {
        let output = compile(home.path(), "a", Path::new(out));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert_eq!(output.stdout, bytes, "{out}");
        assert!(stderr.contains("\"verdict\":\"index\""), "what is said about it: {stderr}");
        let refused = compile(home.path(), "(", Path::new(out));
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{out}");
    }
    // A file behind it is written to, and not replaced: the shell has it open.
    let redirected = home.path().join("redirected");
    let status = under(&format!("exec >'{}';", redirected.display()))
        .args(["compile", "--tokenizer", "r50k_base", "--regex", "a", "--out", "/dev/stdout"])
        .env("GOBO_STORE", home.path().join("store"))
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(fs::read(&redirected).unwrap(), bytes);
}

#[test]
fn a_pipe_and_the_null_device_are_written_to_as_they_are() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("index.gobo");
    compiled(home.path(), "a", &file);
    let pipe = home.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let reading = pipe.clone();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        fs::File::open(reading).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    });
    compiled(home.path(), "a", &pipe);
    assert_eq!(reader.join().unwrap(), fs::read(&file).unwrap());
    assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
    compiled(home.path(), "a", Path::new("/dev/null"));
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}
