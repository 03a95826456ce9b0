//! Which file systems keep their data on another host.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor, statfs};

/// The magic numbers of network file systems (`statfs(2)`).
const NETWORK: [(u64, &str); 14] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x00c3_6400, "CephFS"),
    (0x1983_0326, "BeeGFS"),
    (0x2003_0528, "OrangeFS"),
    (0xaad7_aaea, "PanFS"),
];

/// The magic number of all FUSE file systems; only the mount table tells them apart.
const FUSE: u64 = 0x6573_5546;

/// Types of FUSE mounts whose bytes come from other hosts. Others, such as a container's overlay, are local.
const NETWORK_FUSE: [&str; 24] = [
    "fuse.alluxio-fuse",
    "fuse.blobfuse",
    "fuse.blobfuse2",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.curlftpfs",
    "fuse.cvmfs2",
    "fuse.davfs",
    "fuse.dfuse",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.goofys",
    "fuse.hdfs",
    "fuse.juicefs",
    "fuse.mfs",
    "fuse.mount-s3",
    "fuse.mountpoint-s3",
    "fuse.objectivefs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.seaweedfs",
    "fuse.smbnetfs",
    "fuse.sshfs",
    "fuse.weka",
];

/// The file system that holds a folder, as the system describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its number, `f_type` of `statfs(2)`.
    pub magic: u64,
    /// Its type in the mount table, where the number alone is ambiguous: `fuse.sshfs`.
    pub mount_type: Option<String>,
}

impl FileSystem {
    /// Asks the system about `path`.
    ///
    /// # Errors
    /// The system's.
    pub fn of(path: &Path) -> io::Result<Self> {
        #[expect(
            clippy::allow_attributes,
            reason = "the type of the number differs between machines, and with it which lints it trips"
        )]
        #[allow(
            clippy::cast_sign_loss,
            clippy::unnecessary_cast,
            clippy::cast_lossless,
            reason = "a pattern of bits"
        )]
        let magic = statfs(path)?.f_type as u64 & 0xffff_ffff;
        let mount_type = if magic == FUSE { mount_type(path)? } else { None };
        Ok(Self { magic, mount_type })
    }

    /// Its name if it is a known network file system.
    pub fn network(&self) -> Option<&str> {
        if self.magic == FUSE {
            return self.mount_type.as_deref().filter(|found| NETWORK_FUSE.contains(found));
        }
        NETWORK.iter().find(|(magic, _)| *magic == self.magic).map(|(_, name)| *name)
    }
}

/// The type of the mount that holds `path`, by its device.
fn mount_type(path: &Path) -> io::Result<Option<String>> {
    let device = fs::metadata(path)?.dev();
    let device = format!("{}:{}", major(device), minor(device));
    Ok(type_of_device(&fs::read_to_string("/proc/self/mountinfo")?, &device))
}

/// `36 35 98:0 /root /mount options… - type source options`.
fn type_of_device(table: &str, device: &str) -> Option<String> {
    let line = table.lines().find(|line| line.split(' ').nth(2) == Some(device))?;
    line.split(" - ").nth(1)?.split(' ').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_is_told_from_this_host() {
        let of = |magic, mount_type: Option<&str>| {
            let found = FileSystem { magic, mount_type: mount_type.map(str::to_owned) };
            found.network().map(str::to_owned)
        };
        assert_eq!(of(0x6969, None).as_deref(), Some("NFS"));
        assert_eq!(of(0xff53_4d42, None).as_deref(), Some("CIFS"));
        // ext4, xfs, btrfs, tmpfs, overlayfs, zfs.
        for here in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert_eq!(of(here, None), None, "{here:x}");
        }
        assert_eq!(of(FUSE, Some("fuse.sshfs")).as_deref(), Some("fuse.sshfs"));
        assert_eq!((of(FUSE, Some("fuse.fuse-overlayfs")), of(FUSE, None)), (None, None));
    }

    #[test]
    fn the_table_of_mounts_is_read_by_device() {
        let table = "22 27 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
                     90 27 0:45 / /mnt/far\\040away rw - fuse.sshfs me@host:/ rw,user_id=0\n";
        assert_eq!(type_of_device(table, "0:45").as_deref(), Some("fuse.sshfs"));
        assert_eq!(type_of_device(table, "0:4"), None);
    }
}
