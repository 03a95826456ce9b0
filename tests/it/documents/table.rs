//! Tables of the documentation that tests make again.

use super::root;

/// Compares a table with the one between two marks of a document; with `UPDATE` it is written there.
pub(crate) fn stands_in(document: &str, mark: &str, module: &str, table: &str) {
    let open = format!("<!-- {mark}: made by tests/it/{module}.rs -->\n");
    let close = format!("<!-- /{mark} -->");
    let path = root().join(document);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&open).expect("the table's place");
    let (_, after) = rest.split_once(&close).expect("the table's end");
    let expected = format!("{before}{open}{table}{close}{after}");
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, &expected).unwrap();
    }
    let filter = module.replace('/', "::");
    assert_eq!(
        text, expected,
        "`UPDATE=1 cargo test --workspace --test it -- --ignored {filter}` writes the table"
    );
}
