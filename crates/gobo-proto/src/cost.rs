//! The memory that a request takes once it is decoded, computed before it is decoded.
//!
//! One pass over the wire format counts the repeated fields that cost memory. Cost: O(fields), without an allocation.

use prost::encoding::{WireType, decode_key, decode_varint};

/// Most constraints of one batch.
pub const MAX_CONSTRAINTS: usize = 1 << 14;

/// Most documents beside the schemas of one request: those of a whole batch, whose schemas often name the same ones.
pub const MAX_DOCUMENTS: usize = 1 << 16;

/// Most bytes that a decoded request may take: 64 MiB. An item of two bytes takes many times as much once it is decoded, so
/// the length of a message says little.
pub const MAX_DECODED_BYTES: u64 = 64 << 20;

/// Why a request is not decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// Bytes that are no message.
    #[error("the request is no message of its kind")]
    Unreadable,
    /// Too many items of a kind.
    #[error("the request has more than {limit} {what}; send them in several requests")]
    TooMany {
        /// The kind, in the plural.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// It would take too much memory.
    #[error(
        "the request takes more than {limit} bytes once it is decoded; send several, with fewer items each"
    )]
    TooCostly {
        /// The limit in bytes.
        limit: u64,
    },
}

/// A message or field, reduced to the parts that cost memory.
struct Shape {
    /// Memory of one, without the bytes of its texts: as a message and as a type of `gobo-types`.
    bytes: u64,
    /// The number of its counter, its name in the plural, and its limit.
    counted: Option<(usize, &'static str, usize)>,
    /// Its fields that cost memory, by their numbers in the proto file.
    fields: &'static [(u32, &'static Shape)],
}

static ITEM: Shape = Shape { bytes: 64, counted: None, fields: &[] };
static CHOICE: Shape = Shape { bytes: 0, counted: None, fields: &[(1, &ITEM)] };
static REGEX: Shape = Shape { bytes: 0, counted: None, fields: &[(4, &ITEM), (5, &ITEM)] };
static DOCUMENT: Shape = Shape { bytes: 512, counted: Some((0, "documents", MAX_DOCUMENTS)), fields: &[] };
static SCHEMA: Shape = Shape { bytes: 0, counted: None, fields: &[(9, &DOCUMENT)] };
static GRAMMAR: Shape = Shape { bytes: 0, counted: None, fields: &[(5, &DOCUMENT)] };
static TAG: Shape = Shape { bytes: 0, counted: None, fields: &[(3, &SCHEMA)] };
static CONSTRAINT: Shape = Shape {
    bytes: 512,
    counted: Some((1, "constraints", MAX_CONSTRAINTS)),
    fields: &[(1, &REGEX), (2, &CHOICE), (3, &GRAMMAR), (5, &SCHEMA), (6, &TAG)],
};
/// `ResolveRequest`, `CheckRequest` and `ResolveBatchRequest` alike: constraints are their field 2.
static REQUEST: Shape = Shape { bytes: 0, counted: None, fields: &[(2, &CONSTRAINT)] };

/// Bytes of memory that a `ResolveRequest`, `CheckRequest` or `ResolveBatchRequest` takes once it is decoded, itself included:
/// an upper bound up to the allocator's rounding. O(fields), without an allocation.
///
/// # Errors
/// [`CostError`] for a request that must not be decoded.
pub fn decoding_cost(request: &[u8]) -> Result<u64, CostError> {
    let mut cost = Cost { bytes: request.len() as u64 * 2, counts: [0; 2] };
    cost.add(&REQUEST, request)?;
    Ok(cost.bytes)
}

struct Cost {
    bytes: u64,
    counts: [usize; 2],
}

