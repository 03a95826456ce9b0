//! What a supervisor that speaks `sd_notify(3)`, such as systemd, is told, and the sockets that it hands over. Without one nothing happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use gobo_server::Inherited;
use listenfd::ListenFd;
use sd_notify::NotifyState;

use crate::output;

/// How much more time a start asks for, and how often.
const MORE_TIME: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_secs(15);

/// Asks for more time until it is dropped: a start reads the names of all files, or a whole store where its catalog is lost.
#[derive(Debug)]
pub(super) struct Starting(Arc<AtomicBool>);

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The start has begun.
pub(super) fn starting() -> Starting {
    let is_over = Arc::new(AtomicBool::new(false));
    if std::env::var_os("NOTIFY_SOCKET").is_some() {
        let seen = Arc::clone(&is_over);
        // Without the thread the usual time has to do.
        let _ = std::thread::Builder::new().name("gobo-start".into()).spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                tell(&[NotifyState::ExtendTimeoutUsec(micros(MORE_TIME))]);
                std::thread::park_timeout(ASK_EVERY);
            }
        });
    }
    Starting(is_over)
}

/// Callers are answered.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// From now on it is told that the daemon lives, as often as it wants: by the threads that answer callers.
pub(super) fn keep_alive() {
    if let Some(every) = sd_notify::watchdog_enabled() {
        tokio::spawn(async move {
            loop {
                tell(&[NotifyState::Watchdog]);
                tokio::time::sleep(every / 2).await;
            }
        });
    }
}

/// Files are read anew.
pub(super) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// A stop has begun that waits for so long at most.
pub(super) fn stopping(at_most: Duration) {
    tell(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(micros(at_most + Duration::from_secs(5)))]);
}

fn tell(states: &[NotifyState<'_>]) {
    // Whoever does not listen need not know.
    let _ = sd_notify::notify(states);
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// The sockets that a supervisor has opened: one Unix socket at most, and any number of TCP.
pub(super) fn inherited() -> anyhow::Result<Inherited> {
    let mut sockets = ListenFd::from_env();
    let mut inherited = Inherited::default();
    for at in 0..sockets.len() {
        if let Ok(Some(listener)) = sockets.take_unix_listener(at) {
            ensure!(inherited.unix.is_none(), "two Unix sockets were handed over, and a daemon has one");
            inherited.unix = Some(listener);
        } else {
            let listener = sockets
                .take_tcp_listener(at)
                .context("a socket was handed over that is neither TCP nor Unix")?;
            inherited.tcp.extend(listener);
        }
    }
    if sockets.len() > 0 {
        output::note(format_args!("{} sockets were handed over", sockets.len()));
    }
    Ok(inherited)
}
