//! Programs in C, built with the real header against the real library, as C99 and as C++.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gobo_artifact::{Fill, Matcher};
use gobo_types::{Constraint, TokenId};

use crate::fixture::{Case, Fixture, NAME};

/// A language that programs are built as: its compilers, and its options.
#[derive(Clone, Copy)]
pub(crate) enum Language {
    C,
    Cpp,
}

impl Language {
    pub(crate) const BOTH: [Self; 2] = [Self::C, Self::Cpp];

    fn compilers(self) -> [&'static str; 3] {
        match self {
            Self::C => ["cc", "gcc", "clang"],
            Self::Cpp => ["c++", "g++", "clang++"],
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::C => &["-std=c99"],
            // Initialisers name fields, which C++ has since 2020; of those that are not named only C++ warns.
            Self::Cpp => &["-std=c++20", "-Wno-missing-field-initializers", "-x", "c++"],
        }
    }

    /// The compiler; without one the test is skipped, and says so whether its output is shown or not.
    pub(crate) fn compiler(self, test: &str) -> Option<Command> {
        let is_there =
            |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
        let [first, ..] = self.compilers();
        if let Some(name) = self.compilers().iter().find(is_there) {
            let mut command = Command::new(name);
            command.args(["-pedantic", "-Werror", "-Wall", "-Wextra", "-O1"]).args(self.options());
            return Some(command);
        }
        // Past the harness, which keeps what passing tests print.
        let said = format!(
            "
!!! SKIPPED: {test}: there is no {first}; install gcc or clang
"
        );
        std::io::stderr().write_all(said.as_bytes()).unwrap();
        None
    }
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the libraries, beside the test: cargo builds them with it.
pub(crate) fn libraries() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    for library in ["libgobo.so", "libgobo.a"] {
        assert!(folder.join(library).is_file(), "{} has no {library}", folder.display());
    }
    folder
}

/// How a program finds gobo.
#[derive(Clone, Copy)]
pub(crate) enum Linked {
    Shared,
    Static,
}

/// Builds a program with the options of a language and of the caller; `None` where there is no compiler.
pub(crate) fn build(
    source: &str,
    language: Language,
    linked: Linked,
    more: &[String],
    program: &Path,
) -> Option<()> {
    let mut compiler = language.compiler(source)?;
    let libraries = libraries();
    compiler.arg("-I").arg(root().join("include")).arg(root().join(source));
    // What comes after on the line is no source.
    compiler.args(["-x", "none", "-o"]).arg(program).args(more);
    match linked {
        Linked::Shared => {
            compiler
                .arg("-L")
                .arg(&libraries)
                .arg("-lgobo")
                .arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
        Linked::Static => {
            compiler.arg(libraries.join("libgobo.a")).args(["-lpthread", "-ldl", "-lm", "-lgcc_s"]);
        }
    }
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// Runs a program with the test's store and the vocabulary's name before its arguments.
pub(crate) fn run(program: &Path, fixture: &Fixture, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(program);
    command.arg(fixture.root()).arg(NAME.to_str().unwrap()).args(arguments);
    // Where tests run, other folders may have a library that was built before.
    command.env("LD_LIBRARY_PATH", libraries());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // By a thread, so that neither waits for the other.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

/// Does again in Rust what a walk in C says it did.
struct Replay<'a> {
    fixture: &'a Fixture,
    matcher: Option<Matcher>,
    masks: usize,
}

impl Replay<'_> {
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u32>().unwrap();
        if words[0] == "index" {
            let is_key = |case: &&Case| self.fixture.key(&case.constraint).to_string() == words[1];
            let case = self.fixture.cases.iter().find(is_key).unwrap();
            self.matcher = Some(self.fixture.matcher(&case.constraint));
            return;
        }
        let matcher = self.matcher.as_mut().unwrap();
        match words[0] {
            "mask" => {
                let mut mask = vec![0; matcher.mask_words()];
                let status = match matcher.fill(&mut mask).unwrap() {
                    Fill::Masked => 0,
                    Fill::Ended => 13,
                };
                let found: Vec<u32> =
                    words[2..].iter().map(|word| u32::from_str_radix(word, 16).unwrap()).collect();
                assert!((number(1), &found) == (status, &mask), "{line}");
                self.masks += 1;
            }
            "accept" => assert_eq!(matcher.advance(number(1)).is_ok(), number(2) == 0, "{line}"),
            "rollback" => {
                assert_eq!(matcher.rollback(number(1) as usize).is_ok(), number(2) == 0, "{line}");
            }
            "reset" => matcher.reset(),
            "fork" => {}
            other => panic!("{other}"),
        }
    }
}

