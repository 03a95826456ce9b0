//! A process as Linux shows it in `/proc` (proc(5)): memory, processor time, descriptors, children.
//!
//! Memory is in bytes, time in the clock ticks of the system (10 ms). A page that several processes map counts in full for each
//! as *resident*, in parts for each as *proportional* (`Pss`), and for none as *private*.
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    /// All pages that are mapped and present, shared ones included.
    pub(crate) resident: u64,
    /// Pages that no other process shares: those that its end frees.
    pub(crate) private: u64,
    /// Each page divided by the number of processes that map it: this measure adds up over processes.
    pub(crate) proportional: u64,
}

impl Memory {
    /// Of this process.
    pub(crate) fn own() -> anyhow::Result<Self> {
        Self::read(Path::new("/proc/self/smaps_rollup"))
    }

    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
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
        let memory = Self {
            resident: sum(&["Rss"]),
            private: sum(&["Private_Clean", "Private_Dirty"]),
            proportional: sum(&["Pss"]),
        };
        ensure!(memory.resident > 0, "{} says nothing of memory", path.display());
        Ok(memory)
    }
}

/// As [`Memory::resident`], but from `statm`, at no cost to the process; `None` if it has ended.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * u64::try_from(rustix::param::page_size()).ok()?)
}

/// Processor time that a process has used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessorTime {
    pub(crate) own: Duration,
    /// Time of its children that have ended and were waited for.
    pub(crate) ended_children: Duration,
}

impl ProcessorTime {
    /// `None` if the process has ended.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let stat = stat(pid)?;
        // Counted from the state, the third field of proc_pid_stat(5).
        let mut ticks = stat.split_whitespace().skip(11).map_while(|field| field.parse::<u64>().ok());
        let mut next =
            || Some(Duration::from_millis(ticks.next()? * 1000 / rustix::param::clock_ticks_per_second()));
        Some(Self { own: next()? + next()?, ended_children: next()? + next()? })
    }
}

/// Number of open descriptors of a process.
pub(crate) fn descriptors(pid: u32) -> anyhow::Result<usize> {
    let folder = format!("/proc/{pid}/fd");
    Ok(fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))?.count())
}

/// A process that another one has started. The system gives its number again to a later process or thread, which is another one: within
/// an hour of restarts most numbers come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Child {
    pub(crate) pid: u32,
    /// Clock ticks from the start of the system to its own.
    began: u64,
}

impl Child {
    /// Whether it has not ended yet.
    pub(crate) fn lives(self) -> bool {
        Kin::of(self.pid).is_some_and(|now| now.began == self.began)
    }
}

/// The child processes of a process, ascending. One that ends meanwhile may be missing.
pub(crate) fn children(pid: u32) -> anyhow::Result<Vec<Child>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").context("cannot read /proc")? {
        let name = entry?.file_name();
        let Some(child) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if let Some(kin) = Kin::of(child).filter(|kin| kin.parent == pid) {
            children.push(Child { pid: child, began: kin.began });
        }
    }
    children.sort_unstable();
    Ok(children)
}

/// Where a process comes from.
struct Kin {
    parent: u32,
    began: u64,
}

impl Kin {
    /// `None` if the process has ended.
    fn of(pid: u32) -> Option<Self> {
        let stat = stat(pid)?;
        // Fields 3, 4 and 22 of proc_pid_stat(5).
        let mut fields = stat.split_whitespace();
        if fields.next()? == "Z" {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        Some(Self { parent, began: fields.nth(17)?.parse().ok()? })
    }
}

/// The fields of `/proc/PID/stat` from the state on. The field before them is the name in parentheses, which may hold any
/// character.
fn stat(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_until_it_ends() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_number = |pid| move |child: &Child| child.pid == pid;
        let found = children(own).unwrap().into_iter().find(of_number(child.id())).unwrap();
        assert!(found.lives());
        assert!(!Child { began: found.began - 1, ..found }.lives(), "another one with its number");
        assert!(Memory::of(own).unwrap().private > 0 && descriptors(own).unwrap() > 2);
        let memory = Memory::of(own).unwrap();
        assert!(
            memory.proportional >= memory.private && memory.proportional <= memory.resident,
            "{memory:?}"
        );
        assert!(resident(own).unwrap() > 0 && resident(child.id()).unwrap() > 0);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(resident(child.id()).is_none() && ProcessorTime::of(child.id()).is_none());
        assert!(!children(own).unwrap().iter().any(of_number(child.id())) && !found.lives());
        assert!(Memory::of(child.id()).is_err());
    }

    #[test]
    fn processor_time_grows_with_work_and_counts_children_that_ended() {
        let own = std::process::id();
        let before = ProcessorTime::of(own).unwrap();
        let mut sum = 0_u64;
        while ProcessorTime::of(own).unwrap().own == before.own {
            sum = (0..1_000_000).fold(sum, |sum, number| sum ^ std::hint::black_box(number));
        }
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "n=0; while [ $n -lt 200000 ]; do n=$((n + 1)); done"]);
        assert!(shell.status().unwrap().success());
        assert!(ProcessorTime::of(own).unwrap().ended_children > before.ended_children, "{sum}");
    }
}
