//! What each tenant has used of the workers, and has before them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::job::{Ask, Tenant, TenantLimits};

/// Most tenants that are told apart at a time; more share the account of the nameless one.
pub(super) const MAX_TENANTS: usize = 4096;

/// Every so many arrivals, tenants are forgotten that have been idle for long enough.
pub(super) const FORGET_EVERY: u64 = 64;

/// In so much time the use of a worker loses its weight, but for a part of 1/e.
pub(super) const MEMORY: Duration = Duration::from_secs(1);

/// A tenant that has used the workers so much more of late than another one gives way to it.
const LEEWAY: Duration = Duration::from_millis(50);

/// Less than so much use of late is none, in seconds.
const NO_USE: f64 = 0.001;

/// What is known of a tenant that has jobs before the workers, or had some of late.
pub(super) struct Account {
    /// Time on workers, counted from where those stood who were there when it came.
    pub(super) used: Duration,
    /// Time on workers of late: seconds, which lose their weight exponentially, by [`MEMORY`].
    recent: f64,
    /// The time of which `recent` speaks.
    recent_at: Instant,
    /// Waiting and running.
    pub(super) jobs: usize,
    pub(super) bytes: u64,
    /// Compiles that may begin at once, of a tenant with a rate.
    pub(super) tokens: f64,
    pub(super) refilled: Instant,
}

impl Account {
    pub(super) fn recent(&self, now: Instant) -> f64 {
        let ago = now.saturating_duration_since(self.recent_at);
        self.recent * (-ago.div_duration_f64(MEMORY)).exp()
    }

    pub(super) fn is_present(&self, now: Instant) -> bool {
        self.jobs > 0 || self.recent(now) > NO_USE
    }

    pub(super) fn has_used(&mut self, took: Duration, now: Instant) {
        self.used += took;
        self.recent = self.recent(now) + weight(took);
        self.recent_at = now;
    }
}

/// What the use of a worker for so long up to now weighs of late, in seconds: the integral of what is left of each moment.
pub(super) fn weight(took: Duration) -> f64 {
    MEMORY.as_secs_f64() * (1.0 - (-took.div_duration_f64(MEMORY)).exp())
}

/// The accounts of all tenants.
pub(super) struct Accounts {
    by_tenant: HashMap<Tenant, Account>,
    per_second: Option<u32>,
}

impl Accounts {
    pub(super) fn new(limits: &TenantLimits) -> Self {
        Self { by_tenant: HashMap::new(), per_second: limits.per_second }
    }

    /// The account of a tenant that is known.
    pub(super) fn get(&self, tenant: &Tenant) -> Option<&Account> {
        self.by_tenant.get(tenant)
    }

    /// The tenant on whose account a job goes: the nameless one, if there are too many others. Idle ones are forgotten every now and
    /// then; O(tenants) then.
    pub(super) fn admit(&mut self, tenant: Tenant, arrivals: u64, now: Instant) -> Tenant {
        let is_full = self.by_tenant.len() >= MAX_TENANTS && !self.by_tenant.contains_key(&tenant);
        if is_full || arrivals.is_multiple_of(FORGET_EVERY) {
            self.forget_idle(now);
        }
        if is_full && self.by_tenant.len() >= MAX_TENANTS { "".into() } else { tenant }
    }

    /// The account of a tenant. A tenant that arrives begins with the use of the least user of those present: its absence neither
    /// helps nor harms it.
    pub(super) fn of(&mut self, tenant: &Tenant, now: Instant) -> &mut Account {
        let is_new = self.by_tenant.get(tenant).is_none_or(|account| account.jobs == 0);
        let present = self.by_tenant.values().filter(|account| is_new && account.jobs > 0);
        let least = present.map(|account| account.used).min();
        let tokens = f64::from(self.per_second.unwrap_or(0));
        let account = self.by_tenant.entry(Arc::clone(tenant)).or_insert_with(|| Account {
            used: Duration::ZERO,
            recent: 0.0,
            recent_at: now,
            jobs: 0,
            bytes: 0,
            tokens,
            refilled: now,
        });
        if is_new {
            account.used = least.unwrap_or_default();
        }
        account
    }

    /// A job has used a worker for so long.
    pub(super) fn has_used(&mut self, tenant: &Tenant, took: Duration, now: Instant) {
        if let Some(account) = self.by_tenant.get_mut(tenant) {
            account.has_used(took, now);
        }
    }

    /// A job has left the workers and the queues before them.
    pub(super) fn settle(&mut self, ask: &Ask) {
        let Some(account) = self.by_tenant.get_mut(&ask.tenant) else { return };
        account.jobs = account.jobs.saturating_sub(1);
        account.bytes = account.bytes.saturating_sub(ask.bytes);
    }

    /// Whether a tenant has used the workers more of late than its share of so many, and more than another one. `running` tells what
    /// the jobs of a tenant that run weigh, because a long one counts before it ends. O(tenants) calls of it.
    pub(super) fn is_heavy(
        &self,
        tenant: &Tenant,
        workers: usize,
        running: impl Fn(&Tenant) -> f64,
        now: Instant,
    ) -> bool {
        let Some(own) = self.by_tenant.get(tenant) else { return false };
        let own = own.recent(now) + running(tenant);
        let (mut present, mut least) = (0_u32, own);
        for (tenant, account) in self.by_tenant.iter().filter(|(_, account)| account.is_present(now)) {
            present += 1;
            least = least.min(account.recent(now) + running(tenant));
        }
        let workers = u32::try_from(workers).unwrap_or(u32::MAX);
        let share = MEMORY.as_secs_f64() * f64::from(workers) / f64::from(present.max(1));
        own > share && own > least + LEEWAY.as_secs_f64()
    }

    /// Forgets the accounts that hold no job, have used no worker of late, and whose rate has filled up again: a second is enough for
    /// any.
    pub(super) fn forget_idle(&mut self, now: Instant) {
        let has_rate = self.per_second.is_some();
        self.by_tenant.retain(|_, account| {
            let is_refilled =
                !has_rate || now.saturating_duration_since(account.refilled) >= Duration::from_secs(1);
            account.is_present(now) || !is_refilled
        });
    }

    pub(super) fn clear(&mut self) {
        self.by_tenant.clear();
    }
}
