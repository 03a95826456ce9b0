//! The table's end of the line to a contestant: starts its process, asks, and gives up in time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::ask::{Answer, Ask};
use crate::vocabularies::Source;
use crate::worker::MEMORY_GIB;

/// Building the tables of a vocabulary is nobody's compile; some take seconds.
const START: Duration = Duration::from_secs(120);

/// A contestant, whose process is started when it is asked, and again after it had to be ended.
pub struct Peer {
    name: &'static str,
    source: Source,
    bound: Duration,
    process: Option<Process>,
}

struct Process {
    child: Child,
    asks: ChildStdin,
    answers: Receiver<String>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    pub fn new(name: &'static str, source: &Source, bound: Duration) -> Self {
        Self { name, source: source.clone(), bound, process: None }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One answer within the bound, or why not.
    pub fn ask(&mut self, ask: &Ask) -> Result<Answer, String> {
        self.ask_within(ask, self.bound)
    }

    /// The same for an ask that many compiles go into.
    pub fn ask_within(&mut self, ask: &Ask, bound: Duration) -> Result<Answer, String> {
        let result = self.exchange(ask, bound);
        match result {
            Ok(Answer { refused: Some(reason), .. }) if reason.starts_with("over budget") => Err(reason),
            Ok(Answer { refused: Some(reason), .. }) => Err(format!("refused: {reason}")),
            Ok(answer) => Ok(answer),
            Err(reason) => {
                self.process = None;
                Err(reason)
            }
        }
    }

    fn exchange(&mut self, ask: &Ask, bound: Duration) -> Result<Answer, String> {
        if self.process.is_none() {
            self.process = Some(self.start()?);
        }
        let Some(process) = &mut self.process else { return Err("it does not start".into()) };
        let line = serde_json::to_string(ask).map_err(|error| error.to_string())?;
        writeln!(process.asks, "{line}").map_err(|error| format!("it is gone: {error}"))?;
        receive(&process.answers, bound)
    }

    fn start(&self) -> Result<Process, String> {
        let failed = |error: &dyn std::fmt::Display| format!("it does not start: {error}");
        let source = serde_json::to_string(&self.source).map_err(|error| failed(&error))?;
        let mut child = Command::new(std::env::current_exe().map_err(|error| failed(&error))?)
            .args(["--worker", self.name, &source])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        let (asks, out) = (child.stdin.take(), child.stdout.take());
        let (Some(asks), Some(out)) = (asks, out) else { return Err(failed(&"no pipes")) };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        receive(&answers, START)?;
        Ok(Process { child, asks, answers })
    }
}

fn receive(answers: &Receiver<String>, bound: Duration) -> Result<Answer, String> {
    match answers.recv_timeout(bound) {
        Ok(line) => serde_json::from_str(&line).map_err(|error| format!("not an answer: {error}")),
        Err(RecvTimeoutError::Timeout) => Err(format!("over {} s", bound.as_secs())),
        Err(RecvTimeoutError::Disconnected) => {
            Err(format!("it ended itself, or needs over {MEMORY_GIB} GiB"))
        }
    }
}
