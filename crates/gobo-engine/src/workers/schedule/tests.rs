use proptest::prelude::*;

use super::accounts::MEMORY;
use super::*;

const MS: Duration = Duration::from_millis(1);

struct Bench {
    scheduler: Scheduler<&'static str>,
    now: Instant,
}

impl Bench {
    fn new(workers: usize, tenant: TenantLimits) -> Self {
        let rules =
            Rules { workers, kept: 1, queue_length: 100, queue_bytes: 1000, tenant, ageing: 1000 * MS };
        Self { scheduler: Scheduler::new(rules), now: Instant::now() }
    }

    fn plain(workers: usize) -> Self {
        Self::new(workers, TenantLimits::default())
    }

    fn ask(tenant: &str, priority: Priority) -> Ask {
        Ask { priority, tenant: tenant.into(), is_limited: true, ..Ask::plain(Arc::default()) }
    }

    fn submit(&mut self, tenant: &str, priority: Priority, job: &'static str) -> Result<(), Turned> {
        self.submit_ask(Self::ask(tenant, priority), job)
    }

    fn submit_ask(&mut self, ask: Ask, job: &'static str) -> Result<(), Turned> {
        self.submit_telling(ask, job).map(|displaced| assert!(displaced.is_empty(), "{displaced:?}"))
    }

    /// The jobs that were turned away for it.
    fn submit_telling(&mut self, ask: Ask, job: &'static str) -> Result<Vec<&'static str>, Turned> {
        let mut gone = Gone::default();
        let submitted = self.scheduler.submit(ask, job, self.now, &mut gone);
        submitted.map(|()| gone.displaced).map_err(|(turned, _)| turned)
    }

    fn next(&mut self) -> Option<Started<&'static str>> {
        self.scheduler.next(self.now, &mut Vec::new())
    }

    fn end(&mut self, mut started: Started<&'static str>, took: Duration) -> Ask {
        self.scheduler.ended(&mut started.ask, started.lane, took, self.now);
        started.ask
    }

    /// Runs everything on one worker, each job for `took`.
    fn order(&mut self, took: Duration) -> Vec<&'static str> {
        let mut order = Vec::new();
        while let Some(started) = self.next() {
            order.push(started.job);
            self.now += took;
            self.end(started, took);
        }
        order
    }
}

use Priority::{Interactive, Prewarm};

#[test]
fn interactive_goes_first_and_later_passes_behind_first_ones() {
    let mut bench = Bench::plain(1);
    bench.submit("", Prewarm, "ahead").unwrap();
    bench.scheduler.again(Bench::ask("", Prewarm), "ahead, dear", bench.now);
    bench.scheduler.again(Bench::ask("", Interactive), "dear", bench.now);
    bench.submit("", Interactive, "cheap").unwrap();
    assert_eq!(bench.order(MS), ["cheap", "dear", "ahead", "ahead, dear"]);
}

#[test]
fn one_worker_is_kept_for_new_interactive_jobs() {
    let mut bench = Bench::plain(2);
    for _ in 0..3 {
        bench.scheduler.again(Bench::ask("", Interactive), "dear", bench.now);
        bench.submit("", Prewarm, "ahead").unwrap();
    }
    let first = bench.next().unwrap();
    assert_eq!(first.job, "dear");
    assert!(bench.next().is_none(), "the other worker is kept");
    bench.submit("", Interactive, "cheap").unwrap();
    assert_eq!(bench.next().unwrap().job, "cheap");
    bench.end(first, MS);
    assert_eq!(bench.next().unwrap().job, "dear");
}