/// Over the whole library, bit for bit.
#[test]
fn walks_of_a_c_program_are_those_of_rust() {
    let fixture = Fixture::new(|_| true);
    let mut constraints = Vec::new();
    for case in &fixture.cases {
        constraints.extend(case.json().as_bytes());
        constraints.push(b'\n');
    }
    for (language, linked) in Language::BOTH.into_iter().zip([Linked::Shared, Linked::Static]) {
        let program = fixture.root().join("walk");
        if build("tests/c/walk.c", language, linked, &[], &program).is_none() {
            continue;
        }
        let output = run(&program, &fixture, &["80"], &constraints);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut replay = Replay { fixture: &fixture, matcher: None, masks: 0 };
        stdout(&output).lines().for_each(|line| replay.line(line));
        assert_eq!(replay.masks, fixture.cases.len() * 80);
    }
}

/// The lines of the example that stand for one text.
fn expected(fixture: &Fixture, case: &Case, text: &str) -> (String, bool) {
    let mut matcher = fixture.matcher(&case.constraint);
    let index = matcher.index();
    let (key, kind, states, bytes) =
        (index.key(), case.constraint.kind(), index.states(), index.file_bytes().len());
    let mut lines = format!("index {key}: {kind}, {states} states, {bytes} bytes\n");
    let mut mask = vec![0; matcher.mask_words()];
    let mut rest = text.as_bytes();
    while matcher.fill(&mut mask) == Ok(Fill::Masked) {
        let width = fixture.binding.logits_width;
        let allowed: Vec<TokenId> =
            (0..width).filter(|id| mask[*id as usize / 32] >> (id % 32) & 1 == 1).collect();
        lines += "mask:";
        allowed.iter().take(8).for_each(|id| write!(lines, " {id}").unwrap());
        let more = if allowed.len() > 8 { " ..." } else { "" };
        writeln!(lines, "{more}, {} of {width} ids", allowed.len()).unwrap();
        let bytes = |id: &TokenId| fixture.vocabulary.bytes(*id);
        let fits = |id: &&TokenId| {
            !fixture.vocabulary.is_special(**id) && !bytes(id).is_empty() && rest.starts_with(bytes(id))
        };
        // The first of the longest.
        let Some(longest) = allowed.iter().filter(fits).rev().max_by_key(|id| bytes(id).len()) else { break };
        matcher.advance(*longest).unwrap();
        writeln!(lines, "token {longest}: {}", String::from_utf8_lossy(bytes(longest))).unwrap();
        rest = &rest[bytes(longest).len()..];
    }
    let is_completed = matcher.is_complete() && rest.is_empty();
    lines += if is_completed { "completed\n" } else { "not completed\n" };
    (lines, is_completed)
}

#[test]
fn the_plain_example_prints_the_masks_along_a_text() {
    let fixture = Fixture::new(|case| ["iso-date", "ipv4", "json", "arithmetic"].contains(&case.id.as_str()));
    for language in Language::BOTH {
        let program = fixture.root().join("plain");
        if build("examples/plain.c", language, Linked::Shared, &[], &program).is_none() {
            continue;
        }
        let mut completed = 0;
        for case in &fixture.cases {
            let json = case.json();
            for text in
                case.texts.iter().map(String::as_str).filter(|text| text.is_ascii()).chain(["2024-02-30", ""])
            {
                let output = run(&program, &fixture, &[json.to_str().unwrap(), text], b"");
                let (lines, is_completed) = expected(&fixture, case, text);
                assert_eq!(stdout(&output), lines, "{}: {text}", case.id);
                assert_eq!(output.status.code(), Some(i32::from(!is_completed)));
                completed += usize::from(is_completed);
            }
        }
        assert!(completed > 8, "{completed}");
        // What is not there is said, and is no crash.
        let missing = serde_json::to_string(&Constraint::regex("missing")).unwrap();
        let output = run(&program, &fixture, &[&missing, "x"], b"");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        assert!(said.starts_with("index: not found: ") && said.contains("`gobo get`"), "{said}");
    }
}
