//! Objects as parameters in XML, as models write the arguments of tools.
//!
//! A style writes a member of the object as an opening text with the name, the value, and a closing text. What stands between them says in some
//! styles of what type the value is; so a member has several *ways*, each for the values of some types. Strings are written as their
//! characters, all other values as JSON; Cohere's style writes objects and arrays within as parameters again.

use gobo_automata::{CharSet, Expr, Language};
use gobo_types::{Budget, CompileError};

use crate::lower::container::Frame;
use crate::lower::rules::Form;
use crate::read::node::Types;

/// How the members of an object are written as parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// `<parameter=NAME>VALUE</parameter>`.
    Qwen,
    /// `<parameter name="NAME">VALUE</parameter>`.
    MiniMax,
    /// `<｜DSML｜parameter name="NAME" string="true">VALUE</｜DSML｜parameter>`, `"false"` for all values but strings.
    DeepSeek,
    /// The same with a space behind `｜DSML｜`.
    DeepSeekSpaced,
    /// `<arg_key>NAME</arg_key><arg_value>VALUE</arg_value>`.
    Glm,
    /// `<cofl:value name="NAME" type="TYPE">VALUE</cofl:value>`, where TYPE is `raw` for strings, `dict` and `list` for objects and arrays, and
    /// `json` for all other values.
    Cohere,
    /// `<|open|>argument key="NAME" type="TYPE"<|sep|>VALUE<|close|>argument<|sep|>`, where TYPE is the type of the value.
    Kimi,
}

/// The word of each style.
const WORDS: [(&str, Style); 7] = [
    ("qwen_xml", Style::Qwen),
    ("minimax_xml", Style::MiniMax),
    ("deepseek_xml", Style::DeepSeek),
    ("deepseek_v4_1_xml", Style::DeepSeekSpaced),
    ("glm_xml", Style::Glm),
    ("cohere_xml", Style::Cohere),
    ("kimi_k3_xml", Style::Kimi),
];

impl Style {
    /// The words of all styles.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.into_iter().map(|(word, _)| word)
    }

    /// The style of a word.
    ///
    /// ```
    /// use gobo_schema::Style;
    ///
    /// assert_eq!(Style::of("qwen_xml"), Some(Style::Qwen));
    /// assert_eq!(Style::of("json"), None);
    /// ```
    pub fn of(word: &str) -> Option<Self> {
        WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, style)| style)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        WORDS.into_iter().find(|(_, style)| *style == self).map_or("", |(word, _)| word)
    }

    /// The text after which a parameter has ended: no string has it.
    pub fn closing(self) -> &'static str {
        self.texts().close
    }

    fn texts(self) -> Texts {
        match self {
            Self::Qwen => QWEN,
            Self::MiniMax => MINIMAX,
            Self::DeepSeek => DEEPSEEK,
            Self::DeepSeekSpaced => DEEPSEEK_SPACED,
            Self::Glm => GLM,
            Self::Cohere => COHERE,
            Self::Kimi => KIMI,
        }
    }

    /// Whether whitespace may stand around strings that a schema constrains. Others hold it themselves.
    fn has_blanks_around_strings(self) -> bool {
        !matches!(self, Self::DeepSeek | Self::DeepSeekSpaced)
    }
}

/// The texts of a style.
struct Texts {
    /// Before the name.
    open: &'static str,
    /// Before the type of an item of an array, in styles that write items as parameters too.
    item: Option<&'static str>,
    /// Between name and value, for the values of some types; whitespace may stand between the parts.
    ways: &'static [(Types, &'static [&'static str])],
    close: &'static str,
    /// How characters of a name are written.
    escapes: &'static [(char, &'static str)],
    /// A character that no name has.
    ends_name: Option<char>,
}

const NO_STRING: Types = Types::ALL.but(Types::STRING);
const SCALARS: Types = NO_STRING.but(Types::OBJECT).but(Types::ARRAY);

const QWEN: Texts = Texts {
    open: "<parameter=",
    item: None,
    ways: &[(Types::ALL, &[">"])],
    close: "</parameter>",
    escapes: &[],
    ends_name: Some('>'),
};