#[test]
fn a_flood_leaves_a_worker_for_the_next_tenant() {
    let rules = Rules { workers: 4, kept: 2, ..Bench::plain(4).scheduler.rules };
    let mut bench = Bench { scheduler: Scheduler::new(rules), now: Instant::now() };
    for _ in 0..4 {
        bench.submit("flood", Interactive, "flood").unwrap();
        bench.scheduler.again(Bench::ask("flood", Interactive), "flood, dear", bench.now);
    }
    let begun = |bench: &mut Bench| bench.next().map(|started| (started.job, started.is_background));
    assert_eq!(begun(&mut bench), Some(("flood", false)));
    assert_eq!(begun(&mut bench), Some(("flood", true)), "one of a tenant runs in the foreground");
    assert_eq!(begun(&mut bench), Some(("flood", true)));
    assert_eq!(begun(&mut bench), None, "the others are kept");
    bench.submit("calm", Interactive, "calm").unwrap();
    bench.submit("calm", Interactive, "calm").unwrap();
    assert_eq!(begun(&mut bench), Some(("calm", false)));
    assert_eq!(begun(&mut bench), None, "a first pass of each tenant runs");

    // A tenant whose dear compiles have all the others finds a worker for a cheap one, and so does who comes beside it.
    let mut bench = Bench { scheduler: Scheduler::new(rules), now: Instant::now() };
    for _ in 0..4 {
        bench.scheduler.again(Bench::ask("flood", Interactive), "flood, dear", bench.now);
    }
    assert_eq!(begun(&mut bench), Some(("flood, dear", true)));
    assert_eq!(begun(&mut bench), Some(("flood, dear", true)));
    for tenant in ["flood", "flood", "calm"] {
        bench.submit(tenant, Interactive, tenant).unwrap();
        bench.now += MS;
    }
    assert_eq!(begun(&mut bench), Some(("flood", false)));
    assert_eq!(begun(&mut bench), Some(("calm", false)));
}

#[test]
fn who_has_used_more_than_its_share_of_late_gives_way() {
    let rules = Rules { workers: 4, kept: 2, ..Bench::plain(4).scheduler.rules };
    let mut bench = Bench { scheduler: Scheduler::new(rules), now: Instant::now() };
    let begin = |bench: &mut Bench, tenant: &'static str| {
        bench.submit(tenant, Interactive, tenant).unwrap();
        bench.next().unwrap()
    };
    let end = |bench: &mut Bench, started: Vec<Started<&'static str>>, took: Duration| {
        bench.now += took;
        started.into_iter().for_each(|started| drop(bench.end(started, took)));
    };

    // Whoever is alone gives way to nobody, however much it uses.
    let started = vec![begin(&mut bench, "one"), begin(&mut bench, "one"), begin(&mut bench, "one")];
    end(&mut bench, started, 2 * MEMORY);
    let alone = begin(&mut bench, "one");
    assert!(!alone.is_background);
    end(&mut bench, vec![alone], MS);
    let (two, one) = (begin(&mut bench, "two"), begin(&mut bench, "one"));
    assert_eq!((two.is_background, one.is_background), (false, true));
    end(&mut bench, vec![two, one], MS);
    bench.now += 10 * MEMORY;
    let forgotten = begin(&mut bench, "one");
    assert!(!forgotten.is_background);
    end(&mut bench, vec![forgotten], 300 * MS);

    // A tenant that waits and has used nothing makes no other one heavy.
    for _ in 0..4 {
        bench.submit("new", Interactive, "new").unwrap();
    }
    bench.submit("one", Interactive, "one").unwrap();
    let one = std::iter::from_fn(|| bench.next()).find(|started| started.job == "one");
    assert!(!one.unwrap().is_background);

    // Several that flood do not take the workers that are kept; jobs that run count before they end.
    let mut bench = Bench { scheduler: Scheduler::new(rules), now: Instant::now() };
    let calm = begin(&mut bench, "calm");
    end(&mut bench, vec![calm], 20 * MS);
    let floods = ["a", "b", "c"].map(|tenant| begin(&mut bench, tenant));
    bench.now += 2 * MEMORY;
    let calm = begin(&mut bench, "calm");
    assert!(!calm.is_background);
    end(&mut bench, vec![calm], MS);
    floods.into_iter().for_each(|started| drop(bench.end(started, 2 * MEMORY)));
    for tenant in ["a", "b", "c", "a", "b", "c"] {
        bench.submit(tenant, Interactive, tenant).unwrap();
    }
    assert!([bench.next(), bench.next()].into_iter().flatten().all(|started| started.is_background));
    assert!(bench.next().is_none(), "the others are kept");
    let calm = begin(&mut bench, "calm");
    assert_eq!((calm.job, calm.is_background), ("calm", false));
}