impl Cost {
    /// Counts the fields of `message`. The recursion is as deep as the shapes; fields that cost nothing are skipped.
    fn add(&mut self, shape: &Shape, mut message: &[u8]) -> Result<(), CostError> {
        while !message.is_empty() {
            let (number, wire_type) = decode_key(&mut message).map_err(|_| CostError::Unreadable)?;
            let length = match wire_type {
                WireType::Varint => decode_varint(&mut message).map(|_| 0),
                WireType::SixtyFourBit => Ok(8),
                WireType::ThirtyTwoBit => Ok(4),
                WireType::LengthDelimited => decode_varint(&mut message),
                // No message of this version has a group, and what skips one may call itself.
                WireType::StartGroup | WireType::EndGroup => return Err(CostError::Unreadable),
            };
            let length = length.ok().and_then(|length| usize::try_from(length).ok());
            let length = length.filter(|length| *length <= message.len()).ok_or(CostError::Unreadable)?;
            let (value, rest) = message.split_at(length);
            message = rest;
            let field = shape.fields.iter().find(|(field, _)| *field == number);
            if let Some((_, field)) = field.filter(|_| wire_type == WireType::LengthDelimited) {
                self.count(field)?;
                if !field.fields.is_empty() {
                    self.add(field, value)?;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, shape: &Shape) -> Result<(), CostError> {
        self.bytes += shape.bytes;
        if self.bytes > MAX_DECODED_BYTES {
            return Err(CostError::TooCostly { limit: MAX_DECODED_BYTES });
        }
        if let Some((which, what, limit)) = shape.counted {
            self.counts[which] += 1;
            if self.counts[which] > limit {
                return Err(CostError::TooMany { what, limit });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::v1;

    fn batch(constraints: Vec<v1::Constraint>) -> Vec<u8> {
        v1::ResolveBatchRequest { constraints, ..Default::default() }.encode_to_vec()
    }

    fn of(source: v1::constraint::Source) -> Vec<v1::Constraint> {
        vec![v1::Constraint { source: Some(source), ..Default::default() }]
    }

    fn schema(documents: usize) -> Vec<v1::Constraint> {
        let documents = vec![v1::SchemaDocument::default(); documents];
        of(v1::constraint::Source::Schema(v1::Schema { documents, ..Default::default() }))
    }

    fn choice(items: usize) -> Vec<v1::Constraint> {
        of(v1::constraint::Source::Choice(v1::Choice { items: vec![String::new(); items] }))
    }

    #[test]
    fn items_are_counted_wherever_they_stand() {
        let empty = |count| batch(vec![v1::Constraint::default(); count]);
        let too_many = |what, limit| Err(CostError::TooMany { what, limit });
        assert!(decoding_cost(&empty(MAX_CONSTRAINTS)).unwrap() > 512 * MAX_CONSTRAINTS as u64);
        assert_eq!(decoding_cost(&empty(MAX_CONSTRAINTS + 1)), too_many("constraints", MAX_CONSTRAINTS));
        assert_eq!(decoding_cost(&empty(7 << 20)), too_many("constraints", MAX_CONSTRAINTS));
        assert!(decoding_cost(&batch(schema(MAX_DOCUMENTS))).is_ok());
        assert_eq!(decoding_cost(&batch(schema(MAX_DOCUMENTS + 1))), too_many("documents", MAX_DOCUMENTS));
        // Half of them in one schema, half in the next.
        let halves = [schema(MAX_DOCUMENTS / 2 + 1), schema(MAX_DOCUMENTS / 2)].concat();
        assert_eq!(decoding_cost(&batch(halves)), too_many("documents", MAX_DOCUMENTS));
        assert!(decoding_cost(&batch(choice(500_000))).is_ok());
        // Texts are texts, whatever they would be as messages.
        let items = vec!["yes".to_owned(), "\u{b}\u{c}".to_owned()];
        assert!(decoding_cost(&batch(of(v1::constraint::Source::Choice(v1::Choice { items })))).is_ok());
        let documents = vec![v1::SchemaDocument { uri: "a".into(), document: "{}".into() }];
        let schema = v1::Schema { schema: "{}".into(), documents, ..Default::default() };
        assert!(decoding_cost(&batch(of(v1::constraint::Source::Schema(schema)))).is_ok());
        let costly = Err(CostError::TooCostly { limit: MAX_DECODED_BYTES });
        let regex = v1::Regex { not: vec![String::new(); 1 << 20], ..v1::Regex::default() };
        assert_eq!(decoding_cost(&batch(of(v1::constraint::Source::Regex(regex)))), costly);
        assert_eq!(decoding_cost(&batch(choice(1 << 20))), costly);
        // A list that comes in parts is put together.
        assert_eq!(decoding_cost(&[batch(choice(1 << 19)), batch(choice(1 << 19))].concat()), costly);
    }

    #[test]
    fn a_request_with_long_texts_costs_its_length_twice() {
        let source = v1::constraint::Source::Regex(v1::Regex {
            pattern: "a".repeat(15 << 20),
            ..v1::Regex::default()
        });
        let constraint = of(source).pop();
        let request = v1::ResolveRequest { constraint, ..Default::default() }.encode_to_vec();
        let cost = decoding_cost(&request).unwrap();
        assert!((30 << 20..31 << 20).contains(&cost), "{cost}");
    }

    #[test]
    fn what_is_no_message_is_unreadable_and_so_it_is_to_the_decoder() {
        for bytes in [
            &b"\xff"[..],
            b"\x12\x05a",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x0b\x0c",
            b"\x12\x03\x12\x02\x0a",
        ] {
            assert_eq!(decoding_cost(bytes), Err(CostError::Unreadable), "{bytes:?}");
        }
        // Fields of a newer peer are passed over.
        assert_eq!(decoding_cost(b"\xf8\x07\x01\xf2\x07\x01a\xf5\x07....\xf1\x07........"), Ok(46));
    }
}