const MINIMAX: Texts =
    Texts { open: "<parameter name=\"", ways: &[(Types::ALL, &["\">"])], ends_name: Some('"'), ..QWEN };

const GLM: Texts = Texts {
    open: "<arg_key>",
    ways: &[(Types::ALL, &["</arg_key>", "<arg_value>"])],
    close: "</arg_value>",
    ends_name: Some('<'),
    ..QWEN
};

const DEEPSEEK: Texts = Texts {
    open: "<｜DSML｜parameter name=\"",
    ways: &[(Types::STRING, &["\" string=\"true\">"]), (NO_STRING, &["\" string=\"false\">"])],
    close: "</｜DSML｜parameter>",
    ..MINIMAX
};

const DEEPSEEK_SPACED: Texts =
    Texts { open: "<｜DSML｜ parameter name=\"", close: "</｜DSML｜ parameter>", ..DEEPSEEK };

const COHERE: Texts = Texts {
    open: "<cofl:value name=\"",
    item: Some("<cofl:value"),
    ways: &[
        (Types::STRING, &[" type=\"raw\">"]),
        (SCALARS, &[" type=\"json\">"]),
        (Types::OBJECT, &[" type=\"dict\">"]),
        (Types::ARRAY, &[" type=\"list\">"]),
    ],
    close: "</cofl:value>",
    escapes: &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")],
    ends_name: None,
};

const KIMI: Texts = Texts {
    open: "<|open|>argument key=\"",
    item: None,
    ways: &[
        (Types::STRING, &["\" type=\"string\"<|sep|>"]),
        (Types::NUMBER, &["\" type=\"number\"<|sep|>"]),
        (Types::BOOL, &["\" type=\"boolean\"<|sep|>"]),
        (Types::NULL, &["\" type=\"null\"<|sep|>"]),
        (Types::OBJECT, &["\" type=\"object\"<|sep|>"]),
        (Types::ARRAY, &["\" type=\"array\"<|sep|>"]),
    ],
    close: "<|close|>argument<|sep|>",
    escapes: &[('&', "&amp;"), ('"', "&quot;")],
    ends_name: None,
};

/// A style with its texts written for a grammar.
pub(crate) struct Marks {
    pub(crate) style: Style,
    open: Expr,
    item: Option<Expr>,
    ways: Vec<(Types, Vec<Expr>)>,
    close: Expr,
}

impl Marks {
    /// The texts of a style, as `write` writes them.
    ///
    /// # Errors
    /// Those of `write`.
    pub(crate) fn new(
        style: Style,
        write: &mut dyn FnMut(&str) -> Result<Expr, CompileError>,
    ) -> Result<Self, CompileError> {
        let texts = style.texts();
        let mut marks = Self {
            style,
            open: write(texts.open)?.shared(),
            item: texts.item.map(&mut *write).transpose()?.map(Expr::shared),
            ways: Vec::with_capacity(texts.ways.len()),
            close: write(texts.close)?.shared(),
        };
        for &(types, parts) in texts.ways {
            let parts = parts.iter().map(|part| Ok(write(part)?.shared()));
            marks.ways.push((types, parts.collect::<Result<_, CompileError>>()?));
        }
        Ok(marks)
    }
}

/// How parameters are written.
pub(crate) struct Parameters {
    marks: Marks,
    texts: Texts,
    /// What may stand beside marks.
    blanks: Expr,
}

impl Parameters {
    pub(crate) fn new(marks: Marks, blanks: Expr) -> Self {
        let texts = marks.style.texts();
        Self { marks, texts, blanks: blanks.shared() }
    }

    /// What stands around the members of an object.
    pub(crate) fn members(&self) -> Frame {
        self.frame(self.blanks.clone())
    }

    /// What stands around the items of an array.
    pub(crate) fn items(&self) -> Frame {
        self.frame(Expr::text(""))
    }

    fn frame(&self, between: Expr) -> Frame {
        let blanks = || self.blanks.clone();
        Frame { open: Expr::text(""), empty: blanks(), first: blanks(), between, close: blanks() }
    }

