//! Which of the options of all commands each command uses. The others are refused where they are given: an option that is
//! ignored in silence looks like one that worked. What the environment sets is meant for all commands, and never refused.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

use self::GlobalOption::{
    Ca, ClientCert, ClientKey, Json, MaxBytes, MaxStates, MaxSteps, Server, ServerName, Store, StoreWriters,
    Threads, TokenFile,
};
use super::access::AccessCommand;
use super::cli::{Cli, Command};
use super::constraint::TargetArgs;
use super::grammar::{GrammarCommand, LintArgs};
use super::tokenizer::TokenizerCommand;

/// An option of all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobalOption {
    Store,
    StoreWriters,
    Server,
    Ca,
    ClientCert,
    ClientKey,
    ServerName,
    TokenFile,
    Threads,
    MaxStates,
    MaxSteps,
    MaxBytes,
    Json,
}

impl GlobalOption {
    const ALL: [Self; 13] = [
        Store,
        StoreWriters,
        Server,
        Ca,
        ClientCert,
        ClientKey,
        ServerName,
        TokenFile,
        Threads,
        MaxStates,
        MaxSteps,
        MaxBytes,
        Json,
    ];

    /// The option with which it is used or not: what a daemon is shown, as the daemon.
    fn used_with(self) -> Self {
        match self {
            Ca | ClientCert | ClientKey | ServerName | TokenFile => Server,
            itself => itself,
        }
    }

    /// Its name among the arguments that clap reads.
    fn id(self) -> &'static str {
        match self {
            Store => "store",
            StoreWriters => "store_writers",
            Server => "server",
            Ca => "ca",
            ClientCert => "client_cert",
            ClientKey => "client_key",
            ServerName => "server_name",
            TokenFile => "token_file",
            Threads => "threads",
            MaxStates => "max_states",
            MaxSteps => "max_steps",
            MaxBytes => "max_bytes",
            Json => "json",
        }
    }

    /// Why a command has no use for it, where nothing particular is to be said.
    fn usual_reason(self) -> &'static str {
        match self.used_with() {
            Store => "it reads no store",
            StoreWriters => "it owns no store",
            Server => "it works in this process",
            Threads => "it is done by one thread",
            MaxStates | MaxSteps | MaxBytes => "it compiles nothing",
            Json => "its output is no data",
            shown => unreachable!("{shown:?} is used with another"),
        }
    }
}

/// An option was given to a command that does not use it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`gobo {command}` does not use --{}: {why}", option.id().replace('_', "-"))]
pub(crate) struct UnusedOption {
    command: String,
    option: GlobalOption,
    why: &'static str,
}

/// The options that a command uses, and what is to be said of others besides the usual.
struct Uses {
    options: &'static [GlobalOption],
    reasons: &'static [(GlobalOption, &'static str)],
}

impl Uses {
    const fn of(options: &'static [GlobalOption]) -> Self {
        Self { options, reasons: &[] }
    }

    const fn saying(self, reasons: &'static [(GlobalOption, &'static str)]) -> Self {
        Self { reasons, ..self }
    }
}

/// Names and keys are looked up in a store; nothing is compiled.
const READS: Uses = Uses::of(&[Store, Json]);
/// As [`READS`], and compiles here.
const COMPILES: Uses = Uses::of(&[Store, Threads, MaxStates, MaxSteps, MaxBytes, Json])
    .saying(&[(Server, "it compiles in this process; `gobo get` asks a daemon")]);

/// Commands that ask a daemon, or open the store themselves where none runs.
fn asks(cli: &Cli) -> Uses {
    match &cli.global.server {
        None => Uses::of(&[Store, StoreWriters, Server, Json]),
        Some(_) => Uses::of(&[Store, Server, Json]).saying(OF_THE_SERVER),
    }
}

/// What a daemon decides for those that ask it.
const OF_THE_SERVER: &[(GlobalOption, &str)] = &[
    (StoreWriters, "the daemon was started with its own"),
    (Threads, "the daemon was started with its own"),
];

/// Commands about an index file, or about one that is compiled now.
fn of_target(target: &TargetArgs) -> Uses {
    if target.index.is_none() {
        return COMPILES;
    }
    READS.saying(&[
        (Threads, "--index gives an index, and nothing is compiled"),
        (MaxStates, "--index gives an index, and nothing is compiled"),
        (MaxSteps, "--index gives an index, and nothing is compiled"),
        (MaxBytes, "--index gives an index, and nothing is compiled"),
    ])
}

