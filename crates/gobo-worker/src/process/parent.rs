//! The side of the parent.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gobo_types::{CompileError, PhaseTime};
use rustix::process::Signal;

use super::WorkerConfig;
use super::pass_timeout::OUT_OF_TIME;
use super::wire::{self, Answer, Frames, Job, Limits, MAX_ANSWER, Made, Order};

/// How often a thread that waits for an answer looks whether it is still wanted. Answers themselves come at once.
const TICK: Duration = Duration::from_millis(10);

/// How long a worker may take to see that its job is cancelled, before it is killed.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// How a job ended without an index.
#[derive(Debug)]
pub enum Failure {
    /// The worker's own verdict.
    Verdict(CompileError),
    /// The worker died or spoke nonsense; another one may do better.
    Died(String),
    /// A pass used more processor time than its steps allow.
    OutOfTime,
    /// The worker was killed for what the job used of it; another one would be too.
    Killed(String),
}

/// How many worker processes ended, by what ended them. Counts without order.
#[derive(Debug, Default)]
pub struct EndCounters {
    /// Killed for the time a compile took by the clock.
    pub wall_clock: AtomicU64,
    /// Ended by the system for their processor time.
    pub processor_time: AtomicU64,
    /// Ended by themselves for the processor time of a pass.
    pub pass_time: AtomicU64,
    /// Killed because they did not see that their job was cancelled.
    pub cancelled: AtomicU64,
    /// Killed for an answer that made no sense.
    pub nonsense: AtomicU64,
    /// Died by themselves: for want of memory, of a crash, by somebody's hand.
    pub died: AtomicU64,
    /// Replaced for the memory that they held.
    pub retired: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A place for one job at a time, with the processes that do it.
///
/// There are two: the niceness of background work cannot be taken back by an ordinary user, and the rows that a process has kept are
/// worth more than the memory of an idle one.
pub struct WorkerProcess {
    config: Arc<WorkerConfig>,
    counters: Arc<EndCounters>,
    /// For what somebody waits for.
    foreground: Option<Running>,
    /// For background work; started when there is some.
    background: Option<Running>,
    phases: Vec<PhaseTime>,
}

/// A living child. Dropping it kills it.
struct Running {
    child: Child,
    socket: UnixStream,
    frames: Frames,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Debug for WorkerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = |running: &Option<Running>| running.as_ref().map(|running| running.child.id());
        f.debug_struct("WorkerProcess")
            .field("foreground", &id(&self.foreground))
            .field("background", &id(&self.background))
            .finish_non_exhaustive()
    }
}

impl WorkerProcess {
    /// A place without a process yet: [`WorkerProcess::prepare`] starts one.
    pub fn new(config: Arc<WorkerConfig>, counters: Arc<EndCounters>) -> Self {
        Self { config, counters, foreground: None, background: None, phases: Vec::new() }
    }

    /// Starts the process of the foreground where there is none, ahead of the next job. What goes wrong is told to that job.
    pub fn prepare(&mut self) {
        if self.foreground.is_none() {
            self.foreground = self.start();
        }
    }

    fn start(&self) -> Option<Running> {
        let started = Running::start(&self.config);
        let failed = |error: &io::Error| {
            tracing::error!(program = %self.config.program.display(), %error, "cannot start a worker process");
        };
        started.inspect_err(failed).ok()
    }

    fn running(&mut self, is_background: bool) -> &mut Option<Running> {
        if is_background { &mut self.background } else { &mut self.foreground }
    }

    /// Ends the processes there are, if any: the next job gets one that was started for it.
    pub fn renew(&mut self) {
        (self.foreground, self.background) = (None, None);
    }

    /// Has `job` done, blocking until the worker answers, dies or is killed. `cancelled` ends it early.
    ///
    /// # Errors
    /// [`Failure`]: the worker's verdict, or what became of the worker.
    pub fn run(&mut self, job: Job, cancelled: &AtomicBool) -> Result<Made, Failure> {
        self.phases.clear();
        let is_background = job.is_background;
        // A worker that died while idle (an operator, the kernel) has cost nobody anything.
        let idle = self.running(is_background).take();
        let alive = idle.and_then(|mut idle| matches!(idle.child.try_wait(), Ok(None)).then_some(idle));
        let Some(mut running) = alive.or_else(|| self.start()) else {
            return Err(Failure::Died(format!("cannot start {}", self.config.program.display())));
        };
        let answer = self.ask(&mut running, job, cancelled);
        match answer {
            Ok(Answer { ended, phases, retires }) => {
                self.phases = phases;
                self.phases.truncate(PhaseTime::MOST);
                if retires {
                    count(&self.counters.retired);
                } else {
                    *self.running(is_background) = Some(running);
                }
                ended.map_err(Failure::Verdict)
            }
            Err(end) => Err(self.account(running, &end)),
        }
    }

