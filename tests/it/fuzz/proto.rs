//! Messages of the wire: requests as the daemon reads them, replies as a client does.

use gobo_proto::{decoding_cost, v1};
use gobo_types::{Constraint, OverBudget, Refusal, Report, SchemaOptions};
use prost::Message;

use super::fuzz;

fn request(constraint: &Constraint) -> Vec<u8> {
    let by = Some(v1::vocabulary_ref::By::Name("tiny".to_owned()));
    let vocabulary = Some(v1::VocabularyRef { by });
    v1::ResolveRequest { vocabulary, constraint: Some(constraint.into()), limits: None }.encode_to_vec()
}

#[test]
fn requests() {
    let seeds = [
        Constraint::regex("a+"),
        Constraint::search("b"),
        Constraint::choice(["a", "b"]),
        Constraint::gbnf("root ::= \"a\"", "root"),
        Constraint::schema(r#"{"type":"null"}"#, SchemaOptions::default()),
    ];
    fuzz("requests", seeds.iter().map(request).collect(), &["root", "{}", "compact"], |input| {
        let is_affordable = decoding_cost(input).is_ok();
        let _ = v1::ResolveBatchRequest::decode(input);
        let _ = v1::CheckRequest::decode(input);
        let Ok(request) = v1::ResolveRequest::decode(input) else { return false };
        let Some(Ok(constraint)) = request.constraint.map(Constraint::try_from) else { return false };
        let again = Constraint::try_from(v1::Constraint::from(&constraint));
        assert_eq!(again.as_ref().ok(), Some(&constraint), "a constraint is the same after a round trip");
        is_affordable
    });
}

#[test]
fn replies() {
    use v1::resolve_reply::Outcome;

    let location =
        v1::IndexLocation { key: vec![7; 32].into(), path: "/a".to_owned(), ..v1::IndexLocation::default() };
    let refusal = v1::Refusal { reason: "no".to_owned(), ..v1::Refusal::default() };
    let over = v1::OverBudget { given: 7, ..v1::OverBudget::default() };
    let outcomes = [Outcome::Index(location), Outcome::Refused(refusal), Outcome::OverBudget(over)];
    let seeds = outcomes.map(|outcome| v1::ResolveReply { outcome: Some(outcome) }.encode_to_vec());
    fuzz("replies", seeds.to_vec(), &["/a"], |input| {
        let _ = v1::FetchReply::decode(input);
        let _ = v1::StatusReply::decode(input);
        let _ = v1::DescribeReply::decode(input).map(|reply| reply.report.map(Report::from));
        match v1::ResolveReply::decode(input).map(|reply| reply.outcome) {
            Ok(Some(Outcome::Index(_))) => true,
            Ok(Some(Outcome::Refused(refusal))) => Refusal::try_from(refusal).is_ok(),
            Ok(Some(Outcome::OverBudget(over))) => OverBudget::try_from(over).is_ok(),
            _ => false,
        }
    });
}
