//! Examples of each command, for its help and its man page. A test reads each as a command line.

/// By the path of the command below `gobo`. No line is longer than 78 characters.
pub(super) const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "tokenizer import",
        &[
            "gobo tokenizer import models/Qwen2.5-7B --name qwen2.5",
            "gobo tokenizer import tokenizer.json --name mine --eos '<|end|>'",
        ],
    ),
    ("tokenizer list", &["gobo tokenizer list"]),
    ("tokenizer verify", &["gobo tokenizer verify mine"]),
    ("tokenizer show", &["gobo tokenizer show o200k_base"]),
    ("tokenizer rm", &["gobo tokenizer rm mine"]),
    (
        "compile",
        &[
            "gobo compile --tokenizer o200k_base --regex '[0-9]{4}-[0-9]{2}' --out month.gobo",
            "gobo compile --tokenizer o200k_base --schema order.schema.json",
            "gobo compile --tokenizer o200k_base --builtin json --repeat 20",
        ],
    ),
    ("inspect", &["gobo inspect month.gobo", "gobo inspect 3f9c2a10 --json"]),
    ("verify", &["gobo verify month.gobo", "gobo verify --all --recompile --threads 4"]),
    (
        "mask",
        &[
            "gobo mask --index month.gobo --text 2026",
            "gobo mask --tokenizer o200k_base --regex '[a-z]+' --ids",
        ],
    ),
    (
        "explain",
        &[
            "gobo explain --index month.gobo --text 2026 --token 13",
            "gobo explain --index month.gobo --text 2026 --token /",
            "gobo explain --index month.gobo --token-text 202",
        ],
    ),
    (
        "check",
        &[
            "gobo check --tokenizer o200k_base cases.jsonl",
            "gobo check --tokenizer o200k_base cases.jsonl --server unix:/var/lib/gobo/daemon.sock",
        ],
    ),
    (
        "diff",
        &[
            "gobo diff 'regex:[0-9]+' 'regex:\\d+'",
            "gobo diff before.gobo after.gobo",
            "gobo diff month.gobo 'regex:[0-9]{4}-[0-9]{2}'",
        ],
    ),
    (
        "grammar lint",
        &[
            "gobo grammar lint sql.gbnf",
            "gobo grammar lint go.lark --lexer none --tokenizer o200k_base --length 12",
        ],
    ),
    ("sample", &["gobo sample --index month.gobo -n 3 --seed 7"]),
    (
        "prewarm",
        &[
            "gobo prewarm --tokenizer o200k_base constraints/",
            "gobo prewarm --tokenizer o200k_base --tokenizer mine a.regex --pin --json",
            "gobo prewarm --tokenizer mine lib/ --remote s3://b/p --shard 3/64 --manifest m",
        ],
    ),
    ("remote doctor", &["gobo remote doctor --remote s3://bucket/gobo --write"]),
    ("pull", &["gobo pull everyday --remote s3://bucket/gobo --store /var/lib/gobo"]),
    (
        "serve",
        &[
            "gobo serve --store /var/lib/gobo",
            "gobo serve --config /etc/gobo/gobo.toml --print-config",
            "gobo serve --listen 127.0.0.1:7450 --admin 127.0.0.1:9090",
            "gobo serve --listen 10.0.0.7:7450 --tls-cert tls.crt --tls-key tls.key",
            "gobo serve --remote s3://bucket/gobo --trust fleet.pem --pull everyday",
        ],
    ),
    (
        "get",
        &[
            "gobo get --tokenizer o200k_base --regex '[0-9]{4}-[0-9]{2}'",
            "gobo get --tokenizer o200k_base --schema order.schema.json --pin",
        ],
    ),
    ("ls", &["gobo ls", "gobo ls --json"]),
    ("status", &["gobo status --watch 5", "gobo status --server https://h:7450 --token-file ops.token"]),
    ("gc", &["gobo gc --max-store-bytes 8GiB --dry-run"]),
    ("pin", &["gobo pin 3f9c2a10", "gobo pin --list"]),
    ("unpin", &["gobo unpin 3f9c2a10"]),
    ("catalog rebuild", &["gobo catalog rebuild"]),
    (
        "access token",
        &[
            "gobo access token vllm --role resolve --role read --out vllm.token",
            "gobo access token ops --role admin --role read --role inspect --out ops.token",
        ],
    ),
    ("config check", &["gobo config check /etc/gobo/gobo.toml"]),
    ("access check", &["gobo access check /etc/gobo/access.toml"]),
    ("demo", &["gobo demo"]),
    ("completions", &["gobo completions bash", "gobo completions zsh"]),
    ("man", &["gobo man", "gobo man /usr/local/share/man/man1"]),
];

