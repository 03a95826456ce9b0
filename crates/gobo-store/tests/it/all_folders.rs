//! A store with all that a store can have.

use std::path::Path;

use gobo_store::Store;

use crate::fixture::{index, vocabulary};

/// Makes every folder that a store can have.
pub(crate) fn use_all_of_it(root: &Path) {
    let store = Store::open(root).unwrap();
    store.prepare().unwrap();
    let (key, bytes) = index("a");
    store.publish_index(&key, &bytes).unwrap();
    store.publish_vocabulary(&vocabulary().0, &vocabulary().1).unwrap();
    store.pin(&key).unwrap();
    #[cfg(feature = "catalog")]
    drop(gobo_store::Catalog::open(&store).unwrap());
}
