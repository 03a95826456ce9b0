//! What a request tells of its steps, and that telling changes nothing.

use std::borrow::Cow;
use std::fs;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gobo_engine::{LookupOrder, Outcome, Priority, RemoteMode, Request, Step, Trace};
use gobo_types::{CompileError, Phase};

use crate::faulty::Faulty;
use crate::remote::{Host, same, tier, writer};

/// Keeps the steps of one request.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Step>>);

impl Trace for Kept {
    fn id(&self) -> &'static str {
        "kept"
    }

    fn parent(&self) -> String {
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()
    }

    fn step(&self, step: Step) {
        self.0.lock().unwrap().push(step);
    }

    fn note(&self, _: &'static str, _: Cow<'static, str>) {}
}

impl Kept {
    fn steps(&self) -> Vec<(&'static str, &'static str)> {
        self.0.lock().unwrap().iter().map(|step| (step.name, step.ended)).collect()
    }

    /// The steps, once there are so many: some end after the answer.
    fn once(&self, number: usize) -> Vec<(&'static str, &'static str)> {
        let begun = Instant::now();
        while self.steps().len() < number {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", self.steps());
            thread::sleep(Duration::from_millis(2));
        }
        self.steps()
    }
}

fn resolve(host: &Host, pattern: &str, priority: Priority) -> (Arc<Kept>, Outcome) {
    let kept = Arc::<Kept>::default();
    let trace = Some(Arc::clone(&kept) as Arc<dyn Trace>);
    let outcome = host.engine.resolve(Request { trace, priority, ..host.request(pattern) });
    (kept, outcome)
}

#[test]
fn a_request_tells_each_step_and_a_hit_has_none() {
    let bucket = Faulty::new();
    let (one, began) = (writer(&bucket), SystemTime::now());
    let (miss, outcome) = resolve(&one, "(ab)+c", Priority::Prewarm);
    let expected = [
        ("bucket", "absent"),
        ("queue", "run"),
        ("pass", "made"),
        ("publish", "published"),
        ("upload", "written"),
    ];
    assert_eq!(miss.once(5), expected);
    assert!(fs::read(outcome.unwrap().path).unwrap() == one.alone("(ab)+c"));
    for step in &*miss.0.lock().unwrap() {
        assert_eq!(step.key, one.key("(ab)+c"));
        assert!(
            step.begun + step.took <= SystemTime::now() + Duration::from_secs(1)
                && step.begun >= began - Duration::from_secs(1)
        );
        let phases: Vec<Phase> = step.phases.iter().map(|time| time.phase).collect();
        if step.name == "pass" {
            assert_eq!(phases, [Phase::Lower, Phase::Spell, Phase::Rows, Phase::LayOut, Phase::Write]);
            let last = step.phases.last().unwrap();
            assert!(last.after() + last.took() <= step.took + Duration::from_millis(1));
            assert_eq!(step.numbers[0], ("number", 1));
        } else {
            assert!(phases.is_empty());
        }
    }
    let (hit, outcome) = resolve(&one, "(ab)+c", Priority::Interactive);
    assert!(outcome.is_ok() && hit.steps().is_empty());

    let other = Host::open(tier(&bucket, RemoteMode::Read, LookupOrder::First), same);
    let (found, outcome) = resolve(&other, "(ab)+c", Priority::Prewarm);
    assert!(outcome.is_ok());
    assert_eq!(found.steps(), [("bucket", "index"), ("publish", "published")]);
}

#[test]
fn a_refusal_and_a_file_of_another_process_have_their_steps() {
    let bucket = Faulty::new();
    let one = writer(&bucket);
    let (refused, outcome) = resolve(&one, "(", Priority::Prewarm);
    assert!(matches!(outcome, Err(CompileError::Refused(_))));
    let steps = refused.once(4);
    assert_eq!(steps[2], ("pass", "refused"));
    let phases: Vec<Phase> = refused.0.lock().unwrap()[2].phases.iter().map(|time| time.phase).collect();
    assert_eq!(phases, [Phase::Lower, Phase::Diagnose]);

    let path = one.engine.store().index_path(&one.key("a+"));
    let pending = one.engine.store().begin_index(&one.key("a+")).unwrap();
    fs::write(pending.path(), one.alone("a+")).unwrap();
    pending.publish().unwrap();
    assert!(path.exists());
    let (adopted, outcome) = resolve(&one, "a+", Priority::Interactive);
    assert!(outcome.is_ok());
    assert_eq!(adopted.steps(), [("adopt", "index")]);
}

#[test]
fn who_joins_a_compile_is_told_that_it_waited() {
    let bucket = Faulty::new();
    let slow: Box<gobo_engine::CompileFn> = Box::new(|vocabulary, constraint, budget| {
        thread::sleep(Duration::from_millis(200));
        gobo_worker::compile_constraint(vocabulary, constraint, 1, budget)
    });
    let host = Host::compiling(tier(&bucket, RemoteMode::Read, LookupOrder::First), same, slow);
    let kept: Vec<Arc<Kept>> = (0..4).map(|_| Arc::default()).collect();
    let tickets: Vec<_> = kept
        .iter()
        .map(|kept| {
            let trace = Some(Arc::clone(kept) as Arc<dyn Trace>);
            host.engine.submit(Request { trace, ..host.request("a+b") })
        })
        .collect();
    for ticket in tickets {
        assert!(ticket.wait().is_ok());
    }
    assert_eq!(kept[0].once(4).last(), Some(&("publish", "published")));
    for joined in &kept[1..] {
        assert_eq!(joined.steps(), [("join", "done")]);
    }
    assert_eq!(host.compiles(), 1);
}
