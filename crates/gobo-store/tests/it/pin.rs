//! Pins are plain files: they survive whatever else is lost.

use std::fs;

use gobo_store::Store;

use crate::fixture::{index, key_of, plant, store, temporary};

#[test]
fn pins_are_put_listed_and_taken_back_and_survive_the_index() {
    let (folder, store) = store();
    let (key, bytes) = index("a");
    assert!(store.pins().unwrap().is_empty() && !store.is_pinned(&key).unwrap());
    assert!(store.pin(&key).unwrap() && !store.pin(&key).unwrap());
    assert!(store.pin(&key_of("b")).unwrap());
    let mut both = vec![key, key_of("b")];
    both.sort_unstable();
    let again = Store::open(folder.path()).unwrap();
    assert_eq!(again.pins().unwrap(), both, "another process sees them");
    store.publish_index(&key, &bytes).unwrap();
    store.remove_index(&key).unwrap();
    assert!(again.is_pinned(&key).unwrap());
    assert!(again.unpin(&key).unwrap() && !again.unpin(&key).unwrap());
    assert_eq!(store.pins().unwrap(), [key_of("b")]);
}

#[test]
fn strangers_among_the_pins_are_passed_over_and_dead_ones_swept() {
    let (folder, store) = store();
    store.pin(&key_of("a")).unwrap();
    plant(&folder.path().join("v0/pins/README"), b"");
    // Process ids end at 2^22 on Linux.
    plant(&folder.path().join("v0/pins/.tmp-2000000000-abcdef"), b"");
    assert_eq!(store.pins().unwrap(), [key_of("a")]);
    assert_eq!(store.sweep().unwrap(), 1);
    assert!(temporary(&store).is_empty());
    fs::remove_dir_all(folder.path().join("v0/pins")).unwrap();
    assert!(store.pins().unwrap().is_empty() && !store.unpin(&key_of("a")).unwrap());
}
