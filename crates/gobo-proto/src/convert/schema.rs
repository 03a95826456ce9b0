//! A schema with its options, and its message.

use gobo_types::{
    Constraint, DateTimes, Draft, FormatMode, Notation, PropertyOrder, SchemaDialect, SchemaDocument,
    SchemaOptions, Spelling, Whitespace,
};

use super::error::ConvertError;
use super::fields::{number_form, number_form_message, whitespace};
use crate::v1;

/// The message of a schema. Every option is named, so that a peer with other defaults reads the same.
pub(super) fn message(schema: &str, options: &SchemaOptions) -> v1::Schema {
    let SchemaOptions {
        draft,
        dialect,
        order,
        notation,
        whitespace,
        spelling,
        numbers,
        format,
        date_times,
        closed,
        max_depth,
        documents,
        allow_widening,
    } = options;
    let draft = match draft {
        None => v1::Draft::Unspecified,
        Some(Draft::Draft4) => v1::Draft::Draft4,
        Some(Draft::Draft6) => v1::Draft::Draft6,
        Some(Draft::Draft7) => v1::Draft::Draft7,
        Some(Draft::Draft201909) => v1::Draft::Draft201909,
        Some(Draft::Draft202012) => v1::Draft::Draft202012,
    };
    let dialect = match dialect {
        SchemaDialect::JsonSchema => v1::SchemaDialect::JsonSchema,
        SchemaDialect::OpenApi30 => v1::SchemaDialect::Openapi30,
    };
    let date_times = match date_times {
        DateTimes::Rfc3339 => v1::DateTimes::Rfc3339,
        DateTimes::Naive => v1::DateTimes::Naive,
    };
    let order = match order {
        PropertyOrder::Declared => v1::PropertyOrder::Declared,
        PropertyOrder::Any => v1::PropertyOrder::Any,
    };
    let notation = match notation {
        Notation::Json => v1::Notation::Json,
        Notation::Yaml => v1::Notation::Yaml,
    };
    let spelling = match spelling {
        Spelling::Canonical => v1::Spelling::Canonical,
        Spelling::Any => v1::Spelling::Any,
    };
    let format = match format {
        FormatMode::Assert => v1::FormatMode::Assert,
        FormatMode::Annotate => v1::FormatMode::Annotate,
    };
    let documents = documents
        .iter()
        .map(|of| v1::SchemaDocument { uri: of.uri.clone(), document: of.document.clone() })
        .collect();
    v1::Schema {
        schema: schema.to_owned(),
        draft: draft.into(),
        order: order.into(),
        whitespace: whitespace.to_string(),
        spelling: spelling.into(),
        numbers: number_form_message(*numbers).into(),
        format: format.into(),
        closed: *closed,
        max_depth: *max_depth,
        documents,
        allow_widening: *allow_widening,
        dialect: dialect.into(),
        date_times: date_times.into(),
        notation: notation.into(),
    }
}

/// The constraint of a message.
///
/// # Errors
/// [`ConvertError::Unknown`] for an option of a newer peer; [`ConvertError::Malformed`] for an unreadable whitespace policy,
/// and for a depth beyond the limit.
pub(super) fn constraint(mut message: v1::Schema) -> Result<Constraint, ConvertError> {
    let schema = std::mem::take(&mut message.schema);
    Ok(Constraint::schema(&schema, options(message)?))
}

