//! The pages in a browser, driven from the keyboard: `GOBO_BROWSER` names a folder that `.ci/browser` makes.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Pages, TOKENIZER};
use crate::gobo::one;

#[test]
#[ignore = "needs GOBO_BROWSER, a folder that .ci/browser makes"]
fn a_person_with_a_keyboard_finds_out_why() {
    let browser = PathBuf::from(std::env::var_os("GOBO_BROWSER").expect("GOBO_BROWSER is set"));
    let pages = Pages::start(&[]);
    one(pages.home.path(), 2, &["get", "--tokenizer", TOKENIZER, "--regex", "("]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/page/browser.mjs");
    let output = Command::new("node")
        .arg(script)
        .args([&browser, &browser.join("screenshots")])
        .arg(format!("http://{}", pages.address))
        .arg(TOKENIZER)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("4 pages without a finding"), "{said}");
}
