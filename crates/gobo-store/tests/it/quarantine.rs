//! Quarantine is kept for study, and not for ever.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gobo_store::{Quarantine, Trimmed};

use crate::fixture::{index, key_of, plant, quarantined, store};

const DAY: Duration = Duration::from_secs(24 * 3600);

#[test]
fn the_oldest_go_first_and_their_notes_with_them() {
    let (_folder, store) = store();
    for constraint in ["a", "b"] {
        plant(&store.index_path(&key_of(constraint)), b"damaged");
        assert!(store.open_index(&key_of(constraint)).unwrap().is_none());
        // Names tell the millisecond.
        std::thread::sleep(Duration::from_millis(2));
    }
    // A catalog of an earlier day, and what somebody put there.
    let catalog = store.quarantine_path().join("catalog-86400000-1-0.unusable");
    plant(&catalog.join("below/db"), &[0; 5000]);
    plant(&store.quarantine_path().join("catalog-86400000-1-0.unusable.txt"), b"why");
    plant(&store.quarantine_path().join("README"), b"hands off");
    assert_eq!((quarantined(&store).len(), store.quarantined()), (7, 2));

    let bounds = Quarantine::default();
    let at = UNIX_EPOCH + DAY;
    let early = store.trim_quarantine(&bounds, at, true).unwrap();
    assert_eq!((early.removed, early.left), (0, 4), "what comes from the future is as old as nothing");
    let seen = store.trim_quarantine(&bounds, at + 40 * DAY, false).unwrap();
    assert_eq!((seen.removed, seen.removed_bytes, seen.left), (1, 5003, 3));
    assert!(catalog.exists(), "only said");
    assert_eq!(store.trim_quarantine(&bounds, at + 40 * DAY, true).unwrap(), seen);
    assert!(!catalog.exists());
    assert_eq!(quarantined(&store).len(), 5);

    let few = Quarantine { max_bytes: seen.left_bytes - 1, ..bounds };
    let trimmed = store.trim_quarantine(&few, SystemTime::now(), true).unwrap();
    assert_eq!((trimmed.removed, trimmed.left), (1, 2));
    assert!(
        quarantined(&store).iter().any(|name| name.starts_with(&key_of("b").to_string())),
        "the younger stays"
    );
    let nothing = Quarantine { max_bytes: 0, ..bounds };
    assert_eq!(store.trim_quarantine(&nothing, SystemTime::now(), true).unwrap().left, 0);
    assert!(quarantined(&store).is_empty());
    fs::remove_dir(store.quarantine_path()).unwrap();
    assert_eq!(store.trim_quarantine(&bounds, SystemTime::now(), true).unwrap(), Trimmed::default());
    let (key, bytes) = index("a");
    store.publish_index(&key, &bytes).unwrap();
}
