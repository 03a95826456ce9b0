//! Which job is next: lanes by urgency and cost, tenants by what they have used.
//!
//! A job enters the lane of its [`Priority`] and its *pass*. The first pass of a compile has a small counted budget, and
//! who does not end within it comes back in a later pass: so what is dear is known by what it has cost, and cheap jobs
//! never stand behind it. Lanes are served in this order, strictly:
//!
//! ```text
//! interactive, first pass · interactive, later passes · prewarm, first pass · prewarm, later passes
//! ```
//!
//! with two exceptions. Some workers may be kept for jobs of the first lane that run in the foreground: whatever the others do,
//! and whoever floods, a new interactive job finds a worker within one small budget. And every eighth
//! start goes to the job that has waited longest, once that is over the ageing limit: no lane starves.
//!
//! Within a lane the tenant goes first that has used the workers least (start-time fair queueing, Goyal, Vin & Cheng
//! 1996, with the time that jobs took for their length), so that a tenant who floods waits for itself. First
//! passes of a tenant that has used more than its share of the workers of late, and all but one of any tenant's, run in the background:
//! they take processors that nobody else wants.
//!
//! A queue holds so many jobs and so many bytes of constraints. When it is full, the tenant that has most in it gives way to one
//! that has less: its newest job is turned away, which has waited least and, in its first pass, has cost nothing yet. So
//! however many tenants fill the queue, each comes to its share of it, and none finds it full that holds less than another.

mod accounts;
mod job;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use accounts::{Accounts, weight};
pub(crate) use job::{Ask, Rules, Turned};
pub use job::{Priority, Tenant, TenantLimits};

/// Every so many starts, one goes to a job that has waited beyond the ageing limit.
const AGED_EVERY: u32 = 8;

/// Number of lanes: two priorities, each with a first and later passes.
const LANES: usize = 4;

struct Queued<J> {
    ask: Ask,
    since: Instant,
    /// Counts up in the order of arrival, here and in each lane.
    number: u64,
    lane: usize,
    job: J,
}

impl<J> Queued<J> {
    fn is_wanted(&self) -> bool {
        !self.ask.cancelled.load(Ordering::Relaxed)
    }
}

/// What is in the queue of one priority, of one tenant or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    jobs: usize,
    bytes: u64,
}

impl Held {
    fn add(&mut self, ask: &Ask) {
        self.jobs += 1;
        self.bytes += ask.bytes;
    }

    fn take(&mut self, ask: &Ask) {
        self.jobs -= 1;
        self.bytes -= ask.bytes;
    }
}

/// Jobs that leave the queue without having been begun.
pub(crate) struct Gone<J> {
    /// Nobody wants them. They are dropped where no lock is held, because what a job owns may take other locks as it drops.
    pub(crate) unwanted: Vec<J>,
    /// Turned away to make room. Those who wait for them are to be told.
    pub(crate) displaced: Vec<J>,
}

impl<J> Default for Gone<J> {
    fn default() -> Self {
        Self { unwanted: Vec::new(), displaced: Vec::new() }
    }
}

/// A job on its way to a worker; comes back in [`Scheduler::ended`].
pub(crate) struct Started<J> {
    pub(crate) job: J,
    pub(crate) ask: Ask,
    /// How long it waited.
    pub(crate) waited: Duration,
    /// Whether it gives way to others where processors are short.
    pub(crate) is_background: bool,
    pub(crate) lane: Lane,
}

/// Which lane a started job came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane(usize);

/// A job that runs.
struct OnWorker {
    tenant: Tenant,
    lane: usize,
    since: Instant,
    is_background: bool,
    /// Tells the job apart.
    flag: Arc<AtomicBool>,
    /// Somebody has come to wait for it, which was begun ahead of demand.
    is_promoted: bool,
}

/// Which jobs a free worker may begin.
#[derive(Clone, Copy)]
enum Allowed {
    Any,
    /// What runs in the foreground.
    Foreground,
}

