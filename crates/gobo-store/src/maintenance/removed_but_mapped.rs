//! Counts removed files that still take room because processes have them mapped.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

use crate::Store;
use crate::directory::layout::{is_fan_out, parse_index};

/// A file without a name: its device as `maps` writes it, and its inode.
type Nameless = (String, u64);

impl Store {
    /// Bytes of removed indices of this store that living processes still have mapped, in whole pages; each file counts once,
    /// however many processes map it. The room is free again when they unmap it. Only processes that this one may inspect
    /// are seen: those of its own user, or all for root. O(maps of all processes), some milliseconds for each
    /// thousand processes; 0 where there is no `/proc`.
    pub fn removed_but_mapped_bytes(&self) -> u64 {
        self.removed_but_mapped(Path::new("/proc"))
    }

    fn removed_but_mapped(&self, proc: &Path) -> u64 {
        let Ok(device) = fs::metadata(self.root()).map(|root| root.dev()) else { return 0 };
        let device = format!("{:02x}:{:02x}", major(device), minor(device));
        let mut found: HashMap<Nameless, u64> = HashMap::new();
        for process in fs::read_dir(proc).into_iter().flatten().flatten() {
            if process.file_name().to_str().is_none_or(|name| name.parse::<u32>().is_err()) {
                continue;
            }
            // The process may have ended, or belong to another user.
            let Ok(maps) = fs::read(process.path().join("maps")) else { continue };
            for line in String::from_utf8_lossy(&maps).lines() {
                if let Some((file, bytes)) = self.removed(line, &device) {
                    let most = found.entry(file).or_default();
                    *most = bytes.max(*most);
                }
            }
        }
        found.values().sum()
    }

    /// `begin-end rights offset device inode  path (deleted)`: the file, and how far into it this map reaches.
    fn removed(&self, line: &str, device: &str) -> Option<(Nameless, u64)> {
        let path = line.strip_suffix(" (deleted)")?;
        let path = Path::new(&path[path.find('/')?..]);
        let mut parts = line.split_ascii_whitespace();
        let (begin, end) = parts.next()?.split_once('-')?;
        let offset = parts.nth(1)?;
        let (on, inode) = (parts.next()?, parts.next()?.parse().ok()?);
        // In a container the store may have another path, and on some file systems a map another device.
        let is_ours = path.starts_with(self.layout().indices()) || on == device;
        if !is_ours || !is_index(path) {
            return None;
        }
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let length = hex(end)?.checked_sub(hex(begin)?)?;
        Some(((on.to_owned(), inode), hex(offset)?.checked_add(length)?))
    }
}

/// Whether a path ends as those of indices do: `index/ab/<key>.gobo`.
fn is_index(path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1).map(Path::file_name);
    let two = folders.next().flatten().is_some_and(is_fan_out);
    let index = folders.next().flatten().is_some_and(|name| name == "index");
    two && index
        && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| parse_index(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_removed_file_counts_once_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let root = store.root().display();
        let key = "ab".repeat(32);
        let index = format!("{root}/v0/index/ab/{key}.gobo");
        let one = format!(
            "7f0000000000-7f0000001000 r--s 00000000 00:99 11                         {index} (deleted)\n\
             7f0000001000-7f0000003000 r--s 00001000 00:99 11                         {index} (deleted)\n\
             7f0000100000-7f0000109000 r--s 00000000 00:99 12                         {index}\n\
             7f0000200000-7f0000209000 r--s 00000000 00:99 13    /elsewhere/v0/index/ab/{key}.gobo (deleted)\n\
             7f0000300000-7f0000309000 rw-s 00000000 00:01 14                         /dev/zero (deleted)\n\
             7f0000400000-7f0000409000 rw-p 00000000 00:00 0 \n"
        );
        let two = one.replace(" 11 ", " 15 ");
        for (process, maps) in [("1", &one), ("2", &one), ("3", &two), ("self", &two)] {
            fs::create_dir_all(folder.path().join("proc").join(process)).unwrap();
            fs::write(folder.path().join("proc").join(process).join("maps"), maps).unwrap();
        }
        fs::create_dir_all(folder.path().join("proc/4")).unwrap();
        assert_eq!(store.removed_but_mapped(&folder.path().join("proc")), 2 * 0x3000);
        assert_eq!(store.removed_but_mapped(Path::new("/nowhere")), 0);
    }
}
