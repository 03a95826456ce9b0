"""Makes the record `python`: runs each part in a process of its own, and collects their figures in one file.

    python3 benches/python/record.py --engines target/engines --wheel WHEEL --machine MACHINE > FILE.csv
    python3 benches/python/record.py --engines target/engines --wheel WHEEL --only batch,tree

The folder is one that `.ci/engines/build` has laid out: an environment, and the files of the engines' releases, of which the newest are
measured. The wheel is unpacked before them, so that nothing has to be installed. `--peers` names a folder with packages that are
found before the environment's, such as a newer llguidance.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import figures

HERE = pathlib.Path(__file__).parent
# Of each part: its script, and the engine whose files it needs.
PARTS = {
    "steps": ("steps.py", None),
    "manager": ("manager.py", "vllm"),
    "tree": ("drafts.py", "sglang"),
    "batch": ("batch.py", None),
    "first_mask": ("first_mask.py", None),
    "process": ("process.py", None),
}


def newest(engines, name):
    """The folder of an engine's latest release."""
    found = engines.glob(f"{name}-*")
    of_release = {tuple(map(int, re.findall(r"\d+", folder.name))): folder for folder in found}
    if not of_release:
        sys.exit(f"{engines} has no release of {name}; .ci/engines/build lays them out")
    return of_release[max(of_release)]


def origin(options, releases):
    """The line that says where the figures come from."""
    epoch = re.search(r"COMPILER_EPOCH: u32 = (\d+)", (HERE.parents[1] / "crates/gobo-types/src/key.rs").read_text())[1]
    date = os.environ.get("GOBO_RECORD_DATE") or said("date", "-u", "+%F")
    commit = os.environ.get("GOBO_RECORD_COMMIT") or said("git", "describe", "--always", "--dirty", "--exclude", "*")
    engines = ", ".join(folder.name for folder in releases)
    return (
        f"commit {commit}; date {date}; compiler epoch {epoch}; machine {options.machine}; "
        f"command benches/record.sh {options.machine} python; load average before {os.getloadavg()[0]:.2f}; {engines}"
    )


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", type=pathlib.Path, required=True)
    parser.add_argument("--wheel", type=pathlib.Path, required=True)
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--machine", default="unknown")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--every", type=int, default=20, help="each how many-th schema the steps go along")
    options = parser.parse_args()
    parts = options.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    engines = options.engines.resolve()
    releases = {name: newest(engines, name) for name in ("vllm", "sglang")}
    print(f"# {origin(options, releases.values())}")
    print(",".join(figures.COLUMNS), flush=True)
    failed = []
    with tempfile.TemporaryDirectory(prefix="gobo-wheel-") as module:
        zipfile.ZipFile(options.wheel).extractall(module)
        for part in parts:
            script, engine = PARTS[part]
            arguments = {"steps": ["--every", str(options.every)], "process": ["--wheel", str(options.wheel)]}.get(part, [])
            path = [module, options.peers and options.peers.resolve(), engine and releases[engine]]
            environment = {name: value for name, value in os.environ.items() if not name.startswith("GOBO_")}
            environment["GOBO_DATA"] = str(figures.DATA)
            environment["PYTHONPATH"] = os.pathsep.join(str(folder) for folder in path if folder)
            command = [engines / "env" / "bin" / "python", "-W", "ignore", HERE / script, *arguments]
            print(f"  {part}", file=sys.stderr)
            if subprocess.run(command, env=environment).returncode != 0:
                failed.append(part)
    if failed:
        sys.exit(f"no figures, or not all of them: {', '.join(failed)}")


if __name__ == "__main__":
    main()
