//! The page `docs/messages.md`: bad inputs, and what `gobo` says of them. `GOBO_WRITE_PAGES=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::gobo::gobo;

/// A bad input: what is wrong with it, the files of a folder, and the arguments of `gobo`. `T` stands for a tokenizer.
struct Case {
    title: &'static str,
    files: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
}

const fn case(
    title: &'static str,
    files: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
) -> Case {
    Case { title, files, args }
}

const fn regex(title: &'static str, args: &'static [&'static str; 2]) -> Case {
    Case { title, files: &[], args }
}

/// The groups of the page.
const GROUPS: [(&str, &[Case]); 6] = [
    (
        "Regular expressions",
        &[
            regex("A look-ahead behind which nothing stands", &["--regex", r"[a-z]+(?=!)"]),
            regex("A look-behind that looks beyond its end", &["--regex", r"(?<=a(?=b))b"]),
            regex("A named group without its parts", &["--regex", r"(?P<DELIMITED_LIST>(?P<ITEM>\d))"]),
            regex("A backreference", &["--regex", r"(a|b)x\1"]),
            regex("A group that is not closed", &["--regex", "abc((a)"]),
            regex("A count without its least number", &["--regex", "[0-9]{,5}"]),
            regex("A pattern between slashes", &["--regex", "/[a-z]+/i"]),
            regex("A class without characters", &["--regex", r"id-[^\s\S]"]),
            regex("Text before the beginning", &["--regex", "a^b"]),
            regex("States that double", &["--regex", "(a|b)*a(a|b){25}"]),
            regex("A large count", &["--regex", "a{1000000}"]),
        ],
    ),
    (
        "Choice lists",
        &[
            case("An empty line", &[("colours.txt", "red\n\nblue\n")], &["--choice", "colours.txt"]),
            case("No line", &[("colours.txt", "")], &["--choice", "colours.txt"]),
        ],
    ),
    (
        "Grammars",
        &[
            case(
                "A rule that is not defined",
                &[("list.gbnf", "root ::= \"[\" numbr \"]\"\nnumber ::= [0-9]+\n")],
                &["--grammar", "list.gbnf"],
            ),
            case(
                "A rule that never ends",
                &[("loop.gbnf", "root ::= \"(\" root \")\"\n")],
                &["--grammar", "loop.gbnf"],
            ),
            case(
                "Single quotes",
                &[("quotes.gbnf", "root ::= 'yes' | 'no'\n")],
                &["--grammar", "quotes.gbnf"],
            ),
            case(
                "Another start rule",
                &[("list.gbnf", "list ::= \"a\" list?\n")],
                &["--grammar", "list.gbnf"],
            ),
            case(
                "A product of counts",
                &[("many.gbnf", "root ::= ([a-z]{1,5000} \"\\n\"){1,5000}\n")],
                &["--grammar", "many.gbnf"],
            ),
            case(
                "Another dialect",
                &[("json.lark", "start: A\nA: /[a-z]+/ & ~/if/\n")],
                &["--grammar", "json.lark", "--lexer", "contextual"],
            ),
        ],
    ),
    (
        "JSON Schemas",
        &[
            case(
                "A trailing comma",
                &[("a.json", "{\n  \"type\": \"string\",\n  \"maxLength\": 3,\n}\n")],
                &["--schema", "a.json"],
            ),
            case(
                "A type that does not exist",
                &[("a.json", "{\"type\": \"strng\"}\n")],
                &["--schema", "a.json"],
            ),
            case(
                "Lengths that contradict",
                &[(
                    "a.json",
                    "{\n  \"type\": \"object\",\n  \"properties\": {\n    \"id\": {\"type\": \"string\", \"minLength\": 5, \
                     \"maxLength\": 3}\n  },\n  \"required\": [\"id\"]\n}\n",
                )],
                &["--schema", "a.json"],
            ),
            case(
                "Parts that contradict",
                &[("a.json", "{\"allOf\": [{\"type\": \"string\"}, {\"type\": \"integer\"}]}\n")],
                &["--schema", "a.json"],
            ),
            case(
                "More properties than there may be",
                &[(
                    "a.json",
                    "{\"type\": \"object\", \"properties\": {\"a\": {}, \"b\": {}}, \"additionalProperties\": false, \
                     \"minProperties\": 3}\n",
                )],
                &["--schema", "a.json"],
            ),
            case(
                "Items that are different, of more values than can be compared",
                &[(
                    "a.json",
                    "{\"type\": \"object\", \"properties\": {\"tags\": {\"type\": \"array\", \"items\": {\"type\": \
                     \"string\"}, \"uniqueItems\": true}}}\n",
                )],
                &["--schema", "a.json"],
            ),
            case(
                "A document elsewhere",
                &[("a.json", "{\"$ref\": \"https://example.com/address.json\"}\n")],
                &["--schema", "a.json"],
            ),
            case(
                "A reference that leads nowhere",
                &[(
                    "a.json",
                    "{\"$ref\": \"#/$defs/adress\", \"$defs\": {\"address\": {\"type\": \"string\"}}}\n",
                )],
                &["--schema", "a.json"],
            ),
            case(
                "Look-behind in a pattern",
                &[("a.json", "{\"type\": \"string\", \"pattern\": \"(?<=a)b\"}\n")],
                &["--schema", "a.json"],
            ),
            case(
                "Draft 3",
                &[("a.json", "{\"$schema\": \"http://json-schema.org/draft-03/schema#\"}\n")],
                &["--schema", "a.json"],
            ),
            case(
                "Keywords and formats that are misspelt",
                &[(
                    "a.json",
                    "{\"type\": \"object\", \"properties\": {\"at\": {\"type\": \"string\", \"format\": \"datetime\", \
                     \"maxlength\": 30}}, \"require\": [\"at\"], \"additionalProperties\": false}\n",
                )],
                &["--schema", "a.json"],
            ),
            case(
                "A length beside a format",
                &[(
                    "a.json",
                    "{\"type\": \"string\", \"format\": \"uri\", \"minLength\": 1, \"maxLength\": 2083}\n",
                )],
                &["--schema", "a.json"],
            ),
            case("An option of schemas without a schema", &[], &["--regex", "a", "--closed"]),
        ],
    ),
    (
        "Vocabularies",
        &[
            case(
                "A tokenizer that is not known",
                &[],
                &["compile", "--tokenizer", "o200k_bse", "--regex", "a"],
            ),
            case(
                "A file that is no tokenizer",
                &[("a.json", "{}\n")],
                &["tokenizer", "import", "a.json", "--name", "mine"],
            ),
            case(
                "A vocabulary that lacks a character",
                &[],
                &["compile", "--tokenizer", "letters.json", "--regex", "[0-9]+"],
            ),
            case(
                "Any JSON over words",
                &[],
                &["compile", "--tokenizer", "letters.json", "--builtin", "json"],
            ),
        ],
    ),
    (
        "Commands and files",
        &[
            case("No constraint", &[], &["compile", "--tokenizer", "r50k_base"]),
            case(
                "A file that is not there",
                &[],
                &["compile", "--tokenizer", "r50k_base", "--schema", "missing.json"],
            ),
            case(
                "A file that is no index",
                &[("month.gobo", "not an index\n")],
                &["mask", "--index", "month.gobo"],
            ),
            case(
                "Bytes of an unknown unit",
                &[],
                &["compile", "--tokenizer", "r50k_base", "--regex", "a", "--max-bytes", "2GB2"],
            ),
            case("A recursive side of a comparison", &[], &["diff", "json:compact", "regex:a"]),
        ],
    ),
];

/// A tokenizer of single letters.
const LETTERS: &str = r#"{"version":"1.0","added_tokens":[],"normalizer":null,"post_processor":null,
"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2},"merges":[]}}"#;

/// What one case shows: its files, the command, and what it said.
fn shown(store: &Path, case: &Case) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letters.json"), LETTERS).unwrap();
    let mut out = format!("### {}\n\n", case.title);
    for (name, text) in case.files {
        std::fs::write(folder.path().join(name), text).unwrap();
        let body = if text.is_empty() {
            String::new()
        } else {
            format!("\n\n```\n{}\n```", text.trim_end_matches('\n'))
        };
        writeln!(out, "`{name}`{}{body}\n", if text.is_empty() { " is empty." } else { ":" }).unwrap();
    }
    let args: Vec<&str> = match case.args {
        args @ [first, ..] if first.starts_with("--") => {
            [&["compile", "--tokenizer", "r50k_base"], args].concat()
        }
        args => args.to_vec(),
    };
    let quoted = |arg: &&str| {
        let is_plain = arg.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte));
        if is_plain { (*arg).to_owned() } else { format!("'{arg}'") }
    };
    let command: Vec<String> = args.iter().map(quoted).collect();
    let mut gobo = Command::new(env!("CARGO_BIN_EXE_gobo"));
    gobo.args(&args).current_dir(folder.path()).env("GOBO_STORE", store);
    let output = gobo.env_remove("GOBO_SERVER").env_remove("GOBO_LOG").output().unwrap();
    // What a command did is beside the point, and its times are others in each run.
    let said = String::from_utf8(output.stderr).unwrap();
    let status = output.status.code().unwrap();
    write!(
        out,
        "```console\n$ gobo {}\n{}\n```\n\nExit status {status}.\n\n",
        command.join(" "),
        said.trim_end()
    )
    .unwrap();
    out
}

#[test]
fn the_page_of_messages_says_what_gobo_says() {
    let store = tempfile::tempdir().unwrap();
    // The first use of a vocabulary takes longer, and is noted.
    let first = gobo(store.path(), &["compile", "--tokenizer", "r50k_base", "--regex", "a"]);
    assert!(first.status.success());
    let mut page = "# Messages\n\nWhat `gobo` says of bad input. A test makes this page; each message is what the command \
                    prints to stderr.\nOver gRPC the same parts are fields of `Refusal` and `OverBudget`, and with `--json` of \
                    one object.\n\n"
        .to_owned();
    for (title, cases) in GROUPS {
        write!(page, "## {title}\n\n").unwrap();
        for case in cases {
            page.push_str(&shown(store.path(), case));
        }
    }
    let page = format!("{}\n", page.trim_end());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/messages.md");
    if std::env::var_os("GOBO_WRITE_PAGES").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    for (line, (written, said)) in (1..).zip(written.lines().zip(page.lines())) {
        assert_eq!(written, said, "docs/messages.md:{line}; GOBO_WRITE_PAGES=1 writes it anew");
    }
    assert_eq!(written, page, "docs/messages.md; GOBO_WRITE_PAGES=1 writes it anew");
}