#[test]
fn no_lane_starves() {
    let mut bench = Bench::plain(1);
    bench.submit("", Prewarm, "ahead").unwrap();
    bench.now += 2000 * MS;
    let mut seen = Vec::new();
    for _ in 0..AGED_EVERY {
        bench.submit("", Interactive, "now").unwrap();
        let started = bench.next().unwrap();
        seen.push(started.job);
        bench.end(started, MS);
    }
    assert_eq!(seen.iter().filter(|job| **job == "ahead").count(), 1, "{seen:?}");
}

#[test]
fn a_tenant_who_floods_waits_for_itself() {
    let mut bench = Bench::plain(1);
    for _ in 0..10 {
        bench.submit("flood", Interactive, "flood").unwrap();
    }
    let first = bench.next().unwrap();
    bench.now += MS;
    bench.end(first, MS);
    bench.submit("calm", Interactive, "calm").unwrap();
    bench.submit("calm", Interactive, "calm").unwrap();
    let order = bench.order(MS);
    let place = order.iter().rposition(|job| *job == "calm").unwrap();
    assert!(place <= 4, "{order:?}");
}

#[test]
fn quotas_count_what_waits_and_what_runs() {
    let mut bench = Bench::new(1, TenantLimits { jobs: 2, bytes: 10, per_second: None });
    bench.submit("a", Interactive, "1").unwrap();
    let started = bench.next().unwrap();
    bench.submit("a", Interactive, "2").unwrap();
    assert_eq!(bench.submit("a", Prewarm, "3"), Err(Turned::Quota("compiles")));
    bench.submit("b", Interactive, "other tenants have room").unwrap();
    bench.end(started, MS);
    bench.submit("a", Interactive, "3").unwrap();
    let large = |bytes| Ask { bytes, ..Bench::ask("c", Interactive) };
    bench.submit_ask(large(100), "alone, anything fits").unwrap();
    assert_eq!(bench.submit_ask(large(1), "beside it"), Err(Turned::Quota("bytes of constraints")));
}

#[test]
fn a_rate_fills_up_with_time() {
    let mut bench = Bench::new(1, TenantLimits { per_second: Some(2), ..TenantLimits::default() });
    bench.submit("a", Interactive, "1").unwrap();
    bench.submit("a", Interactive, "2").unwrap();
    assert_eq!(bench.submit("a", Interactive, "3"), Err(Turned::Rate(500 * MS)));
    bench.order(Duration::ZERO);
    assert_eq!(bench.submit("a", Interactive, "3"), Err(Turned::Rate(500 * MS)), "idleness alone gives none");
    bench.now += 500 * MS;
    bench.submit("a", Interactive, "3").unwrap();
}

#[test]
fn what_would_come_too_late_is_turned_away_at_once() {
    let mut bench = Bench::plain(1);
    bench.submit("", Interactive, "measure").unwrap();
    bench.order(100 * MS);
    for _ in 0..4 {
        bench.submit("", Interactive, "before").unwrap();
    }
    let by = |ms: u32| Ask { deadline: Some(bench.now + ms * MS), ..Bench::ask("", Interactive) };
    let (hurried, patient) = (by(300), by(600));
    assert_eq!(bench.submit_ask(hurried, "hurried"), Err(Turned::TooLate(500 * MS)));
    bench.submit_ask(patient, "patient").unwrap();
}

