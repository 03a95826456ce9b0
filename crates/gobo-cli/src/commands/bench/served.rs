//! A daemon that is a process of its own, as an operator runs it.
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::args::Global;

/// How long a server may take until it listens: a store of a hundred thousand files is brought in step before that.
const START: Duration = Duration::from_secs(120);

/// Lines that are kept of what a server says, for a person to read if it dies.
const KEPT_LINES: usize = 20;

/// How long a server may take to end when it is asked to.
const STOP: Duration = Duration::from_secs(30);

/// A running server. It is killed when it is dropped.
pub(super) struct Served {
    process: Child,
    /// `unix:PATH`.
    pub(super) unix: String,
    /// `http://HOST:PORT`.
    pub(super) tcp: String,
    said: Arc<Mutex<VecDeque<String>>>,
}

impl Served {
    /// `gobo serve` over `store`, this same binary, with the limits and threads that this command was given.
    pub(super) fn daemon(global: &Global, store: &Path, more: &[String]) -> anyhow::Result<Self> {
        Self::daemon_of(own_binary()?, global, store, more)
    }

    /// As [`Served::daemon`], with at most so many open descriptors, which it cannot raise.
    pub(super) fn daemon_within(
        descriptors: u32,
        global: &Global,
        store: &Path,
        more: &[String],
    ) -> anyhow::Result<Self> {
        let program = own_binary()?;
        // A limit of this process would hold for it too, and could not be raised again.
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#"ulimit -n "$0" && exec "$@""#, &descriptors.to_string()]);
        shell.arg(program.get_program());
        Self::daemon_of(shell, global, store, more)
    }

    fn daemon_of(
        mut command: Command,
        global: &Global,
        store: &Path,
        more: &[String],
    ) -> anyhow::Result<Self> {
        command.arg("serve").arg("--store").arg(store).args(["--listen", "127.0.0.1:0"]).args(more);
        let options = [
            ("--threads", global.threads.map(u64::from)),
            ("--max-states", global.max_states),
            ("--max-steps", global.max_steps),
            ("--max-bytes", global.max_bytes),
        ];
        for (option, value) in options {
            if let Some(value) = value.filter(|_| !more.iter().any(|given| given == option)) {
                command.args([option, &value.to_string()]);
            }
        }
        Self::start(command).context("the daemon cannot be started")
    }

    fn start(mut command: Command) -> anyhow::Result<Self> {
        // What it logs for an operator would be formatted and read while it is measured.
        command.env("GOBO_LOG", "warn").env_remove("GOBO_SERVER").env_remove("GOBO_STORE");
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = process.stderr.take().context("it has no stderr")?;
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (addresses, listening) = mpsc::channel();
        let keep = Arc::clone(&said);
        // Read to its end, so that the server never waits for a reader.
        std::thread::spawn(move || {
            BufReader::new(stderr)
                .lines()
                .map_while(Result::ok)
                .for_each(|line| hear(line, &addresses, &keep));
        });
        let mut served = Self { process, unix: String::new(), tcp: String::new(), said };
        while served.unix.is_empty() || served.tcp.is_empty() {
            let Ok(address) = listening.recv_timeout(START) else {
                bail!("it does not listen; it said:\n{}", served.said());
            };
            if address.starts_with("unix:") { served.unix = address } else { served.tcp = address }
        }
        Ok(served)
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// The last lines that it wrote.
    pub(super) fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// `kill -9`, and waits until it is gone.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Asks it to end, as a supervisor does, and waits until it has.
    pub(super) fn stop(&mut self) -> anyhow::Result<()> {
        kill(self.pid(), rustix::process::Signal::TERM)?;
        let begun = Instant::now();
        while self.is_alive() {
            if begun.elapsed() > STOP {
                self.kill()?;
                bail!("the server did not end within {} s of SIGTERM", STOP.as_secs());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // One that has ended already is fine too.
        let _ = self.kill();
    }
}

/// A signal to a process. One that has ended already is no error.
pub(super) fn kill(pid: u32, signal: rustix::process::Signal) -> anyhow::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).context("no process id")?;
    match rustix::process::kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error).context("cannot send a signal"),
    }
}

/// This program again.
pub(super) fn own_binary() -> anyhow::Result<Command> {
    Ok(Command::new(std::env::current_exe().context("this program cannot find its own file")?))
}

/// A line that a server wrote: an address that it listens on, or something to keep.
fn hear(line: String, addresses: &Sender<String>, keep: &Mutex<VecDeque<String>>) {
    if let Some(address) = line.strip_prefix("listening on ") {
        // Nobody listens any more once both are known.
        let _ = addresses.send(address.split(" (").next().unwrap_or(address).to_owned());
    }
    let mut said = keep.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() == KEPT_LINES {
        said.pop_front();
    }
    said.push_back(line);
}
