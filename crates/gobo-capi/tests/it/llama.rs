//! The sampler for llama.cpp, built against its header, in a chain of its library.
//!
//! `GOBO_LLAMA` names a folder with `include/llama.h` and the shared libraries of the same release in `lib`; `.ci/llama-library`
//! makes one.

use std::path::PathBuf;

use crate::c_programs::{Language, Linked, build, run};
use crate::fixture::Fixture;

#[test]
#[ignore = "needs GOBO_LLAMA, a folder that .ci/llama-library makes"]
fn the_sampler_keeps_a_greedy_chain_within_the_constraint() {
    let llama = PathBuf::from(std::env::var_os("GOBO_LLAMA").expect("GOBO_LLAMA is set"));
    let lib = llama.join("lib");
    // Its name has the release in it.
    let mut names =
        std::fs::read_dir(&lib).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let library = names.find(|name| name.starts_with("libllama.")).expect("lib/libllama.*");
    // Warnings of that header are not ours to mend.
    let more = [
        "-isystem".to_owned(),
        llama.join("include").display().to_string(),
        format!("-L{}", lib.display()),
        format!("-l:{library}"),
        format!("-Wl,-rpath,{0},-rpath-link,{0}", lib.display()),
        "-lm".to_owned(),
    ];
    let fixture = Fixture::new(|_| true);
    for language in Language::BOTH {
        let program = fixture.root().join("llama_sampler");
        if build("examples/llama_sampler.c", language, Linked::Shared, &more, &program).is_none() {
            continue;
        }
        let mut ended = 0;
        for case in &fixture.cases {
            let output = run(&program, &fixture, &[case.json().to_str().unwrap()], b"");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{}: {said}", case.id);
            let text = output.stdout.strip_suffix(b"\ncloned, refused, reset\n").expect("the last line");
            let mut matcher = fixture.matcher(&case.constraint);
            if let Some(text) = text.strip_suffix(b"\nended") {
                matcher.advance_bytes(text).unwrap();
                assert!(matcher.is_complete(), "{}: {}", case.id, text.escape_ascii());
                ended += 1;
            } else {
                let text = text.strip_suffix(b"\nnot ended").expect("the line before");
                matcher.advance_bytes(text).unwrap();
            }
        }
        assert!(ended * 2 > fixture.cases.len(), "{ended} of {} texts have ended", fixture.cases.len());
    }
}