#[test]
fn full_queues_turn_away_and_cancelled_jobs_make_room() {
    let mut bench = Bench::plain(1);
    let ask = Bench::ask("", Interactive);
    let cancelled = Arc::clone(&ask.cancelled);
    bench.submit_ask(ask, "cancelled").unwrap();
    for _ in 1..100 {
        bench.submit("", Interactive, "waits").unwrap();
    }
    assert_eq!(bench.submit("", Interactive, "one more"), Err(Turned::Full));
    bench.submit("", Prewarm, "the priorities fill apart").unwrap();
    cancelled.store(true, Ordering::Relaxed);
    bench.submit("", Interactive, "one more").unwrap();
    assert!(!bench.order(MS).contains(&"cancelled"));
}

#[test]
fn promoted_jobs_are_interactive() {
    let mut bench = Bench::plain(1);
    bench.submit("", Prewarm, "p0").unwrap();
    let ask = Bench::ask("t", Prewarm);
    let flag = Arc::clone(&ask.cancelled);
    bench.submit_ask(ask, "p1").unwrap();
    bench.now += MS;
    bench.submit("", Interactive, "i0").unwrap();
    bench.scheduler.promote(&flag);
    assert_eq!(bench.scheduler.waiting(), 3);
    assert_eq!(bench.order(MS), ["p1", "i0", "p0"], "of two that used nothing, who has waited longer");

    let ask = Bench::ask("", Prewarm);
    let flag = Arc::clone(&ask.cancelled);
    bench.submit_ask(ask, "runs").unwrap();
    let started = bench.next().unwrap();
    bench.scheduler.promote(&flag);
    assert_eq!(bench.end(started, MS).priority, Interactive, "its later passes too");
    assert_eq!(bench.scheduler.waiting(), 0);
    bench.scheduler.accounts.forget_idle(bench.now + 10 * MEMORY);
    assert!(
        bench.scheduler.accounts.get(&"t".into()).is_none(),
        "who has nothing before the workers is forgotten"
    );
}

/// Three tenants have filled the queue, each within its quota; whoever comes then gets its share.
#[test]
fn a_full_queue_turns_away_from_the_tenant_that_waits_most() {
    let mut bench = Bench::plain(1);
    let telling =
        |bench: &mut Bench, tenant: &str, job| bench.submit_telling(Bench::ask(tenant, Interactive), job);
    for (tenant, jobs) in [("a", 40), ("b", 35), ("c", 25)] {
        for _ in 0..jobs {
            bench.submit(tenant, Interactive, tenant).unwrap();
        }
    }
    assert_eq!(bench.submit("a", Interactive, "a"), Err(Turned::Full), "nobody has more");
    for _ in 0..5 {
        assert_eq!(telling(&mut bench, "d", "d"), Ok(vec!["a"]));
    }
    // Now a and b have 35 each.
    let displaced: Vec<_> = (0..10).flat_map(|_| telling(&mut bench, "d", "d").unwrap()).collect();
    assert_eq!(displaced.iter().filter(|tenant| **tenant == "a").count(), 5, "{displaced:?}");
    assert_eq!(displaced.iter().filter(|tenant| **tenant == "b").count(), 5, "{displaced:?}");
    while telling(&mut bench, "d", "d").is_ok() {}
    let jobs = |tenant: &str| bench.scheduler.accounts.get(&tenant.into()).unwrap().jobs;
    let shares = ["a", "b", "c", "d"].map(jobs);
    assert_eq!(shares.iter().sum::<usize>(), 100);
    assert!(shares.iter().all(|share| (24..=26).contains(share)), "{shares:?}");
    assert_eq!(bench.submit("d", Interactive, "d"), Err(Turned::Full));
    assert_eq!(bench.submit("d", Prewarm, "the priorities fill apart"), Ok(()));
}