/// The same, and the rules that a text stands in are read within the limits.
fn of_explained(target: &TargetArgs) -> Uses {
    if target.index.is_none() {
        return COMPILES;
    }
    Uses::of(&[Store, MaxStates, MaxSteps, MaxBytes, Json])
        .saying(&[(Threads, "--index gives an index, and nothing is compiled")])
}

/// A grammar is lowered, and compiled where a tokenizer is given.
fn of_lint(args: &LintArgs) -> Uses {
    if args.tokenizer.is_some() {
        return COMPILES;
    }
    Uses::of(&[MaxStates, MaxSteps, MaxBytes, Json]).saying(&[
        (Store, "without --tokenizer it reads no store"),
        (Threads, "without --tokenizer it compiles nothing"),
    ])
}

/// The table.
fn uses(cli: &Cli) -> Uses {
    match &cli.command {
        Command::Tokenizer(TokenizerCommand::Verify { .. } | TokenizerCommand::Rm { .. })
        | Command::Inspect(_) => READS,
        Command::Compile(_) => COMPILES,
        Command::Mask(args) => of_target(&args.target),
        Command::Explain(args) => of_explained(&args.target),
        Command::Sample(args) => of_target(&args.target),
        Command::Verify(args) if args.recompile => COMPILES.saying(&[]),
        Command::Verify(_) => Uses::of(&[Store, Threads, Json]).saying(&[
            (MaxStates, "without --recompile it compiles nothing"),
            (MaxSteps, "without --recompile it compiles nothing"),
            (MaxBytes, "without --recompile it compiles nothing"),
        ]),
        Command::Prewarm(args) if args.bucket.remote.is_some() => {
            Uses::of(&[Threads, MaxStates, MaxSteps, MaxBytes, Json]).saying(&[
                (Store, "with --remote it works on a temporary one"),
                (StoreWriters, "with --remote it works on a temporary store"),
                (Server, "with --remote it compiles in processes of its own"),
            ])
        }
        Command::Pull(_) => Uses::of(&[Store, StoreWriters, Json]),
        Command::Check(_) | Command::Prewarm(_) | Command::Get(_) if cli.global.server.is_some() => {
            Uses::of(&[Store, Server, MaxStates, MaxSteps, MaxBytes, Json]).saying(OF_THE_SERVER)
        }
        Command::Check(_) => Uses::of(&[Store, Server, Threads, MaxStates, MaxSteps, MaxBytes, Json]),
        Command::Diff(_) => Uses::of(&[Store, MaxStates, MaxSteps, MaxBytes, Json]),
        Command::Grammar(GrammarCommand::Lint(args)) => of_lint(args),
        Command::Prewarm(_) => {
            Uses::of(&[Store, StoreWriters, Server, Threads, MaxStates, MaxSteps, MaxBytes, Json])
        }
        Command::Get(_) => Uses::of(&[Store, StoreWriters, Server, MaxStates, MaxSteps, MaxBytes, Json]),
        Command::Serve(_) => Uses::of(&SERVES).saying(&[(Server, "it is the daemon that others ask")]),
        Command::Status(_) | Command::Gc(_) | Command::Pin(_) | Command::Unpin(_) | Command::Catalog(_) => {
            asks(cli)
        }
        Command::Ls(_)
        | Command::Tokenizer(
            TokenizerCommand::Import { .. } | TokenizerCommand::List | TokenizerCommand::Show { .. },
        ) => Uses::of(&[Store, Server, Json]),
        Command::Remote(_) => Uses::of(&[Json]).saying(&[(Store, "it looks at a bucket alone")]),
        Command::Demo => Uses::of(&[Threads, Json]).saying(&[
            (Store, "it works on a temporary one"),
            (StoreWriters, "it works on a temporary store"),
            (Server, "it starts a daemon of its own"),
            (MaxStates, "its library needs no other budget"),
            (MaxSteps, "its library needs no other budget"),
            (MaxBytes, "its library needs no other budget"),
        ]),
        Command::Access(AccessCommand::Check(_)) | Command::Config(_) => Uses::of(&[Json]),
        Command::Access(AccessCommand::Token(_))
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Worker => Uses::of(&[]),
    }
}

/// What a daemon uses.
const SERVES: [GlobalOption; 6] = [Store, StoreWriters, Threads, MaxStates, MaxSteps, MaxBytes];

/// Whether an option of `gobo serve` is of use to it.
pub(super) fn is_of_daemon(arg: &Arg) -> bool {
    !arg.is_global_set() || SERVES.iter().any(|option| arg.get_id() == option.id())
}