/// The queues before the workers. Knows no threads; time is told to it.
pub(crate) struct Scheduler<J> {
    rules: Rules,
    /// By lane, then by tenant. An empty queue is removed.
    lanes: [HashMap<Tenant, VecDeque<Queued<J>>>; LANES],
    accounts: Accounts,
    /// What the lanes of each priority hold.
    waiting: [Held; 2],
    arrivals: u64,
    /// Running jobs of each lane.
    running: [usize; LANES],
    /// The same jobs one by one.
    on_workers: Vec<OnWorker>,
    starts: u32,
    /// A moving mean of how long first passes take.
    mean: Duration,
}

fn lane(priority: Priority, is_first: bool) -> usize {
    match priority {
        Priority::Interactive => usize::from(!is_first),
        Priority::Prewarm => 2 + usize::from(!is_first),
    }
}

/// The place of a priority among both.
fn index(priority: Priority) -> usize {
    lane(priority, true) / 2
}

impl<J> Scheduler<J> {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            lanes: Default::default(),
            accounts: Accounts::new(&rules.tenant),
            waiting: [Held::default(); 2],
            arrivals: 0,
            running: [0; LANES],
            on_workers: Vec::new(),
            starts: 0,
            mean: Duration::ZERO,
        }
    }

    /// Takes a job at its first pass. Where the queue is full cancelled jobs make room first, then one of the tenant that has
    /// most in it. O(jobs that wait) then.
    pub(crate) fn submit(
        &mut self,
        mut ask: Ask,
        job: J,
        now: Instant,
        gone: &mut Gone<J>,
    ) -> Result<(), (Turned, J)> {
        ask.tenant = self.accounts.admit(ask.tenant, self.arrivals, now);
        // The tenant first: who may have no more turns nobody else away.
        if let Err(turned) = self.admit(&ask, now).and_then(|()| self.make_room(&ask, gone)) {
            return Err((turned, job));
        }
        let account = self.accounts.of(&ask.tenant, now);
        account.jobs += 1;
        account.bytes += ask.bytes;
        account.tokens -= f64::from(u8::from(ask.is_limited));
        self.push(lane(ask.priority, true), ask, now, job);
        Ok(())
    }

    fn admit(&mut self, ask: &Ask, now: Instant) -> Result<(), Turned> {
        let TenantLimits { jobs, bytes, per_second } = self.rules.tenant;
        let wait = self.expected_wait(ask.priority);
        if !ask.is_limited {
            return Ok(());
        }
        let account = self.accounts.of(&ask.tenant, now);
        if account.jobs >= jobs {
            return Err(Turned::Quota("compiles"));
        }
        if account.jobs > 0 && account.bytes + ask.bytes > bytes {
            return Err(Turned::Quota("bytes of constraints"));
        }
        if let Some(per_second) = per_second {
            let rate = f64::from(per_second);
            let refill = now.saturating_duration_since(account.refilled).as_secs_f64() * rate;
            account.tokens = (account.tokens + refill).min(rate);
            account.refilled = now;
            if account.tokens < 1.0 {
                return Err(Turned::Rate(Duration::from_secs_f64((1.0 - account.tokens) / rate)));
            }
        }
        match ask.deadline {
            Some(deadline) if now + wait >= deadline => Err(Turned::TooLate(wait)),
            _ => Ok(()),
        }
    }

    /// Sees to it that the queue has room for a job, or leaves it as it is.
    fn make_room(&mut self, ask: &Ask, gone: &mut Gone<J>) -> Result<(), Turned> {
        if self.has_room(ask) {
            return Ok(());
        }
        self.drop_unwanted(&mut gone.unwanted);
        let mut displaced = Vec::new();
        while !self.has_room(ask) {
            let newest = self.has_most(ask).and_then(|tenant| self.take_newest(&tenant, ask.priority));
            let Some(newest) = newest else {
                displaced.into_iter().rev().for_each(|queued| self.restore(queued));
                return Err(Turned::Full);
            };
            displaced.push(newest);
        }
        for queued in displaced {
            self.accounts.settle(&queued.ask);
            gone.displaced.push(queued.job);
        }
        Ok(())
    }

    fn has_room(&self, ask: &Ask) -> bool {
        let Held { jobs, bytes } = self.waiting[index(ask.priority)];
        jobs < self.rules.queue_length && (jobs == 0 || bytes + ask.bytes <= self.rules.queue_bytes)
    }

    /// The tenant that has most of what there is too much of, if that is more than the tenant of `ask` has. Of two equals neither
    /// gives way. O(jobs that wait).
    fn has_most(&self, ask: &Ask) -> Option<Tenant> {
        let is_long = self.waiting[index(ask.priority)].jobs >= self.rules.queue_length;
        let by = |held: &Held| if is_long { held.jobs as u64 } else { held.bytes };
        let mut held = HashMap::<&Tenant, Held>::new();
        let first = lane(ask.priority, true);
        for (tenant, queue) in self.lanes[first..first + 2].iter().flatten() {
            // What nobody's limits hold for gives way to nobody.
            for queued in queue.iter().filter(|queued| queued.ask.is_limited) {
                held.entry(tenant).or_default().add(&queued.ask);
            }
        }
        let own = held.get(&ask.tenant).map_or(0, by) + if is_long { 0 } else { ask.bytes };
        let most = held.into_iter().map(|(tenant, held)| (by(&held), tenant)).max()?;
        (most.0 > own).then(|| Arc::clone(most.1))
    }

    /// Puts a job back to where [`Self::take_newest`] took it from.
    fn restore(&mut self, queued: Queued<J>) {
        self.waiting[index(queued.ask.priority)].add(&queued.ask);
        let queue = self.lanes[queued.lane].entry(Arc::clone(&queued.ask.tenant)).or_default();
        queue.insert(queue.partition_point(|other| other.number < queued.number), queued);
    }

    /// Takes off the newest job of a tenant: one in its first pass before one that has cost work, and one that it alone waits for
    /// before one that others wait for too.
    fn take_newest(&mut self, tenant: &Tenant, priority: Priority) -> Option<Queued<J>> {
        let first = lane(priority, true);
        for spares_shared in [true, false] {
            for lane in first..first + 2 {
                let Some(queue) = self.lanes[lane].get_mut(tenant) else { continue };
                let newest = queue.iter().rposition(|queued| {
                    queued.ask.is_limited && !(spares_shared && queued.ask.is_shared.load(Ordering::Relaxed))
                });
                if let Some(queued) = newest.and_then(|at| queue.remove(at)) {
                    if queue.is_empty() {
                        self.lanes[lane].remove(tenant);
                    }
                    self.waiting[index(priority)].take(&queued.ask);
                    return Some(queued);
                }
            }
        }
        None
    }

    /// Puts a job back for a later pass. It was admitted once, and is not turned away now.
    pub(crate) fn again(&mut self, ask: Ask, job: J, now: Instant) {
        let account = self.accounts.of(&ask.tenant, now);
        account.jobs += 1;
        account.bytes += ask.bytes;
        self.push(lane(ask.priority, false), ask, now, job);
    }

    fn push(&mut self, lane: usize, ask: Ask, since: Instant, job: J) {
        self.waiting[index(ask.priority)].add(&ask);
        self.arrivals += 1;
        let queued = Queued { ask, since, number: self.arrivals, lane, job };
        self.lanes[lane].entry(Arc::clone(&queued.ask.tenant)).or_default().push_back(queued);
    }

    /// How long a job that comes now waits for its first pass: what stands before it, shared among the workers.
    pub(crate) fn expected_wait(&self, priority: Priority) -> Duration {
        let last = lane(priority, true);
        let before: usize = self.lanes[..=last].iter().flat_map(HashMap::values).map(VecDeque::len).sum();
        if before == 0 && self.running.iter().sum::<usize>() < self.rules.workers {
            return Duration::ZERO;
        }
        let before = u32::try_from(before + 1).unwrap_or(u32::MAX);
        let workers = u32::try_from(self.rules.workers).unwrap_or(u32::MAX).max(1);
        self.mean.saturating_mul(before) / workers
    }

    /// Whether a worker has nothing to do, and nothing waits.
    pub(crate) fn has_idle_worker(&self) -> bool {
        self.waiting() == 0 && self.on_workers.len() < self.rules.workers
    }

    /// The next job that a free worker should begin. `None`: nothing waits that may begin now. Cancelled jobs are
    /// dropped on the way.
    pub(crate) fn next(&mut self, now: Instant, dropped: &mut Vec<J>) -> Option<Started<J>> {
        loop {
            let (lane, tenant) = self.choose(now)?;
            let queue = self.lanes[lane].get_mut(&tenant)?;
            let queued = queue.pop_front()?;
            if queue.is_empty() {
                self.lanes[lane].remove(&tenant);
            }
            self.waiting[index(queued.ask.priority)].take(&queued.ask);
            if !queued.is_wanted() {
                self.accounts.settle(&queued.ask);
                dropped.push(queued.job);
                continue;
            }
            let is_background = !self.is_foreground(lane, &tenant, now);
            self.starts = self.starts.wrapping_add(1);
            self.running[lane] += 1;
            self.on_workers.push(OnWorker {
                tenant: Arc::clone(&queued.ask.tenant),
                lane,
                since: now,
                is_background,
                flag: Arc::clone(&queued.ask.cancelled),
                is_promoted: false,
            });
            let waited = now.saturating_duration_since(queued.since);
            let Queued { ask, job, .. } = queued;
            return Some(Started { job, ask, waited, is_background, lane: Lane(lane) });
        }
    }

    fn choose(&self, now: Instant) -> Option<(usize, Tenant)> {
        let in_background = self.on_workers.iter().filter(|job| job.is_background).count();
        let allowed = if in_background < self.others() { Allowed::Any } else { Allowed::Foreground };
        if self.starts % AGED_EVERY == AGED_EVERY - 1
            && let Some((since, lane, tenant)) = self.oldest(allowed, now)
            && now.saturating_duration_since(since) > self.rules.ageing
        {
            return Some((lane, tenant));
        }
        let lane = (0..LANES).find(|&lane| self.queues(lane, allowed, now).next().is_some())?;
        let used = |tenant: &Tenant| self.accounts.get(tenant).map_or(Duration::ZERO, |account| account.used);
        // Equal use: who has waited longer.
        let least = self
            .queues(lane, allowed, now)
            .min_by_key(|(tenant, queue)| (used(tenant), queue.front().map(|queued| queued.since)))?;
        Some((lane, Arc::clone(least.0)))
    }

    /// The workers that are not kept: one at least, which has to do the rest.
    fn others(&self) -> usize {
        self.rules.workers.saturating_sub(self.rules.kept).max(1)
    }

    /// The queues of a lane from which a worker may take that is allowed so much.
    fn queues(
        &self,
        lane: usize,
        allowed: Allowed,
        now: Instant,
    ) -> impl Iterator<Item = (&Tenant, &VecDeque<Queued<J>>)> {
        self.lanes[lane].iter().filter(move |(tenant, _)| match allowed {
            Allowed::Any => true,
            Allowed::Foreground => self.is_foreground(lane, tenant, now),
        })
    }

    /// Whether a job does not give way to others: the first pass of an interactive one, of a tenant of whom none runs, and that has
    /// not used more than its share of the workers of late. O(workers × tenants).
    fn is_foreground(&self, lane: usize, tenant: &Tenant, now: Instant) -> bool {
        if lane != 0 || self.on_workers.iter().any(|job| job.lane == 0 && job.tenant == *tenant) {
            return false;
        }
        let running = |tenant: &Tenant| {
            let jobs = self.on_workers.iter().filter(|job| job.tenant == *tenant);
            jobs.map(|job| weight(now.saturating_duration_since(job.since))).sum()
        };
        !self.accounts.is_heavy(tenant, self.others(), running, now)
    }

    /// The job that has waited longest of those that may begin.
    fn oldest(&self, allowed: Allowed, now: Instant) -> Option<(Instant, usize, Tenant)> {
        let heads = (0..LANES).flat_map(|lane| {
            let queues = self.queues(lane, allowed, now);
            queues.filter_map(move |(tenant, queue)| Some((queue.front()?.since, lane, tenant)))
        });
        heads.min_by_key(|(since, ..)| *since).map(|(since, lane, tenant)| (since, lane, Arc::clone(tenant)))
    }

    /// A started job has ended after `took` on its worker. Its later passes are interactive if somebody has come to wait.
    pub(crate) fn ended(&mut self, ask: &mut Ask, lane: Lane, took: Duration, now: Instant) {
        let Lane(lane) = lane;
        self.running[lane] -= 1;
        if let Some(at) = self.on_workers.iter().position(|job| Arc::ptr_eq(&job.flag, &ask.cancelled))
            && self.on_workers.swap_remove(at).is_promoted
        {
            ask.priority = Priority::Interactive;
        }
        if lane % 2 == 0 {
            self.mean = if self.mean.is_zero() { took } else { (self.mean * 7 + took) / 8 };
        }
        self.accounts.has_used(&ask.tenant, took, now);
        self.accounts.settle(ask);
    }

    fn drop_unwanted(&mut self, dropped: &mut Vec<J>) {
        let mut settled = Vec::new();
        for lane in &mut self.lanes {
            lane.retain(|_, queue| {
                let (wanted, gone): (VecDeque<_>, VecDeque<_>) = queue.drain(..).partition(Queued::is_wanted);
                *queue = wanted;
                settled.extend(gone);
                !queue.is_empty()
            });
        }
        for queued in settled {
            self.waiting[index(queued.ask.priority)].take(&queued.ask);
            self.accounts.settle(&queued.ask);
            dropped.push(queued.job);
        }
    }

    /// Moves a prewarm job that somebody waits for now to the interactive lane of its pass; if it runs, its later passes.
    pub(crate) fn promote(&mut self, cancelled: &Arc<AtomicBool>) {
        for job in &mut self.on_workers {
            job.is_promoted |= Arc::ptr_eq(&job.flag, cancelled);
        }
        for from in [2, 3] {
            let is_it = |queued: &Queued<J>| Arc::ptr_eq(&queued.ask.cancelled, cancelled);
            let found = self.lanes[from].iter_mut().find_map(|(tenant, queue)| {
                let at = queue.iter().position(is_it)?;
                Some((Arc::clone(tenant), queue.remove(at)?, queue.is_empty()))
            });
            if let Some((tenant, mut queued, is_empty)) = found {
                if is_empty {
                    self.lanes[from].remove(&tenant);
                }
                self.waiting[index(queued.ask.priority)].take(&queued.ask);
                queued.ask.priority = Priority::Interactive;
                self.push(from - 2, queued.ask, queued.since, queued.job);
                return;
            }
        }
    }

    /// Every job that waits.
    pub(crate) fn drain(&mut self) -> Vec<J> {
        let lanes = std::mem::take(&mut self.lanes);
        let queued = lanes.into_iter().flat_map(HashMap::into_values).flatten();
        let jobs = queued.map(|queued| queued.job).collect();
        self.accounts.clear();
        self.waiting = [Held::default(); 2];
        jobs
    }

    /// Jobs that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.iter().map(|held| held.jobs).sum()
    }

    /// For how long the job that has waited longest has waited.
    pub(crate) fn oldest_wait(&self, now: Instant) -> Duration {
        self.oldest(Allowed::Any, now)
            .map_or(Duration::ZERO, |(since, ..)| now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests;
