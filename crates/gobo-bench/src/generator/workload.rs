//! Workloads: schemas as applications write them, and hostile constraints, all generated from one number.
//!
//! The same number (`nonce`) gives the same constraints, so that a run can be repeated; two numbers share none, so that neither an
//! index nor a cached verdict of another run answers a call.
use std::fmt::Write;

use gobo_types::{Constraint, SchemaOptions};

/// Types that the schemas of one application share.
const TYPES: [(&str, &str); 12] = [
    ("id", r#"{"type":"string","format":"uuid"}"#),
    ("date", r#"{"type":"string","format":"date"}"#),
    ("name", r#"{"type":"string","minLength":1,"maxLength":64}"#),
    ("text", r#"{"type":"string"}"#),
    ("count", r#"{"type":"integer","minimum":0,"maximum":9999}"#),
    ("share", r#"{"type":"number","minimum":0,"maximum":1}"#),
    ("flag", r#"{"type":"boolean"}"#),
    ("currency", r#"{"enum":["CHF","EUR","GBP","JPY","USD"]}"#),
    ("code", r#"{"type":"string","pattern":"^[A-Z]{2}[0-9]{4}$"}"#),
    ("tags", r#"{"type":"array","items":{"type":"string","maxLength":20},"maxItems":5}"#),
    (
        "money",
        r##"{"type":"object","properties":{"amount":{"type":"number"},"currency":{"$ref":"#/$defs/currency"}},"required":["amount","currency"],"additionalProperties":false}"##,
    ),
    (
        "person",
        r##"{"type":"object","properties":{"id":{"$ref":"#/$defs/id"},"name":{"$ref":"#/$defs/name"},"born":{"$ref":"#/$defs/date"}},"required":["id","name"],"additionalProperties":false}"##,
    ),
];

/// A family of constraints that no other number generates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workload {
    nonce: u64,
}

impl Workload {
    pub(crate) fn new(nonce: u64) -> Self {
        Self { nonce }
    }

    /// The text of the nth schema of a sort: an object of three to eight properties of the shared types, one of which has a name
    /// of its own.
    pub(crate) fn text(self, sort: &str, nth: u64) -> String {
        let mut random = self.random(sort, nth);
        let members = random.usize(3..=8);
        self.object(sort, nth, members, &mut random)
    }

    /// A schema of at least this many bytes.
    pub(crate) fn text_of(self, bytes: usize) -> String {
        let mut members = 8;
        loop {
            let text = self.object("long", 0, members, &mut self.random("long", 0));
            if text.len() >= bytes {
                return text;
            }
            members += 1;
        }
    }

    /// The nth schema of a sort.
    pub(crate) fn schema(self, sort: &str, nth: u64) -> Constraint {
        Constraint::schema(&self.text(sort, nth), SchemaOptions::default())
    }

    /// The nth hostile constraint: too many states, nested too deep, too long, or with too many items.
    pub(crate) fn hostile(self, nth: u64) -> Constraint {
        // The mark makes each constraint new: a cached verdict would hide its cost.
        let mark = format!("h{:x}x{nth}", self.nonce);
        let schema = |text: String| Constraint::schema(&text, SchemaOptions::default());
        match nth % HOSTILE {
            0 => Constraint::regex(format!("[ab]*a[ab]{{13}}|{mark}")),
            1 => Constraint::regex(format!("{}{mark}{}", "(".repeat(60_000), ")".repeat(60_000))),
            2 => schema(nested(100, &mark)),
            3 => Constraint::regex(format!(r"(\w+\s?){{1,50}}|{mark}")),
            4 => Constraint::regex(format!(r"(?i)[\w\p{{L}}]{{0,500}}|{mark}")),
            5 => schema(format!(
                r#"{{"type":"object","properties":{{"{mark}":{{"type":"string","pattern":"^(a|ab|abc)*$","maxLength":2000000000}}}}}}"#
            )),
            6 => {
                let mut random = self.random("enum", nth);
                let items: Vec<String> = (0..50_000).map(|at| format!("{:x}-{at}", random.u64(..))).collect();
                Constraint::choice(items)
            }
            _ => Constraint::regex(format!("(.*a.*b.*c.*d.*e.*f.*g.*h){{1,9}}|{mark}")),
        }
    }

    fn random(self, sort: &str, nth: u64) -> fastrand::Rng {
        let sort = sort.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        fastrand::Rng::with_seed(self.nonce ^ sort.rotate_left(32) ^ nth.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn object(self, sort: &str, nth: u64, members: usize, random: &mut fastrand::Rng) -> String {
        let mut text = String::from(r#"{"type":"object","properties":{"#);
        let own = format!("{sort}_{:x}_{nth}", self.nonce);
        let _ = write!(text, r#""{own}":{{"type":"integer"}}"#);
        for member in 0..members {
            let (name, _) = TYPES[random.usize(..TYPES.len())];
            let _ = write!(text, r##","{name}_{member}":{{"$ref":"#/$defs/{name}"}}"##);
        }
        let _ = write!(text, r#"}},"required":["{own}"],"additionalProperties":false,"$defs":{{"#);
        for (at, (name, definition)) in TYPES.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(text, r#"{comma}"{name}":{definition}"#);
        }
        text + "}}"
    }
}

/// Number of sorts of hostile constraints.
const HOSTILE: u64 = 8;

/// `oneOf` nested in `oneOf`.
fn nested(depth: usize, mark: &str) -> String {
    let open = r#"{"oneOf":[{"type":"array","items":{"type":"string","maxLength":9}},"#;
    format!(r#"{}{{"const":"{mark}"}}{}"#, open.repeat(depth), "]}".repeat(depth))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use gobo_artifact::Vocabulary;
    use gobo_types::{Budget, CompileLimits};
    use gobo_worker::compile_constraint;

    use super::*;

    #[test]
    fn schemas_are_json_all_different_and_the_same_for_the_same_number() {
        let workload = Workload::new(7);
        let texts: HashSet<String> = (0..200).map(|nth| workload.text("some", nth)).collect();
        assert_eq!(texts.len(), 200);
        assert!(texts.iter().all(|text| serde_json::from_str::<serde_json::Value>(text).is_ok()));
        assert_eq!(workload.text("some", 3), Workload::new(7).text("some", 3));
        assert_ne!(workload.text("some", 3), Workload::new(8).text("some", 3));
        assert_ne!(workload.text("some", 3), workload.text("other", 3));
        let long = workload.text_of(4096);
        assert!((4096..4200).contains(&long.len()), "{}", long.len());
    }

    #[test]
    fn every_schema_compiles() {
        let imported = gobo_tokenizer::builtin("r50k_base").unwrap();
        let vocabulary = Vocabulary::from_bytes(&imported.table.build().unwrap()).unwrap();
        for nth in 0..4 {
            let constraint = Workload::new(7).schema("some", nth);
            let budget = Budget::new(CompileLimits::default());
            compile_constraint(&vocabulary, &constraint, 1, &budget).unwrap();
        }
        let digests: HashSet<_> =
            (0..HOSTILE * 2).map(|nth| Workload::new(7).hostile(nth).digest()).collect();
        assert_eq!(digests.len() as u64, HOSTILE * 2);
    }
}