/// The options of a message.
///
/// # Errors
/// As for [`constraint`].
pub(super) fn options(message: v1::Schema) -> Result<SchemaOptions, ConvertError> {
    let unknown =
        |field| move |error: prost::UnknownEnumValue| ConvertError::Unknown { field, found: error.0 };
    let draft = match v1::Draft::try_from(message.draft).map_err(unknown("constraint.schema.draft"))? {
        v1::Draft::Unspecified => None,
        v1::Draft::Draft4 => Some(Draft::Draft4),
        v1::Draft::Draft6 => Some(Draft::Draft6),
        v1::Draft::Draft7 => Some(Draft::Draft7),
        v1::Draft::Draft201909 => Some(Draft::Draft201909),
        v1::Draft::Draft202012 => Some(Draft::Draft202012),
    };
    let order = v1::PropertyOrder::try_from(message.order).map_err(unknown("constraint.schema.order"))?;
    let order = match order {
        v1::PropertyOrder::Unspecified => PropertyOrder::default(),
        v1::PropertyOrder::Declared => PropertyOrder::Declared,
        v1::PropertyOrder::Any => PropertyOrder::Any,
    };
    let spelling = v1::Spelling::try_from(message.spelling).map_err(unknown("constraint.schema.spelling"))?;
    let spelling = match spelling {
        v1::Spelling::Unspecified => Spelling::default(),
        v1::Spelling::Canonical => Spelling::Canonical,
        v1::Spelling::Any => Spelling::Any,
    };
    let notation = v1::Notation::try_from(message.notation).map_err(unknown("constraint.schema.notation"))?;
    let notation = match notation {
        v1::Notation::Unspecified => Notation::default(),
        v1::Notation::Json => Notation::Json,
        v1::Notation::Yaml => Notation::Yaml,
    };
    let format = v1::FormatMode::try_from(message.format).map_err(unknown("constraint.schema.format"))?;
    let format = match format {
        v1::FormatMode::Unspecified => FormatMode::default(),
        v1::FormatMode::Assert => FormatMode::Assert,
        v1::FormatMode::Annotate => FormatMode::Annotate,
    };
    let dialect =
        v1::SchemaDialect::try_from(message.dialect).map_err(unknown("constraint.schema.dialect"))?;
    let dialect = match dialect {
        v1::SchemaDialect::Unspecified => SchemaDialect::default(),
        v1::SchemaDialect::JsonSchema => SchemaDialect::JsonSchema,
        v1::SchemaDialect::Openapi30 => SchemaDialect::OpenApi30,
    };
    let date_times =
        v1::DateTimes::try_from(message.date_times).map_err(unknown("constraint.schema.date_times"))?;
    let date_times = match date_times {
        v1::DateTimes::Unspecified => DateTimes::default(),
        v1::DateTimes::Rfc3339 => DateTimes::Rfc3339,
        v1::DateTimes::Naive => DateTimes::Naive,
    };
    if let Some(depth) = message.max_depth.filter(|depth| *depth > SchemaOptions::MAX_DEPTH) {
        let reason = format!("{depth} is more than {}", SchemaOptions::MAX_DEPTH);
        return Err(ConvertError::Malformed { field: "constraint.schema.max_depth", reason });
    }
    let whitespace: Whitespace = whitespace("constraint.schema.whitespace", &message.whitespace)?;
    let documents = message
        .documents
        .into_iter()
        .map(|of| SchemaDocument { uri: of.uri, document: of.document })
        .collect();
    Ok(SchemaOptions {
        draft,
        dialect,
        order,
        notation,
        whitespace,
        spelling,
        numbers: number_form("constraint.schema.numbers", message.numbers)?,
        format,
        date_times,
        closed: message.closed,
        max_depth: message.max_depth,
        documents,
        allow_widening: message.allow_widening,
    })
}

#[cfg(test)]
mod tests {
    use gobo_types::NumberForm;

    use super::*;

    fn sent(options: &SchemaOptions) -> v1::Schema {
        message(r#"{"b":1,"a":1.0}"#, options)
    }

    #[test]
    fn a_schema_is_read_as_it_was_sent() {
        let drafts = [Draft::Draft4, Draft::Draft6, Draft::Draft7, Draft::Draft201909, Draft::Draft202012];
        let documents = vec![SchemaDocument { uri: "a".into(), document: "{}".into() }];
        let mut all = vec![
            SchemaOptions::default(),
            SchemaOptions { order: PropertyOrder::Any, ..Default::default() },
            SchemaOptions { whitespace: Whitespace::Flexible { max: 3 }, ..Default::default() },
            SchemaOptions { spelling: Spelling::Any, ..Default::default() },
            SchemaOptions { notation: Notation::Yaml, ..Default::default() },
            SchemaOptions { numbers: NumberForm::Json, ..Default::default() },
            SchemaOptions { format: FormatMode::Annotate, ..Default::default() },
            SchemaOptions { dialect: SchemaDialect::OpenApi30, ..Default::default() },
            SchemaOptions { date_times: DateTimes::Naive, ..Default::default() },
            SchemaOptions { closed: true, ..Default::default() },
            SchemaOptions { max_depth: Some(0), ..Default::default() },
            SchemaOptions { max_depth: Some(SchemaOptions::MAX_DEPTH), ..Default::default() },
            SchemaOptions { documents, ..Default::default() },
            SchemaOptions { allow_widening: true, ..Default::default() },
        ];
        all.extend(drafts.map(|draft| SchemaOptions { draft: Some(draft), ..Default::default() }));
        for options in all {
            let given = Constraint::schema(r#"{"b":1,"a":1.0}"#, options);
            assert_eq!(Constraint::try_from(v1::Constraint::from(&given)), Ok(given));
        }
    }

    #[test]
    fn a_missing_option_is_the_default() {
        let message = v1::Schema { schema: " { } ".into(), ..Default::default() };
        assert_eq!(constraint(message), Ok(Constraint::schema("{}", SchemaOptions::default())));
    }

    #[test]
    fn nothing_is_guessed() {
        let changes: [fn(&mut v1::Schema); 8] = [
            |message| message.draft = 9,
            |message| message.order = 9,
            |message| message.spelling = 9,
            |message| message.numbers = 9,
            |message| message.format = 9,
            |message| message.dialect = 9,
            |message| message.date_times = 9,
            |message| message.notation = 9,
        ];
        for change in changes {
            let mut newer = sent(&SchemaOptions::default());
            change(&mut newer);
            assert!(matches!(constraint(newer), Err(ConvertError::Unknown { found: 9, .. })));
        }
        let deep = SchemaOptions { max_depth: Some(SchemaOptions::MAX_DEPTH + 1), ..Default::default() };
        let mut blank = sent(&SchemaOptions::default());
        blank.whitespace = "some".into();
        for message in [sent(&deep), blank] {
            assert!(matches!(constraint(message), Err(ConvertError::Malformed { .. })));
        }
    }
}