/// Refuses the first option on the command line that the command does not use.
pub(crate) fn refuse_unused(cli: &Cli, matches: &ArgMatches) -> Result<(), UnusedOption> {
    let (mut names, mut innermost) = (Vec::new(), matches);
    // Clap hands options of all commands down to the innermost.
    while let Some((name, below)) = innermost.subcommand() {
        names.push(name);
        innermost = below;
    }
    let Uses { options, reasons } = uses(cli);
    let is_given =
        |option: &GlobalOption| innermost.value_source(option.id()) == Some(ValueSource::CommandLine);
    match GlobalOption::ALL
        .into_iter()
        .find(|option| !options.contains(&option.used_with()) && is_given(option))
    {
        None => Ok(()),
        Some(option) => {
            let particular =
                reasons.iter().find(|(about, _)| *about == option.used_with()).map(|(_, why)| *why);
            let why = particular.unwrap_or(option.usual_reason());
            Err(UnusedOption { command: names.join(" "), option, why })
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::super::parse::command;
    use super::*;

    /// What is said of a command line, `None` if nothing is refused.
    fn refused(line: &str) -> Option<String> {
        let matches = command().try_get_matches_from(line.split(' ')).unwrap();
        let mut cli = Cli::from_arg_matches(&matches).unwrap();
        // The environment of a test's caller is not its matter.
        if matches.value_source("server") == Some(ValueSource::EnvVariable) {
            cli.global.server = None;
        }
        refuse_unused(&cli, &matches).err().map(|unused| unused.to_string())
    }

    /// Options that were ignored once, before and after the command.
    #[test]
    fn what_a_command_does_not_use_is_refused_by_name() {
        for (line, words) in [
            ("gobo demo --store x", "`gobo demo` does not use --store: it works on a temporary one"),
            ("gobo --store x demo", "`gobo demo` does not use --store: it works on a temporary one"),
            ("gobo --max-states 5 status", "`gobo status` does not use --max-states: it compiles nothing"),
            (
                "gobo compile --server x --tokenizer t --regex a",
                "`gobo compile` does not use --server: it compiles in this process; `gobo get` asks a daemon",
            ),
            (
                "gobo tokenizer list --threads 2",
                "`gobo tokenizer list` does not use --threads: it is done by one thread",
            ),
            ("gobo diff a b --threads 2", "`gobo diff` does not use --threads: it is done by one thread"),
            (
                "gobo get --threads 2 --tokenizer t --regex a",
                "`gobo get` does not use --threads: it is done by one thread",
            ),
            ("gobo mask --index f --max-steps 5", "--index gives an index, and nothing is compiled"),
            ("gobo explain --index f --threads 2", "--index gives an index, and nothing is compiled"),
            ("gobo verify f --max-bytes 5", "without --recompile it compiles nothing"),
            (
                "gobo inspect f --store-writers group",
                "`gobo inspect` does not use --store-writers: it owns no store",
            ),
            (
                "gobo serve --token-file x",
                "`gobo serve` does not use --token-file: it is the daemon that others ask",
            ),
            ("gobo demo --ca x", "`gobo demo` does not use --ca: it starts a daemon of its own"),
            ("gobo serve --json", "`gobo serve` does not use --json: its output is no data"),
            (
                "gobo prewarm --server s --threads 2 --tokenizer t x",
                "--threads: the daemon was started with its own",
            ),
            ("gobo grammar lint g --threads 2", "without --tokenizer it compiles nothing"),
            ("gobo man --store x", "`gobo man` does not use --store: it reads no store"),
        ] {
            let said = refused(line).unwrap_or_else(|| panic!("{line} is taken"));
            assert!(said.contains(words), "{line}: {said}");
        }
    }

    #[test]
    fn what_a_command_uses_is_taken() {
        for line in [
            "gobo demo --threads 2 --json",
            "gobo prewarm --store x --store-writers group --threads 2 --max-steps 1G --json --tokenizer t x",
            "gobo --server s status",
            "gobo verify f --recompile --max-bytes 1GiB --threads 2",
            "gobo mask --tokenizer t --regex a --threads 2 --max-states 1M",
            "gobo explain --index f --max-steps 1G --json",
            "gobo grammar lint g --max-steps 1G --json",
            "gobo grammar lint g --tokenizer t --threads 2 --store x",
            "gobo serve --threads 2 --max-bytes 2GiB --store-writers anyone --store x",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
    }

    /// A new option of all commands cannot be forgotten.
    #[test]
    fn all_options_of_all_commands_are_in_the_table() {
        let command = command();
        let declared: Vec<&str> = command
            .get_arguments()
            .filter(|arg| arg.is_global_set())
            .map(|arg| arg.get_id().as_str())
            .collect();
        assert_eq!(declared, GlobalOption::ALL.map(GlobalOption::id));
    }
}
