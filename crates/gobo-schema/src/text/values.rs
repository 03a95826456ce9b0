//! The texts of one known value.

use gobo_automata::Expr;
use gobo_grammar::json::layout::Layout;
use gobo_grammar::json::strings::string_text;
use gobo_types::Spelling;

use crate::read::value::Json;
use crate::text::numbers::number_text;

/// How known values are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values {
    pub(crate) layout: Layout,
    pub(crate) spelling: Spelling,
    /// Whether integers have no decimal point.
    pub(crate) plain_integers: bool,
}

impl Values {
    /// The texts of one value at nesting depth `depth`, its properties in their order.
    pub(crate) fn text(self, value: &Json, depth: u32) -> Expr {
        let Self { layout, spelling, plain_integers } = self;
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
        match value {
            Json::Null => Expr::text("null"),
            Json::Bool(bool) => Expr::text(bool.to_string()),
            Json::Number(of) => number_text(of, plain_integers),
            Json::String(text) => string_text(text, spelling),
            Json::Array(items) => {
                list("[", items.iter().map(|item| self.text(item, depth + 1)).collect(), "]")
            }
            Json::Object(properties) => {
                let property = |(name, value): &(String, Json)| {
                    Expr::Concat(vec![
                        string_text(name, spelling),
                        layout.colon(),
                        self.text(value, depth + 1),
                    ])
                };
                list("{", properties.iter().map(property).collect(), "}")
            }
        }
    }
}