/// The command with the examples of all its subcommands, before what else stands at the end of their help.
pub(super) fn with_examples(command: clap::Command) -> clap::Command {
    EXAMPLES.iter().fold(command, |command, (path, lines)| {
        let names: Vec<&str> = path.split(' ').collect();
        at(command, &names, lines)
    })
}

fn at(command: clap::Command, path: &[&str], lines: &[&str]) -> clap::Command {
    if let [name, below @ ..] = path {
        let is_there = command.find_subcommand(name).is_some();
        return if is_there {
            command.mut_subcommand(name, |inner| at(inner, below, lines))
        } else {
            command
        };
    }
    let more = command.get_after_help().map(|text| format!("\n\n{text}")).unwrap_or_default();
    let examples: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    let text = format!("Examples:\n{}{more}", examples.join("\n"));
    command.after_help(text)
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::super::cli::Cli;
    use super::super::parse::command;
    use super::super::uses;
    use super::*;

    /// A line as a shell splits it: blanks, single quotes, comments.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
        for (at, char) in line.char_indices() {
            match char {
                '\'' => {
                    is_quoted = !is_quoted;
                    word.get_or_insert_default();
                }
                ' ' if !is_quoted => words.extend(word.take()),
                '#' | '&' if !is_quoted && word.is_none() && at > 0 => break,
                other => word.get_or_insert_default().push(other),
            }
        }
        assert!(!is_quoted, "{line}");
        words.extend(word);
        words
    }

    fn is_taken(line: &str) {
        let matches = command().try_get_matches_from(words(line));
        let matches = matches.unwrap_or_else(|error| panic!("{line}\n{error}"));
        let cli = Cli::from_arg_matches(&matches).unwrap();
        if std::env::var_os("GOBO_SERVER").is_none() {
            uses::refuse_unused(&cli, &matches).unwrap_or_else(|error| panic!("{line}\n{error}"));
        }
    }

    /// The paths of all commands that do something.
    fn leaves(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let below =
            command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
        let below: Vec<_> = below.collect();
        if below.is_empty() {
            found.push(path.to_owned());
        }
        for inner in below {
            leaves(inner, format!("{path} {}", inner.get_name()).trim_start(), found);
        }
    }

    #[test]
    fn every_command_has_examples_and_each_is_a_command_line() {
        let mut commands = Vec::new();
        leaves(&command(), "", &mut commands);
        let known: Vec<&str> = EXAMPLES.iter().map(|(path, _)| *path).collect();
        for path in &commands {
            assert!(known.contains(&path.as_str()), "{path} has no example");
        }
        assert_eq!(commands.len(), known.len(), "an example of a command that is not there");
        for (path, lines) in EXAMPLES {
            for line in *lines {
                assert!(line.starts_with(&format!("gobo {path}")), "{line} is no example of {path}");
                assert!(line.len() <= 88, "{line}");
                is_taken(line);
            }
        }
    }

    /// Lines that begin with `gobo` in the blocks of shell commands.
    #[test]
    fn command_lines_in_the_documentation_are_read_too() {
        let pages = [
            include_str!("../../../../README.md"),
            include_str!("../../../../docs/command-line.md"),
            include_str!("../../../../docs/operations.md"),
        ];
        let mut seen = 0;
        for page in pages {
            for block in page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
                let lines = block.lines().flat_map(|line| line.split("; "));
                for line in lines.filter(|line| line.starts_with("gobo ")) {
                    is_taken(line);
                    seen += 1;
                }
            }
        }
        assert!(seen >= 15, "{seen}");
    }
}