#[test]
fn what_gives_way_is_the_newest_that_nobody_else_waits_for() {
    let mut bench = Bench::plain(1);
    let shared = Bench::ask("flood", Interactive);
    shared.is_shared.store(true, Ordering::Relaxed);
    bench.scheduler.again(Bench::ask("flood", Interactive), "dear", bench.now);
    for _ in 2..99 {
        bench.submit("flood", Interactive, "older").unwrap();
    }
    bench.submit("flood", Interactive, "newest of its own").unwrap();
    bench.submit_ask(shared, "shared").unwrap();
    let calm = |bench: &mut Bench| bench.submit_telling(Bench::ask("calm", Interactive), "calm").unwrap();
    assert_eq!(calm(&mut bench), ["newest of its own"]);
    assert_eq!(calm(&mut bench), ["older"]);
    // An import is on nobody's account and gives way to nobody.
    let mut bench = Bench::plain(1);
    for _ in 0..100 {
        bench.submit_ask(Ask::plain(Arc::default()), "import").unwrap();
    }
    assert_eq!(bench.submit("calm", Interactive, "calm"), Err(Turned::Full));
}

#[test]
fn who_may_have_no_more_turns_nobody_else_away() {
    let mut bench = Bench::new(1, TenantLimits { jobs: 60, ..TenantLimits::default() });
    for (tenant, jobs) in [("a", 60), ("b", 40)] {
        for _ in 0..jobs {
            bench.submit(tenant, Interactive, tenant).unwrap();
        }
    }
    bench.scheduler.rules.tenant.jobs = 40;
    assert_eq!(bench.submit("b", Interactive, "b"), Err(Turned::Quota("compiles")));
    let hurried = Ask { deadline: Some(bench.now), ..Bench::ask("c", Interactive) };
    assert!(matches!(bench.submit_ask(hurried, "c"), Err(Turned::TooLate(_))));
    assert_eq!(bench.scheduler.waiting(), 100);
}

#[test]
fn a_queue_is_full_by_bytes_too() {
    let mut bench = Bench::plain(1);
    let large = |tenant: &str, bytes| Ask { bytes, ..Bench::ask(tenant, Interactive) };
    for bytes in [300, 300, 200] {
        bench.submit_ask(large("a", bytes), "a").unwrap();
    }
    bench.submit_ask(large("b", 200), "b").unwrap();
    assert_eq!(bench.submit_ask(large("a", 1), "a"), Err(Turned::Full));
    assert_eq!(bench.submit_telling(large("c", 200), "c"), Ok(vec!["a"]));
    // What gives way makes room, or stays: one of the two jobs is not enough for this, and without both a has less than d.
    assert_eq!(bench.submit_ask(large("d", 590), "d"), Err(Turned::Full));
    assert_eq!(bench.scheduler.waiting(), 4);
    assert_eq!(bench.submit_telling(large("d", 290), "d"), Ok(vec!["a"]));
    assert_eq!(bench.scheduler.waiting(), 4);
}

/// What the queue is said to hold, kept as a plain list.
#[derive(Debug, Clone)]
struct Modelled {
    id: usize,
    tenant: usize,
    priority: Priority,
    bytes: u64,
    is_first: bool,
    is_shared: bool,
    flag: Arc<AtomicBool>,
}

#[derive(Debug, Clone)]
enum Action {
    Submit {
        tenant: usize,
        is_prewarm: bool,
        bytes: u64,
        is_shared: bool,
    },
    Start,
    /// The job that has run longest ends, or comes back for a later pass.
    End {
        again: bool,
    },
    Cancel(usize),
    Promote(usize),
}

