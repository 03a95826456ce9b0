//! Finds an index on this host, else asks the daemon, and hands out matchers
