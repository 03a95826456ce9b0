//! Blocks of indented lines, in the words of Lark's `Indenter`: after a newline outside of brackets, its last blanks say whether a block
//! begins or some end.

/// How newlines become blocks.
#[derive(Debug, Clone)]
pub struct Blocks {
    /// The terminal of newlines.
    pub newline: String,
    /// Blanks for each level: texts with other lines are not the grammar's.
    pub by: usize,
    /// Most levels.
    pub depth: usize,
}

/// What has been read of lines.
#[derive(Debug)]
pub(super) struct Indenter<'a> {
    blocks: &'a Blocks,
    /// The columns of the lines around, the outermost first.
    columns: Vec<usize>,
    open_brackets: usize,
}

impl<'a> Indenter<'a> {
    pub(super) fn new(blocks: &'a Blocks) -> Self {
        Self { blocks, columns: vec![0], open_brackets: 0 }
    }

    /// The terminals that the parser reads for a lexeme; `None` if there are none.
    pub(super) fn read<'n>(&mut self, name: &'n str, lexeme: &[char]) -> Option<Vec<&'n str>> {
        if name != self.blocks.newline {
            match lexeme {
                ['(' | '[' | '{'] => self.open_brackets += 1,
                [')' | ']' | '}'] => self.open_brackets = self.open_brackets.checked_sub(1)?,
                _ => {}
            }
            return Some(vec![name]);
        }
        if self.open_brackets > 0 {
            return Some(Vec::new());
        }
        let feed = lexeme.iter().rposition(|char| *char == '\n')?;
        let mut column = 0;
        for char in &lexeme[feed + 1..] {
            column += match char {
                ' ' => 1,
                '\t' => 8,
                _ => return None,
            };
        }
        let mut read = vec![name];
        if column > self.columns[self.columns.len() - 1] {
            if column != self.blocks.by * self.columns.len() || self.columns.len() > self.blocks.depth {
                return None;
            }
            self.columns.push(column);
            read.push("_INDENT");
        }
        while column < self.columns[self.columns.len() - 1] {
            self.columns.pop();
            read.push("_DEDENT");
        }
        (column == self.columns[self.columns.len() - 1]).then_some(read)
    }

    /// The terminals at the end of the text.
    pub(super) fn end(self) -> Vec<&'static str> {
        vec!["_DEDENT"; self.columns.len() - 1]
    }
}
