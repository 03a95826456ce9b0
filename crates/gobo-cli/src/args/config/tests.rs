use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, FromArgMatches as _};

use super::super::cli::{Cli, Command};
use super::super::parse::command;
use super::options::of_files;
use super::*;

#[path = "../../../../../tests/it/fuzz/fuzzer.rs"]
mod fuzzer;

use fuzzer::fuzz;

/// Options that cannot stand beside others, or would only be another's.
const APART: [&str; 3] = ["insecure", "inline", "remote-mode"];

/// Another value than the default.
fn sample(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let possible = arg.get_possible_values();
    if let Some(last) = possible.last().filter(|_| !matches!(arg.get_action(), ArgAction::SetTrue)) {
        return last.get_name().to_owned();
    }
    match names.first().map_or("", |name| name.as_str()) {
        "HOST:PORT" => "127.0.0.1:7",
        "TIME" => "7s",
        "SIZE" => "3GiB",
        "URL" => "file:///bucket",
        "GROUP" => "0",
        "FILE" | "DIR" => "/some/where",
        "ADDRESS" => "http://127.0.0.1:7",
        "NAME" => "some name",
        "N" | "MS" | "NS" | "S" | "MIB" => "777",
        "FILTER" => "warn",
        other => panic!("--{} has a value {other} that this test knows no sample of", arg.get_id()),
    }
    .to_owned()
}

/// The options that can all stand beside each other, each with a value.
fn samples() -> Vec<(String, Option<String>)> {
    let long = |arg: &Arg| arg.get_long().unwrap().to_owned();
    let args = of_files(&command()).into_iter().filter(|arg| !APART.contains(&&*long(arg)));
    args.map(|arg| {
        let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
        (long(&arg), (!is_switch).then(|| sample(&arg)))
    })
    .collect()
}

fn written(lines: &[String]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gobo.toml");
    std::fs::write(&path, lines.join("\n")).unwrap();
    (folder, path)
}

/// What a daemon would run with, but for the file itself, and how that is printed.
fn parsed(args: &[String]) -> (String, String) {
    let command = command();
    let args = ["gobo".to_owned(), "serve".to_owned()].into_iter().chain(args.iter().cloned());
    let (args, given) = complete(&command, args.map(OsString::from).collect()).unwrap();
    let matches = command.clone().try_get_matches_from(args).unwrap_or_else(|error| panic!("{error}"));
    let mut cli = Cli::from_arg_matches(&matches).unwrap();
    let Command::Serve(serve) = &mut cli.command else { panic!("it is serve") };
    serve.config = None;
    let printed = print(&command, matches.subcommand_matches("serve").unwrap(), &given);
    (format!("{cli:?}"), printed)
}

fn values(printed: &str) -> Vec<&str> {
    printed.lines().map(|line| line.split("  # ").next().unwrap()).collect()
}

#[test]
fn an_option_a_variable_and_a_key_mean_one_thing() {
    let samples = samples();
    assert!(samples.len() > 50, "{}", samples.len());
    let line: Vec<String> = samples
        .iter()
        .map(|(long, value)| value.as_ref().map_or(format!("--{long}"), |value| format!("--{long}={value}")))
        .collect();
    let file: Vec<String> = samples
        .iter()
        .map(|(long, value)| match value {
            None => format!("{long} = true"),
            Some(value) if long == "pull" => format!("{long} = [{value:?}]"),
            Some(value) => format!("{long} = {value:?}"),
        })
        .collect();
    let (_folder, path) = written(&file);
    let by_file = parsed(&[format!("--config={}", path.display())]);
    let by_line = parsed(&line);
    assert_eq!(by_file.0, by_line.0);
    assert_eq!(values(&by_file.1), values(&by_line.1));
    assert!(by_file.1.lines().filter(|line| line.contains("gobo.toml, line ")).count() == samples.len());

    let command = command();
    let serve = command.find_subcommand("serve").unwrap();
    let mut variables = HashSet::new();
    for arg in serve.get_arguments().filter(|arg| arg.get_long().is_some()) {
        let long = arg.get_long().unwrap();
        if ["print-config", "help"].contains(&long) {
            continue;
        }
        let variable = arg.get_env().unwrap_or_else(|| panic!("--{long} has no variable")).to_owned();
        assert_eq!(variable.to_str().unwrap(), format!("GOBO_{}", long.to_uppercase().replace('-', "_")));
        assert!(variables.insert(variable), "--{long} has the variable of another");
    }
}

#[test]
fn what_is_printed_yields_itself() {
    for lines in [vec![], vec!["--queue=7".to_owned(), "--insecure".to_owned(), "--tls-client-ca".to_owned()]]
    {
        let lines: Vec<String> = lines.into_iter().filter(|line| line != "--tls-client-ca").collect();
        let (before, printed) = parsed(&lines);
        let settings: Vec<String> = printed.lines().map(str::to_owned).collect();
        let (_folder, path) = written(&settings);
        let (after, again) = parsed(&[format!("--config={}", path.display())]);
        assert_eq!((before, values(&printed)), (after, values(&again)));
    }
    let (before, printed) = parsed(&[]);
    assert!(printed.lines().all(|line| line.starts_with("# ") || line.contains("# GOBO_")), "{printed}");
    assert!(before.contains("queue: 1024"));
}

