//! What the system says of a process.
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

/// The memory that a process has, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    /// All that is mapped and present, shared pages included.
    pub(super) resident: u64,
    /// What no other process shares: what is given back when it ends.
    pub(super) private: u64,
}

impl Memory {
    /// Of this process.
    pub(super) fn own() -> anyhow::Result<Self> {
        Self::read(Path::new("/proc/self/smaps_rollup"))
    }

    pub(super) fn of(pid: u32) -> anyhow::Result<Self> {
        Self::read(Path::new(&format!("/proc/{pid}/smaps_rollup")))
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let sum = |fields: &[&str]| -> u64 {
            let values = text.lines().filter_map(|line| {
                let (name, value) = line.split_once(':')?;
                fields.contains(&name).then(|| value.trim().trim_end_matches(" kB").parse::<u64>().ok())?
            });
            values.sum::<u64>() * 1024
        };
        let memory = Self { resident: sum(&["Rss"]), private: sum(&["Private_Clean", "Private_Dirty"]) };
        ensure!(memory.resident > 0, "{} says nothing of memory", path.display());
        Ok(memory)
    }
}

/// Number of open descriptors of a process.
pub(super) fn descriptors(pid: u32) -> anyhow::Result<usize> {
    let folder = format!("/proc/{pid}/fd");
    Ok(fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))?.count())
}

/// The child processes of a process, ascending. One that ends meanwhile may be missing.
pub(super) fn children(pid: u32) -> anyhow::Result<Vec<u32>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").context("cannot read /proc")? {
        let name = entry?.file_name();
        let Some(child) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if parent(child) == Some(pid) {
            children.push(child);
        }
    }
    children.sort_unstable();
    Ok(children)
}

/// Whether a process exists and runs this program.
pub(super) fn runs(pid: u32, program: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|found| found == program)
}

/// The parent of a process; `None` if it has ended.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in brackets, and may hold anything; behind it stand the state and the parent.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_until_it_ends() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children(own).unwrap().contains(&child.id()));
        assert!(runs(own, &std::env::current_exe().unwrap()) && !runs(own, Path::new("/bin/sleep")));
        assert!(Memory::of(own).unwrap().private > 0 && descriptors(own).unwrap() > 2);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children(own).unwrap().contains(&child.id()));
        assert!(Memory::of(child.id()).is_err());
    }
}
