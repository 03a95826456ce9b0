//! Keywords for numbers and strings (JSON Schema 2020-12, Validation, sections 6.2, 6.3 and 7).

use gobo_types::{CompileError, Draft, FormatMode, SchemaOptions};

use super::reader::Reader;
use crate::advice::MULTIPLE_OF;
use crate::formats::{Asked, format, inexact, longest};
use crate::read::decimal::Modulus;
use crate::read::node::Keyword;
use crate::read::value::Json;

/// Reads a keyword for numbers or strings; `false` if it is none.
pub(super) fn read(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<bool, CompileError> {
    use Draft::Draft4;
    let draft = reader.draft();
    match keyword {
        "minimum" | "maximum" => {
            let limit = reader.number(keyword)?;
            let is_lower = keyword == "minimum";
            let exclusive = if is_lower { "exclusiveMinimum" } else { "exclusiveMaximum" };
            let is_exclusive = draft == Draft4 && reader.value(exclusive) == Some(&Json::Bool(true));
            reader.push(keyword, Keyword::Bound { limit, is_lower, is_exclusive });
        }
        "exclusiveMinimum" | "exclusiveMaximum" if draft == Draft4 => match reader.value(keyword) {
            Some(Json::Bool(_)) => {}
            _ => return Err(reader.malformed(keyword, "a boolean in draft 4")),
        },
        "exclusiveMinimum" | "exclusiveMaximum" => {
            let limit = reader.number(keyword)?;
            reader.push(
                keyword,
                Keyword::Bound { limit, is_lower: keyword == "exclusiveMinimum", is_exclusive: true },
            );
        }
        "multipleOf" => {
            let divisor = reader.number(keyword)?;
            if divisor.is_zero() || divisor.negative {
                return Err(reader.malformed(keyword, "a number above 0"));
            }
            let modulus = Modulus::of(&divisor).ok_or_else(|| {
                let reason = format!("its digits are more than {}, the largest divisor", Modulus::MAX);
                reader.unsupported(keyword, reason).advising(MULTIPLE_OF)
            })?;
            reader.push(keyword, Keyword::MultipleOf(modulus));
        }
        "minLength" => {
            let min = reader.count(keyword)?;
            reader.push(keyword, Keyword::Length { min, max: None });
        }
        "maxLength" => {
            let max = reader.count(keyword)?;
            reader.push(keyword, Keyword::Length { min: 0, max: Some(max) });
        }
        "pattern" => {
            let Some(Json::String(pattern)) = reader.value(keyword) else {
                return Err(reader.malformed(keyword, "a string"));
            };
            let pattern = pattern.clone();
            let text = reader.pattern(&[keyword], &pattern)?;
            reader.push(keyword, Keyword::Text(text));
        }
        "format" => format_keyword(reader)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn format_keyword(reader: &mut Reader<'_, '_>) -> Result<(), CompileError> {
    let Some(Json::String(name)) = reader.value("format") else {
        return Err(reader.malformed("format", "a string"));
    };
    let name = name.clone();
    if reader.nodes.options.format == FormatMode::Annotate {
        reader.annotation("format", "an annotation, as asked");
        return Ok(());
    }
    let SchemaOptions { allow_widening, date_times, .. } = *reader.nodes.options;
    let asked = Asked { name: &name, draft: reader.draft(), allow_widening, date_times };
    let key = format!("{} {name}", asked.draft);
    let mut parts = None;
    let text = reader.nodes.intern_text("format", &key, |budget| {
        let format = format(asked, budget)?;
        Ok(format.map(|format| {
            parts = format.parts;
            format.language
        }))
    });
    match text {
        Ok(Some(text)) => {
            if let Some(parts) = parts {
                reader.nodes.set_parts(text, parts);
            }
            let entry = |why: &str| reader.entry("format", format!("{name}: {why}"));
            let (narrowed, widened) = inexact(asked);
            let (narrowed, widened) = (narrowed.map(entry), widened.map(entry));
            reader.nodes.entries.narrowed.extend(narrowed);
            reader.nodes.entries.widened.extend(widened);
            reader.push("format", Keyword::Text(text));
            if let Some(longest) = longest(asked) {
                reader.push_beside(Keyword::Length { min: 0, max: Some(longest.into()) });
            }
            Ok(())
        }
        Ok(None) => {
            reader.annotation("format", &format!("{name:?} is no format of the standard"));
            Ok(())
        }
        Err(CompileError::Refused(refusal)) => {
            let error = reader.unsupported("format", format!("format {name:?}: {}", refusal.reason));
            Err(error.advising(refusal.help.to_string()))
        }
        Err(other) => Err(other),
    }
}
