//! Where a record comes from: the first line of every file of figures.
//!
//! A figure means something beside the commit that it was measured at, the machine, and the command that repeats it. All records
//! say so in one line of fields, which programs read back:
//!
//! ```
//! use gobo_measure::Origin;
//!
//! let line = "commit 1234567; date 2026-11-23; compiler epoch 9; machine xeon; command gobo-bench storm; load average 0.1";
//! let origin = Origin::parse(line).unwrap();
//! assert_eq!((origin.compiler_epoch, &*origin.commit, &*origin.date), (9, "1234567", "2026-11-23"));
//! assert_eq!(origin.to_string(), line);
//! assert!(Origin::parse("commit 1234567; date 2026-11-23").is_none(), "no machine");
//! ```
use std::fmt;
use std::process::Command;

/// What stands where nobody said from which commit or machine a record is.
const UNKNOWN: &str = "unknown";

/// The origin of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The short id, with `-dirty` where the tree was not as committed.
    pub commit: String,
    /// Of the measurement, in UTC: `2026-11-23`.
    pub date: String,
    /// Of the compiler: indices of another epoch have other bytes, and took other times.
    pub compiler_epoch: u32,
    /// A name of the machine, as folders of records have it.
    pub machine: String,
    /// The command that repeats it.
    pub command: String,
    /// More that a reader should know, such as the load average.
    pub notes: Vec<String>,
}

impl Origin {
    /// A measurement of today. What is `None` is written as unknown.
    pub fn today(
        commit: Option<&str>,
        machine: Option<&str>,
        compiler_epoch: u32,
        command: impl Into<String>,
    ) -> Self {
        let known = |name: Option<&str>| name.filter(|name| !name.is_empty()).unwrap_or(UNKNOWN).to_owned();
        Self {
            commit: known(commit),
            date: known(Some(&said("GOBO_RECORD_DATE", || output_of("date", &["-u", "+%F"])))),
            compiler_epoch,
            machine: known(machine),
            command: command.into(),
            notes: Vec::new(),
        }
    }

    /// Reads such a line, with or without the `# ` of a comment; `None` if a field is missing.
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = line.trim_start_matches("# ").split("; ");
        let mut field = |name: &str| Some(fields.next()?.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
        Some(Self {
            commit: field("commit")?,
            date: field("date")?,
            compiler_epoch: field("compiler epoch")?.parse().ok()?,
            machine: field("machine")?,
            command: field("command")?,
            notes: fields.map(str::to_owned).collect(),
        })
    }

    /// The same with one more note.
    #[must_use]
    pub fn noting(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// What a picture says of it: `commit 1234567, 2026-11-23, compiler epoch 9, xeon`.
    pub fn caption(&self) -> String {
        let Self { commit, date, compiler_epoch, machine, .. } = self;
        format!("commit {commit}, {date}, compiler epoch {compiler_epoch}, {machine}")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commit, date, compiler_epoch, machine, command, notes } = self;
        write!(f, "commit {commit}; date {date}; compiler epoch {compiler_epoch}; machine {machine}")?;
        write!(f, "; command {command}")?;
        notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

/// What a command prints, trimmed; empty if it cannot be run.
pub fn output_of(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// The short commit of the checkout around the current folder, marked where the tree is not as committed.
///
/// `GOBO_RECORD_COMMIT` in the environment is taken instead, and `GOBO_RECORD_DATE` for the date: `benches/record.sh` sets both, so
/// that records which are made one after the other name one commit and one day, although each record that is written changes the tree.
pub fn commit() -> String {
    said("GOBO_RECORD_COMMIT", || output_of("git", &["describe", "--always", "--dirty", "--exclude", "*"]))
}

fn said(variable: &str, otherwise: impl Fn() -> String) -> String {
    std::env::var(variable).ok().filter(|value| !value.is_empty()).unwrap_or_else(otherwise)
}

/// The load average over the last minute, `0.00` on an idle machine; empty where the system does not say.
pub fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().into()
}
