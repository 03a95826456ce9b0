//! What a process is that owns a store's catalog, for the message that another one gets.

use std::borrow::Cow;
use std::fmt;

/// The kind of process that owns a store's catalog.
///
/// ```
/// use gobo_store::Owner;
///
/// assert_eq!(Owner::command("prewarm").to_string(), "prewarm");
/// assert_eq!(Owner::command("two words").to_string(), "command", "not a name");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// A daemon: others reach the store through its socket.
    Daemon,
    /// A command that works without one, by its name: others wait until it ends.
    Command(Cow<'static, str>),
}

/// An owner, and its number in the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerProcess {
    /// What it is.
    pub owner: Owner,
    /// Its process id, as it sees it: in a container another one than outside.
    pub process: u32,
}

/// Longest name of a command.
const MAX_NAME_BYTES: usize = 32;

impl Owner {
    /// A command of this name: 1 to 32 of `a-z`, `0-9` and `-`. Whatever else is given is a command without a name.
    pub fn command(name: impl Into<Cow<'static, str>>) -> Self {
        let name = name.into();
        Self::Command(if is_name(&name) { name } else { "command".into() })
    }

    /// Reads what [`Display`](fmt::Display) writes.
    #[cfg(feature = "catalog")]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "daemon" => Some(Self::Daemon),
            name if is_name(name) => Some(Self::Command(name.to_owned().into())),
            _ => None,
        }
    }
}

/// A program that embeds an engine is a command without a name.
impl Default for Owner {
    fn default() -> Self {
        Self::Command("command".into())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daemon => f.write_str("daemon"),
            Self::Command(name) => f.write_str(name),
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed) && name != "daemon"
}