#[test]
fn the_command_line_goes_before_the_file() {
    let (_folder, path) =
        written(&["queue = 5".into(), "pull = [\"a\", \"b\"]".into(), "remote = \"file:///x\"".into()]);
    let config = format!("--config={}", path.display());
    let (cli, printed) = parsed(&[config.clone(), "--queue=6".to_owned()]);
    assert!(cli.contains("queue: 6") && cli.contains("pull: [\"a\", \"b\"]"), "{cli}");
    assert!(printed.contains("queue = 6  # command line"), "{printed}");
    assert!(printed.contains("pull = [\"a\", \"b\"]  # "), "{printed}");
    let (cli, _) = parsed(&[config, "--pull=c".to_owned()]);
    assert!(cli.contains("pull: [\"c\"]"), "{cli}");
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_line() {
    let said = |lines: &[&str]| {
        let (_folder, path) = written(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
        settings_as_args(&command(), &path).map_err(|error| error.to_string())
    };
    for (lines, words) in [
        (
            &["", "lisetn = \"127.0.0.1:1\""][..],
            "line 2: \"lisetn\" is no option of `gobo serve`\nhint: did you mean listen?",
        ),
        (&["queue = 0"], "line 1: invalid value '0' for '--queue"),
        (&["# a", "", "queue = \"many\""], "line 3: invalid value 'many'"),
        (&["queue = 1.5"], "line 1: queue is a text or a number"),
        (&["queue = [1]"], "line 1: queue is a text or a number"),
        (&["insecure = \"yes\""], "line 1: insecure is true or false"),
        (&["pull = [1.5]"], "line 1: pull is a list of texts"),
        (&["listen = \"nowhere\""], "line 1: invalid value 'nowhere' for '--listen"),
        (&["server = \"unix:x\""], "line 1: \"server\" is no option of `gobo serve`"),
        (&["config = \"x\""], "line 1: \"config\" is no option of `gobo serve`"),
        (&["print-config = true"], "is no option of `gobo serve`"),
        (&["queue = 1", "queue = 2"], "is no TOML"),
        (&["[workers]", "queue = 1"], "line 1: \"workers\" is no option of `gobo serve`"),
        (&["queue"], "is no TOML"),
        (&["\u{0}"], "is no TOML"),
    ] {
        let said = said(lines).unwrap_err();
        assert!(said.contains(words) && said.contains("gobo.toml"), "{lines:?}: {said}");
    }
    assert_eq!(said(&["insecure = false", "pull = []"]), Ok(Vec::new()));
    assert!(settings_as_args(&command(), Path::new("/nowhere")).is_err());
}

/// The files of options that stand in the manifests.
#[test]
fn the_options_of_the_manifests_are_taken() {
    let manifests = include_str!("../../../../../docs/deploy/kubernetes.yaml");
    let files: Vec<Vec<String>> = manifests
        .split("gobo.toml: |\n")
        .skip(1)
        .map(|rest| rest.lines().map_while(|line| line.strip_prefix("    ")).map(str::to_owned).collect())
        .collect();
    assert_eq!(files.len(), 2);
    for lines in files {
        assert!(lines.len() > 5, "{lines:?}");
        let (_folder, path) = written(&lines);
        parsed(&[format!("--config={}", path.display())]);
    }
}

/// Whatever a file is, reading it ends with options or with an error that names it.
#[test]
fn no_file_of_options_breaks_its_reader() {
    let folder = tempfile::tempdir().unwrap();
    let (path, command) = (folder.path().join("gobo.toml"), command());
    let every: String = samples()
        .into_iter()
        .map(|(long, value)| match value {
            Some(value) => format!("{long} = {value:?}\n"),
            None => format!("{long} = true\n"),
        })
        .collect();
    let seeds = [
        every.as_str(),
        "queue = 5\nlog = \"warn\"  # as before\n",
        "pull = [\"a\", \"b\"]\nmax-store-bytes = \"3GiB\"\npage = false\n",
        "",
    ];
    let words = [
        "queue = ",
        "\"\"\"",
        "[[",
        "= true",
        "insecure",
        "page-host",
        "\\u0000",
        "0x7",
        "1e9",
        "\n[a]\n",
        "--",
        "9223372036854775807",
    ];
    let seeds = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    fuzz("files of options", seeds, &words, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        match settings_as_args(&command, &path) {
            Ok(args) => {
                // What is taken is a command line that is taken, but for options that stand against each other.
                assert!(args.iter().all(|arg| arg.starts_with("--")), "{args:?}");
                true
            }
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains("gobo.toml") && said.len() < 4096, "{said}");
                false
            }
        }
    });
}
