//! Grammars of files, and the grammars that they import.
use std::path::Path;

use anyhow::bail;
use gobo_grammar::lark::imported;
use gobo_types::{Constraint, Dialect, GrammarDocument, Indentation, Lexer};

use super::given::Given;
use super::text::read_text;
use crate::diagnostics::Written;
use crate::options::GrammarArgs;

/// Most grammars that one grammar imports from a folder, directly or not.
const MAX_IMPORTS: usize = 256;

/// How grammars are read that say nothing else, among constraints of several kinds.
#[derive(Debug, Clone, Copy, Default)]
pub struct GrammarDefaults {
    /// How they are written.
    pub dialect: Option<Dialect>,
    /// How the texts of those with lexemes are split into lexemes.
    pub lexer: Option<Lexer>,
}

impl GrammarDefaults {
    /// The lexer of a grammar in this dialect; dialects without lexemes have none.
    pub fn lexer_of(self, dialect: Dialect) -> Option<Lexer> {
        self.lexer.filter(|_| dialect.has_lexemes())
    }

    /// The grammar of a file. The ending of its name says how it is written before the defaults do.
    ///
    /// # Errors
    /// If neither says it, or the file cannot be read or is no UTF-8.
    pub fn file(self, file: &Path) -> anyhow::Result<Given> {
        let dialect = dialect_of_name(file).or(self.dialect);
        let lexer = dialect.and_then(|dialect| self.lexer_of(dialect));
        grammar_file(file, dialect, None, &GrammarArgs { lexer, ..GrammarArgs::default() })
    }
}

/// What the ending of a file's name says of the grammar in it.
fn dialect_of_name(file: &Path) -> Option<Dialect> {
    let ending = file.extension()?.to_str()?;
    Dialect::ALL.into_iter().find(|dialect| dialect.name() == ending)
}

/// The grammar of a file; where no dialect is given, the ending of its name says how it is written.
///
/// # Errors
/// If the ending names no dialect, a file cannot be read or is no UTF-8, or an import has no file in the folder of imports.
pub fn grammar_file(
    file: &Path,
    dialect: Option<Dialect>,
    start: Option<&str>,
    options: &GrammarArgs,
) -> anyhow::Result<Given> {
    let Some(dialect) = dialect.or_else(|| dialect_of_name(file)) else {
        bail!(
            "{}: the name ends with none of .{}\nhint: say how it is written with --dialect",
            file.display(),
            Dialect::ALL.map(Dialect::name).join(", .")
        );
    };
    let text = read_text(file)?;
    let documents = match &options.import_dir {
        Some(_) if dialect != Dialect::Lark => bail!("a grammar in {} imports nothing", dialect.name()),
        Some(folder) => imports(&text, folder)?,
        None => Vec::new(),
    };
    let start = start.unwrap_or_else(|| dialect.default_start());
    let lexer = match options.lexer_look_ahead {
        Some(look_ahead) => {
            let lexer = options.lexer.or_else(|| dialect.default_lexer(&text));
            match lexer.filter(|lexer| lexer.look_ahead().is_some()) {
                Some(lexer) => Some(lexer.looking_ahead(look_ahead)),
                None => bail!("--lexer-look-ahead is of the lexers contextual and basic"),
            }
        }
        None => options.lexer,
    };
    let (by, depth) = (options.indent_by, options.indent_depth);
    let is_indented = by.is_some() || depth.is_some();
    let lexer_of_text = || lexer.or_else(|| dialect.default_lexer(&text));
    if is_indented && lexer_of_text().and_then(Lexer::look_ahead).is_none() {
        bail!("--indent-by and --indent-depth are of the lexers contextual and basic");
    }
    let Some(indentation) = Indentation::default().overwritten(by, depth) else {
        bail!("--indent-by and --indent-depth are out of bounds");
    };
    let constraint =
        Constraint::grammar(dialect, text.clone(), start, lexer, documents).indented(indentation);
    Ok(Given { constraint, written: Written::file(file, text) })
}

/// The grammars of a folder that a grammar imports, and those that they import. Names that the folder lacks are left to the reader:
/// they may be built in.
fn imports(grammar: &str, folder: &Path) -> anyhow::Result<Vec<GrammarDocument>> {
    let mut documents: Vec<GrammarDocument> = Vec::new();
    let mut names = imported(grammar, "");
    while let Some(name) = names.pop() {
        let file = folder.join(format!("{name}.lark"));
        if documents.iter().any(|document| document.name == name) || !file.is_file() {
            continue;
        }
        if documents.len() == MAX_IMPORTS {
            bail!("more than {MAX_IMPORTS} grammars are imported");
        }
        let text = read_text(&file)?;
        names.extend(imported(&text, &name));
        documents.push(GrammarDocument { name, text });
    }
    Ok(documents)
}