    /// The ways to write a value, and the form of what stands within.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (usize, Form)> + use<> {
        let ways: Vec<Types> = self.marks.ways.iter().map(|way| way.0).collect();
        let is_nested = self.texts.item.is_some();
        ways.into_iter().enumerate().map(move |(at, types)| match types {
            Types::OBJECT if is_nested => (at, Form::Members),
            Types::ARRAY if is_nested => (at, Form::Items),
            types => (at, Form::Bare(types)),
        })
    }

    /// A value behind the name of a member, or behind [`Self::item`], written in a way of [`Self::ways`].
    pub(crate) fn value(&self, way: usize, value: Expr) -> Expr {
        let mut all = Vec::new();
        for (at, part) in self.marks.ways[way].1.iter().enumerate() {
            if at > 0 {
                all.push(self.blanks.clone());
            }
            all.push(part.clone());
        }
        all.extend([value, self.marks.close.clone()]);
        Expr::Concat(all)
    }

    /// An item whose value is written behind it.
    pub(crate) fn item(&self, value: Expr) -> Expr {
        Expr::Concat(vec![self.marks.item.clone().unwrap_or_else(|| Expr::text("")), value])
    }

    /// Texts of values that are no objects or arrays of parameters, with whitespace where it may stand.
    pub(crate) fn bare(&self, strings: Option<Expr>, others: Expr) -> Expr {
        let around = |expr: Expr| Expr::Concat(vec![self.blanks.clone(), expr, self.blanks.clone()]);
        match strings {
            None => around(others),
            Some(strings) if self.marks.style.has_blanks_around_strings() => {
                around(Expr::Alternate(vec![strings, others]))
            }
            Some(strings) => Expr::Alternate(vec![strings, around(others)]),
        }
    }

    /// A member's beginning with its name; `None` for a name that cannot be written.
    pub(crate) fn name(&self, name: &str) -> Option<Expr> {
        if name.is_empty() || self.texts.ends_name.is_some_and(|end| name.contains(end)) {
            return None;
        }
        let mut text = String::new();
        for char in name.chars() {
            match self.texts.escapes.iter().find(|escape| escape.0 == char) {
                Some(escape) => text.push_str(escape.1),
                None => text.push(char),
            }
        }
        Some(self.named(Expr::text(text)))
    }

    /// A member's beginning with one of some names. Those that the schema says nothing of are identifiers, but in styles that can write
    /// all names.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn names(
        &self,
        names: &Language,
        is_free: bool,
        budget: &Budget,
    ) -> Result<Expr, CompileError> {
        let letters = [('A', 'Z'), ('_', '_'), ('a', 'z')];
        let written = if is_free && self.marks.style != Style::Cohere {
            let later = Expr::chars(letters.into_iter().chain([('0', '9')]));
            Expr::Concat(vec![Expr::chars(letters), later.repeat(0, None)])
        } else {
            let ends = self.texts.ends_name.unwrap_or('\0');
            Expr::Chars(CharSet::new([(ends, ends)]).complement()).repeat(1, None)
        };
        let names = names.intersection(&Language::expr(&written, budget)?, budget)?;
        Ok(self.named(names.to_expr(|chars| self.escaped(chars), budget)?))
    }

    fn named(&self, name: Expr) -> Expr {
        let quote = if self.texts.item.is_some() { "\"" } else { "" };
        Expr::Concat(vec![self.marks.open.clone(), name, Expr::text(quote)])
    }

    /// Characters of a name, as they are written.
    fn escaped(&self, chars: &CharSet) -> Expr {
        let escapes = self.texts.escapes.iter().filter(|escape| chars.has(escape.0));
        let mut ways: Vec<Expr> = escapes.map(|escape| Expr::text(escape.1)).collect();
        let escaped = CharSet::new(self.texts.escapes.iter().map(|escape| (escape.0, escape.0)));
        ways.push(Expr::Chars(chars.without(&escaped)));
        Expr::Alternate(ways)
    }
}
