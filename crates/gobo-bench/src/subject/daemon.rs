//! Daemons under test: the product's own program `gobo serve`, in processes of their own, as an operator runs them.
//!
//! A [`Launcher`] starts any number of them, each over a store of its own, with the limits and threads that the experiment was
//! given. A daemon has listened on its Unix socket and on a free port of the loopback before it is handed out; what it writes to
//! stderr is read to its end, so that it never waits for a reader.
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::program;
use crate::args::Options;

/// Most time until a daemon listens: it first brings its catalog in step with a store of up to a hundred thousand files.
const START: Duration = Duration::from_secs(120);

/// Lines of stderr that are kept, for a person to read if the daemon dies.
const KEPT_LINES: usize = 20;

/// Most time until a daemon ends after SIGTERM.
const STOP: Duration = Duration::from_secs(30);

/// Starts daemons, all of the same program and with the same limits.
pub(crate) struct Launcher {
    program: PathBuf,
    /// Options of `gobo serve` and their values.
    limits: Vec<(&'static str, String)>,
}

impl Launcher {
    /// # Errors
    /// If the program cannot be found.
    pub(crate) fn of(options: &Options) -> anyhow::Result<Self> {
        let global = &options.global;
        let limits = [
            ("--threads", global.threads.map(u64::from)),
            ("--max-states", global.max_states),
            ("--max-steps", global.max_steps),
            ("--max-bytes", global.max_bytes),
        ];
        let given = limits.into_iter().filter_map(|(option, value)| Some((option, value?.to_string())));
        Ok(Self { program: program::find(options.gobo.as_deref())?, limits: given.collect() })
    }

    /// A daemon over `store`. `more` options win over the launcher's limits.
    pub(crate) fn start(&self, store: &Path, more: &[String]) -> anyhow::Result<DaemonProcess> {
        self.start_by(Command::new(&self.program), store, more)
    }

    /// As [`Launcher::start`], with more variables in its environment.
    pub(crate) fn start_in(
        &self,
        environment: &[(&str, String)],
        store: &Path,
        more: &[String],
    ) -> anyhow::Result<DaemonProcess> {
        let mut command = Command::new(&self.program);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        self.start_by(command, store, more)
    }

    /// As [`Launcher::start`], with at most this many open descriptors, which it cannot raise.
    pub(crate) fn start_within(
        &self,
        descriptors: u32,
        store: &Path,
        more: &[String],
    ) -> anyhow::Result<DaemonProcess> {
        // A limit of this process would hold for it too, and could not be raised again.
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#"ulimit -n "$0" && exec "$@""#, &descriptors.to_string()]);
        shell.arg(&self.program);
        self.start_by(shell, store, more)
    }

    fn start_by(&self, mut command: Command, store: &Path, more: &[String]) -> anyhow::Result<DaemonProcess> {
        command
            .arg("serve")
            .arg("--store")
            .arg(store)
            .args(["--listen", "127.0.0.1:0", "--drain-pause", "0s"])
            .args(more);
        for (option, value) in &self.limits {
            if !more.iter().any(|given| given == option) {
                command.args([*option, value]);
            }
        }
        let program = self.program.display();
        DaemonProcess::start(command).with_context(|| format!("{program} does not start as a daemon"))
    }
}

/// A running daemon. It is killed when it is dropped.
pub(crate) struct DaemonProcess {
    process: Child,
    /// `unix:PATH`.
    pub(crate) unix: String,
    /// `http://HOST:PORT`.
    pub(crate) tcp: String,
    said: Arc<Mutex<VecDeque<String>>>,
}

impl DaemonProcess {
    fn start(mut command: Command) -> anyhow::Result<Self> {
        // Formatting and reading its log would take time while it is measured.
        command.env("GOBO_LOG", "warn").env_remove("GOBO_SERVER").env_remove("GOBO_STORE");
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = process.stderr.take().context("it has no stderr")?;
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (addresses, listening) = mpsc::channel();
        let keep = Arc::clone(&said);
        // Read to its end, so that the daemon never waits for a reader.
        std::thread::spawn(move || {
            BufReader::new(stderr)
                .lines()
                .map_while(Result::ok)
                .for_each(|line| hear(line, &addresses, &keep));
        });
        let mut daemon = Self { process, unix: String::new(), tcp: String::new(), said };
        while daemon.unix.is_empty() || daemon.tcp.is_empty() {
            let Ok(address) = listening.recv_timeout(START) else {
                bail!("it does not listen; it said:\n{}", daemon.said());
            };
            if address.starts_with("unix:") { daemon.unix = address } else { daemon.tcp = address }
        }
        Ok(daemon)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// The last lines that it wrote.
    pub(crate) fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// `kill -9`, and waits until it is gone.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Asks it to end, as a supervisor does, and waits until it has.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        kill(self.pid(), rustix::process::Signal::TERM)?;
        let begun = Instant::now();
        while self.is_alive() {
            if begun.elapsed() > STOP {
                self.kill()?;
                bail!("the daemon did not end within {} s of SIGTERM", STOP.as_secs());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        // One that has ended already is fine too.
        let _ = self.kill();
    }
}

/// A signal to a process. One that has ended already is no error.
pub(crate) fn kill(pid: u32, signal: rustix::process::Signal) -> anyhow::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).context("no process id")?;
    match rustix::process::kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error).context("cannot send a signal"),
    }
}

/// Takes a line of stderr: an address that the daemon listens on, or something to keep.
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