    /// What the time of the last job went to, as far as its worker has told: nothing of one that died.
    pub fn phases(&self) -> &[PhaseTime] {
        &self.phases
    }

    fn ask(&self, running: &mut Running, job: Job, cancelled: &AtomicBool) -> Result<Answer, End> {
        let began = Instant::now();
        running.socket.set_write_timeout(Some(self.config.wall_clock)).map_err(End::Broken)?;
        wire::write(&running.socket, &Order::Compile(Box::new(job))).map_err(End::Broken)?;
        let mut cancelled_at = None;
        loop {
            match running.frames.read(&running.socket, MAX_ANSWER) {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => return Err(End::Broken(io::ErrorKind::UnexpectedEof.into())),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(End::Nonsense(error)),
                Err(error) => return Err(End::Broken(error)),
            }
            if began.elapsed() > self.config.wall_clock {
                return Err(End::WallClock);
            }
            match cancelled_at {
                None if cancelled.load(Ordering::Relaxed) => {
                    cancelled_at = Some(Instant::now());
                    wire::write(&running.socket, &Order::Cancel).map_err(End::Broken)?;
                }
                Some(since) if since.elapsed() > CANCEL_GRACE => return Err(End::Deaf),
                _ => {}
            }
        }
    }

    /// Ends what is left of a worker, counts why, and says it.
    fn account(&self, mut running: Running, end: &End) -> Failure {
        let counters = &self.counters;
        match end {
            End::WallClock => {
                count(&counters.wall_clock);
                Failure::Killed(format!(
                    "the worker was killed after {} s",
                    self.config.wall_clock.as_secs_f32()
                ))
            }
            End::Deaf => {
                count(&counters.cancelled);
                Failure::Killed("the compile was cancelled".into())
            }
            End::Nonsense(error) => {
                count(&counters.nonsense);
                tracing::error!(pid = running.child.id(), %error, "a worker's answer makes no sense");
                Failure::Died(format!("the worker's answer makes no sense: {error}"))
            }
            End::Broken(error) => {
                // It may be closing its socket a moment before it ends.
                let status = wait_shortly(&mut running.child);
                let failure = explain(status, error, &self.config, counters);
                tracing::warn!(pid = running.child.id(), ?failure, "a worker process died");
                failure
            }
        }
    }
}

/// Why there is no answer.
enum End {
    /// The socket ended, and most likely the process.
    Broken(io::Error),
    /// Bytes that are no answer.
    Nonsense(io::Error),
    /// It took too long by the clock.
    WallClock,
    /// It does not see that its job is cancelled.
    Deaf,
}

fn explain(
    status: Option<ExitStatus>,
    error: &io::Error,
    config: &WorkerConfig,
    counters: &EndCounters,
) -> Failure {
    let signal = status.and_then(|status| status.signal());
    if signal == Some(Signal::XCPU.as_raw()) {
        count(&counters.processor_time);
        let seconds = config.processor_time.as_secs();
        return Failure::Killed(format!("the worker used more than {seconds} s of processor time"));
    }
    if status.and_then(|status| status.code()) == Some(OUT_OF_TIME) {
        count(&counters.pass_time);
        return Failure::OutOfTime;
    }
    count(&counters.died);
    Failure::Died(match (signal, status) {
        (Some(signal), _) if signal == Signal::ABORT.as_raw() => {
            let mib = config.address_space_bytes >> 20;
            format!("the worker aborted, most likely for want of memory (limit {mib} MiB)")
        }
        (Some(signal), _) => format!("the worker was ended by signal {signal}"),
        (None, Some(status)) => format!("the worker ended ({status}) without an answer"),
        (None, None) => format!("the worker does not answer: {error}"),
    })
}

fn wait_shortly(child: &mut Child) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Err(_) => return None,
        }
    }
    None
}

impl Running {
    fn start(config: &WorkerConfig) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(TICK))?;
        let child = Command::new(&config.program)
            .args(&config.args)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            // A terminal's interrupt is for the daemon, which lets calls under way end.
            .process_group(0)
            .spawn()?;
        let running = Self { child, socket: ours, frames: Frames::default() };
        let limits = Limits {
            address_space_bytes: config.address_space_bytes,
            processor_seconds: config.processor_time.as_secs().max(1),
            retire_bytes: config.retire_bytes,
        };
        wire::write(&running.socket, &Order::Begin(limits))?;
        Ok(running)
    }
}
