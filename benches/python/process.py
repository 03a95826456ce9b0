"""What the module costs a process: the time of its import, the size of its wheel, the private memory of 1,000 open indices.

    python benches/python/process.py --wheel WHEEL
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import figures
import gobo_masks as gobo

INDICES = 1000


def importing():
    for module, contestant in (("gobo_masks", "gobo"), ("xgrammar", "xgrammar"), ("llguidance", "llguidance")):
        program = f"import time; begin = time.perf_counter_ns(); import {module}; print(time.perf_counter_ns() - begin)"
        command = [sys.executable, "-W", "ignore", "-c", program]
        runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(11)]
        times = [int(run.stdout) / 1e6 for run in runs]
        figures.row("process", "import, a new process each", contestant, times, "ms")
        if contestant == "gobo":
            figures.at_most("import_p50", figures.quantile(times, 0.5), "ms", 50)


def private_mib():
    fields = dict(row.split(":") for row in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    return {name: int(fields[name].split()[0]) / 1024 for name in ("Private_Dirty", "Private_Clean")}


def memory(client, vocabulary):
    texts = [f"choice{number}|other{number}" for number in range(INDICES)]
    figures.compile_elsewhere(client, vocabulary, texts, "regex")
    constraints = [gobo.Constraint.regex(text) for text in texts]
    before = private_mib()
    indices = [client.find(vocabulary, constraint) for constraint in constraints]
    after = private_mib()
    assert None not in indices
    notes = {"Private_Dirty": "what the process alone costs", "Private_Clean": "pages of files that nobody else maps now"}
    for name, note in notes.items():
        figures.row("process", f"{INDICES} open indices: {name}", "gobo", [after[name] - before[name]], "MiB", note)
    figures.at_most("private_memory_of_1000_indices", after["Private_Dirty"] - before["Private_Dirty"], "MiB", 10)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--wheel", help="its size is recorded too")
    wheel = options.parse_args().wheel
    importing()
    if wheel:
        size = os.path.getsize(wheel) / (1 << 20)
        figures.row("process", "the wheel", "gobo", [size], "MiB")
        figures.at_most("wheel", size, "MiB", 8)
    with tempfile.TemporaryDirectory(prefix="gobo-bench-") as store:
        client = gobo.Client(store, timeout=120.0)
        memory(client, gobo.Vocabulary.of("o200k_base", client=client))


if __name__ == "__main__":
    main()
