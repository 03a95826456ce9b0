//! Publishes, opens and catalogues artifact files
