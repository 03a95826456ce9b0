//! The array job of `docs/deploy` under Slurm itself: a controller and two nodes on this machine. Needs root and the programs of Slurm and munge.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{TOKENIZER, library};
use crate::gobo::json;

const SHARDS: usize = 6;

/// A daemon of the cluster, in the foreground; it is killed when the test ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(home: &Path, program: &str, args: &[&str]) -> Process {
    let log = fs::File::create(home.join(format!("{}.log", args.join("_").replace('/', "-")))).unwrap();
    let child = Command::new(program)
        .args(args)
        .env("PATH", path())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    Process(child)
}

/// The programs of a system stand in folders that not every user has.
fn path() -> String {
    format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    name.trim().split('.').next().unwrap().to_owned()
}

/// A free port, and the one after it, and the one after that.
fn ports() -> u16 {
    loop {
        let first = super::pool::free_port();
        if first < 65_000
            && (1..3).all(|next| std::net::TcpListener::bind(("127.0.0.1", first + next)).is_ok())
        {
            return first;
        }
    }
}

struct Cluster {
    configuration: std::path::PathBuf,
    _processes: Vec<Process>,
}

impl Cluster {
    fn start(home: &Path) -> Self {
        fs::set_permissions(home, fs::Permissions::from_mode(0o755)).unwrap();
        let file = |name: &str| home.join(name).display().to_string();
        for folder in ["state", "spool-n1", "spool-n2"] {
            fs::create_dir(home.join(folder)).unwrap();
        }
        let key = home.join("munge.key");
        fs::write(&key, [7; 1024]).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        let (socket, host, port) = (file("munge.sock"), host_name(), ports());
        let configuration = home.join("slurm.conf");
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={socket}\nCredType=cred/munge\nStateSaveLocation={state}\n\
             SlurmdSpoolDir={spool}-%n\nSlurmctldPidFile={home}/controller.pid\nSlurmdPidFile={home}/%n.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSlurmdParameters=config_overrides\nMpiDefault=none\n\
             SelectType=select/cons_tres\nReturnToService=2\n\
             NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs=2 RealMemory=8000\n\
             NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs=2 RealMemory=8000\n\
             PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n",
            state = file("state"),
            spool = file("spool"),
            home = home.display(),
            n1 = port + 1,
            n2 = port + 2,
        );
        fs::write(&configuration, text).unwrap();
        let keyed = format!("--key-file={}", key.display());
        let options = [
            ("--socket=", &socket),
            ("--pid-file=", &file("munge.pid")),
            ("--log-file=", &file("munge.log")),
            ("--seed-file=", &file("munge.seed")),
        ];
        let options = options.map(|(option, value)| format!("{option}{value}"));
        let mut munge = vec!["--foreground", "--force", &keyed];
        munge.extend(options.iter().map(String::as_str));
        let mut processes = vec![start(home, "munged", &munge)];
        let begun = Instant::now();
        while !Path::new(&socket).exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "munged does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        let configured = configuration.to_str().unwrap();
        processes.push(start(home, "slurmctld", &["-D", "-f", configured]));
        for node in ["n1", "n2"] {
            processes.push(start(home, "slurmd", &["-D", "-N", node, "-f", configured]));
        }
        let cluster = Self { configuration, _processes: processes };
        while cluster.said("sinfo", &["-h", "-t", "idle", "-o", "%D"]).trim() != "2" {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", cluster.said("sinfo", &[]));
            std::thread::sleep(Duration::from_millis(100));
        }
        cluster
    }

    fn said(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", &self.configuration).env("PATH", path());
        command
    }
}

#[test]
#[ignore = "needs root, and the programs of Slurm and munge"]
fn an_array_fills_a_bucket() {
    let home = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(home.path());
    let work = home.path().join("work");
    fs::create_dir(&work).unwrap();
    let distinct = library(&work) as u64;
    let bucket = format!("file://{}/bucket", home.path().display());
    let program = Path::new(env!("CARGO_BIN_EXE_gobo")).parent().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy/prewarm-array.sh");
    let submit = |array: &str| {
        let mut sbatch = cluster.command("sbatch");
        sbatch.args(["--wait", &format!("--array={array}"), "--mem=256M"]).arg(&script).current_dir(&work);
        sbatch.env("PATH", format!("{}:{}", program.display(), path())).env_remove("GOBO_STORE");
        for (name, value) in [
            ("GOBO_SHARDS", SHARDS.to_string()),
            ("GOBO_REMOTE", bucket.clone()),
            ("GOBO_SIGN", work.join("sign.pem").display().to_string()),
            ("GOBO_MANIFEST", "everyday".to_owned()),
            ("GOBO_TOKENIZER", TOKENIZER.to_owned()),
            ("GOBO_LIBRARY", work.join("library.jsonl.zst").display().to_string()),
        ] {
            sbatch.env(name, value);
        }
        let output = sbatch.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    submit(&format!("0-{}", SHARDS - 1));
    // A shard that was lost is submitted again: all is there.
    submit("2");
    let summaries = fs::read_dir(&work).unwrap().filter_map(|file| {
        let path = file.unwrap().path();
        let is_output = path.file_name().unwrap().to_str().unwrap().starts_with("slurm-");
        let text = is_output.then(|| fs::read_to_string(&path).unwrap())?;
        let last: serde_json::Value =
            serde_json::from_str(text.lines().last()?).unwrap_or_else(|_| panic!("{text}"));
        Some(last["summary"].clone())
    });
    let summaries: Vec<_> = summaries.collect();
    assert_eq!(summaries.len(), SHARDS + 1);
    let sum = |name: &str| summaries.iter().map(|summary| summary[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("compiled") + sum("refused"), distinct);
    let host = home.path().join("host");
    let trust = work.join("trust.pem");
    let pulled =
        json(&host, 0, &["pull", "everyday", "--remote", &bucket, "--trust", trust.to_str().unwrap()])
            .remove(0);
    assert_eq!((&pulled["indices"], &pulled["verdicts"]), (&(distinct - 1).into(), &1.into()), "{pulled}");
}