const TENANTS: [&str; 4] = ["a", "b", "c", "d"];

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (0..TENANTS.len(), any::<bool>(), 0..40_u64, prop::bool::weighted(0.2)).prop_map(
            // The first tenant asks most.
            |(tenant, is_prewarm, bytes, is_shared)| Action::Submit { tenant: tenant / 2 * tenant, is_prewarm, bytes, is_shared }
        ),
        2 => Just(Action::Start),
        2 => any::<bool>().prop_map(|again| Action::End { again }),
        1 => any::<usize>().prop_map(Action::Cancel),
        1 => any::<usize>().prop_map(Action::Promote),
    ]
}

struct Machine {
    scheduler: Scheduler<usize>,
    now: Instant,
    waiting: Vec<Modelled>,
    running: Vec<(Started<usize>, Modelled)>,
    ids: usize,
}

impl Machine {
    const LENGTH: usize = 8;
    const BYTES: u64 = 150;

    fn new() -> Self {
        let tenant = TenantLimits { jobs: 6, bytes: 120, per_second: None };
        let (queue_length, queue_bytes) = (Self::LENGTH, Self::BYTES);
        let rules = Rules { workers: 2, kept: 0, queue_length, queue_bytes, tenant, ageing: 1000 * MS };
        let scheduler = Scheduler::new(rules);
        Self { scheduler, now: Instant::now(), waiting: Vec::new(), running: Vec::new(), ids: 0 }
    }

    /// Jobs and bytes of a priority, of one tenant or of all.
    fn held(&self, priority: Priority, tenant: Option<usize>) -> (usize, u64) {
        let is_meant = |job: &&Modelled| job.priority == priority && tenant.is_none_or(|of| job.tenant == of);
        let jobs = self.waiting.iter().filter(is_meant);
        jobs.fold((0, 0), |(jobs, bytes), job| (jobs + 1, bytes + job.bytes))
    }

    fn has_room(&self, new: &Modelled) -> bool {
        let (jobs, bytes) = self.held(new.priority, None);
        jobs < Self::LENGTH && (jobs == 0 || bytes + new.bytes <= Self::BYTES)
    }

    /// Who gives way next to a job, by looking at every one that waits.
    fn victim(&self, new: &Modelled) -> Option<usize> {
        let is_long = self.held(new.priority, None).0 >= Self::LENGTH;
        let by = |tenant: usize| {
            let (jobs, bytes) = self.held(new.priority, Some(tenant));
            if is_long { jobs as u64 } else { bytes }
        };
        let own = by(new.tenant) + if is_long { 0 } else { new.bytes };
        let most =
            (0..TENANTS.len()).max_by_key(|tenant| (by(*tenant), *tenant)).filter(|most| by(*most) > own)?;
        let of_most = self.waiting.iter().enumerate();
        let of_most = of_most.filter(|(_, job)| job.tenant == most && job.priority == new.priority);
        of_most.max_by_key(|(at, job)| (!job.is_shared, job.is_first, *at)).map(|(at, _)| at)
    }

    fn submit(&mut self, new: Modelled) {
        let ask = Ask {
            priority: new.priority,
            tenant: TENANTS[new.tenant].into(),
            bytes: new.bytes,
            is_limited: true,
            deadline: None,
            cancelled: Arc::clone(&new.flag),
            is_shared: Arc::new(AtomicBool::new(new.is_shared)),
        };
        let of_tenant = self.waiting.iter().chain(self.running.iter().map(|(_, job)| job));
        let of_tenant: Vec<&Modelled> = of_tenant.filter(|job| job.tenant == new.tenant).collect();
        let bytes: u64 = of_tenant.iter().map(|job| job.bytes).sum();
        let has_quota = of_tenant.len() < 6 && (of_tenant.is_empty() || bytes + new.bytes <= 120);

        let mut gone = Gone::default();
        let submitted = self.scheduler.submit(ask, new.id, self.now, &mut gone).map_err(|(turned, _)| turned);
        if !has_quota {
            assert!(matches!(submitted, Err(Turned::Quota(_))), "{submitted:?}");
            assert!(gone.displaced.is_empty() && gone.unwanted.is_empty());
            return;
        }
        if !self.has_room(&new) {
            self.drop_cancelled(&gone.unwanted);
        }
        let before = self.waiting.clone();
        let mut displaced = Vec::new();
        while !self.has_room(&new) {
            let Some(at) = self.victim(&new) else {
                assert_eq!((submitted, gone.displaced), (Err(Turned::Full), vec![]));
                self.waiting = before;
                return;
            };
            displaced.push(self.waiting.remove(at).id);
        }
        assert_eq!((submitted, gone.displaced), (Ok(()), displaced));
        self.waiting.push(new);
    }

