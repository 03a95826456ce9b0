//! The file that says who may do what.

use gobo_server::{AccessEntry, AccessFile, Role, access_entry};

use super::fuzz;

#[test]
fn files_of_access() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.toml");
    let entry = AccessEntry { token: "t", name: "a", roles: &Role::ALL, tenant: Some("b") };
    let seeds = [
        access_entry(&entry),
        "[[certificate]]\nname = \"spiffe://a/b\"\nroles = [\"read\"]\ntenant = \"c\"\n".to_owned(),
        "[[process]]\nuser = 1000\nroles = [\"resolve\", \"read\"]\n[[process]]\ngroup = 7\nroles = []\n"
            .to_owned(),
        String::new(),
    ];
    let words = [
        "[[token]]",
        "[[process]]",
        "roles",
        "blake3",
        "\"*\"",
        "0x",
        "9223372036854775807",
        "'''",
        "\\u0000",
    ];
    let seeds = seeds.into_iter().map(String::into_bytes).collect();
    fuzz("files of access", seeds, &words, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        AccessFile(path.clone()).check().is_ok()
    });
}
