//! The texts of one known value.

use gobo_automata::Expr;
use gobo_grammar::json::layout::Layout;
use gobo_grammar::json::strings::string_text;
use gobo_types::Spelling;

use crate::read::value::Json;
use crate::text::numbers::NumberTexts;

/// How known values are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values {
    pub(crate) layout: Layout,
    pub(crate) spelling: Spelling,
    pub(crate) numbers: NumberTexts,
}

impl Values {
    /// How values are written at a place that allows these alone.
    pub(crate) fn beside(self, values: &[Json]) -> Self {
        Self { numbers: self.numbers.beside(values.iter().filter_map(Json::as_number)), ..self }
    }

    /// The texts of one value at nesting depth `depth`, its properties in their order.
    pub(crate) fn text(self, value: &Json, depth: u32) -> Expr {
        let Self { layout, spelling, numbers } = self;
        let list = |open: &str, items: Vec<Expr>, close: &str| {
            if items.is_empty() {
                return Expr::Concat(vec![layout.open(open), Expr::text(close)]);
            }
            let mut parts = vec![layout.open(open), layout.first(depth)];
            for (at, item) in items.into_iter().enumerate() {
                if at > 0 {
                    parts.push(layout.between(depth));
                }
                parts.push(item);
            }
            parts.extend([layout.last(depth), Expr::text(close)]);
            Expr::Concat(parts)
        };
        let inside = |value: &Json| self.beside(std::slice::from_ref(value)).text(value, depth + 1);
        match value {
            Json::Null => Expr::text("null"),
            Json::Bool(bool) => Expr::text(bool.to_string()),
            Json::Number(of) => numbers.of(of),
            Json::String(text) => string_text(text, spelling),
            Json::Array(items) => list("[", items.iter().map(inside).collect(), "]"),
            Json::Object(properties) => {
                let property = |(name, value): &(String, Json)| {
                    Expr::Concat(vec![string_text(name, spelling), layout.colon(), inside(value)])
                };
                list("{", properties.iter().map(property).collect(), "}")
            }
        }
    }
}