    fn drop_cancelled(&mut self, dropped: &[usize]) {
        self.waiting.retain(|job| !job.flag.load(Ordering::Relaxed) || !dropped.contains(&job.id));
        assert!(self.waiting.iter().all(|job| !job.flag.load(Ordering::Relaxed)));
    }

    fn act(&mut self, action: &Action) {
        match *action {
            Action::Submit { tenant, is_prewarm, bytes, is_shared } => {
                self.ids += 1;
                let priority = if is_prewarm { Prewarm } else { Interactive };
                let flag = Arc::default();
                self.submit(Modelled {
                    id: self.ids,
                    tenant,
                    priority,
                    bytes,
                    is_first: true,
                    is_shared,
                    flag,
                });
            }
            Action::Start => {
                let mut dropped = Vec::new();
                let started = self.scheduler.next(self.now, &mut dropped);
                self.waiting.retain(|job| !dropped.contains(&job.id));
                if let Some(started) = started {
                    let at = self.waiting.iter().position(|job| job.id == started.job).unwrap();
                    self.running.push((started, self.waiting.remove(at)));
                }
            }
            Action::End { again } => {
                if self.running.is_empty() {
                    return;
                }
                let (mut started, mut job) = self.running.remove(0);
                self.now += MS;
                self.scheduler.ended(&mut started.ask, started.lane, MS, self.now);
                if again {
                    job.is_first = false;
                    job.priority = started.ask.priority;
                    self.scheduler.again(started.ask, started.job, self.now);
                    self.waiting.push(job);
                }
            }
            Action::Cancel(which) => {
                if !self.waiting.is_empty() {
                    let which = which % self.waiting.len();
                    self.waiting[which].flag.store(true, Ordering::Relaxed);
                }
            }
            Action::Promote(which) => {
                if !self.waiting.is_empty() {
                    let mut job = self.waiting.remove(which % self.waiting.len());
                    self.scheduler.promote(&job.flag);
                    if job.priority == Prewarm {
                        job.priority = Interactive;
                        self.waiting.push(job);
                    } else {
                        self.waiting.insert(which % (self.waiting.len() + 1), job);
                    }
                }
            }
        }
        self.compare();
    }

    fn compare(&self) {
        assert_eq!(self.scheduler.waiting(), self.waiting.len());
        for priority in [Interactive, Prewarm] {
            let Held { jobs, bytes } = self.scheduler.waiting[index(priority)];
            assert_eq!((jobs, bytes), self.held(priority, None));
        }
        for (tenant, name) in TENANTS.iter().enumerate() {
            let jobs = self.waiting.iter().chain(self.running.iter().map(|(_, job)| job));
            let jobs: Vec<&Modelled> = jobs.filter(|job| job.tenant == tenant).collect();
            let account =
                self.scheduler.accounts.get(&(*name).into()).map_or((0, 0), |of| (of.jobs, of.bytes));
            assert_eq!(account, (jobs.len(), jobs.iter().map(|job| job.bytes).sum()), "{name}");
        }
    }
}

proptest! {
    #[test]
    fn the_queue_does_what_a_plain_list_would(actions in prop::collection::vec(action(), 0..120)) {
        let mut machine = Machine::new();
        for action in &actions {
            machine.act(action);
        }
    }
}
