"""Instructions of a hit over gRPC, by callgrind: those of the runtime's tasks, so that threads that wait do not count.

    python benches/python/hit_instructions.py target/release/gobo [VARIABLE=VALUE ...]

Needs valgrind and grpcio. The daemon is run twice, with few hits and with many; the difference is that of the hits. Variables are those
of the daemon's environment, such as OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 for a collector that is down.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile

import grpc

# A ResolveRequest: the vocabulary r50k_base, the regular expression a+b.
REQUEST = bytes.fromhex("0a0b0a09") + b"r50k_base" + bytes.fromhex("12070a050a03") + b"a+b"
FEW, MANY = 500, 10_500
OF_TASKS = r"^ *([\d,]+) .*worker::Context::run_task"


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def instructions(program, environment, store, hits):
    address, out = f"127.0.0.1:{free_port()}", f"{store}/callgrind.{hits}"
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--log-file=/dev/null"]
    serve = [program, "serve", "--store", f"{store}/store", "--inline", "--threads", "1", "--listen", address, "--drain-pause", "0s"]
    daemon = subprocess.Popen(valgrind + serve, env={**os.environ, **environment}, stderr=subprocess.DEVNULL)
    try:
        with grpc.insecure_channel(address) as channel:
            grpc.channel_ready_future(channel).result(timeout=300)
            resolve = channel.unary_unary("/gobo.v1.Gobo/Resolve")
            for _ in range(hits):
                resolve(REQUEST)
    finally:
        daemon.terminate()
        daemon.wait()
    table = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", out]
    found = re.search(OF_TASKS, subprocess.run(table, capture_output=True, text=True, check=True).stdout, re.MULTILINE)
    return int(found.group(1).replace(",", ""))


def main():
    program, *variables = sys.argv[1:]
    environment = dict(variable.split("=", 1) for variable in variables)
    with tempfile.TemporaryDirectory() as store:
        warm = ["get", "--store", f"{store}/store", "--tokenizer", "r50k_base", "--regex", "a+b"]
        subprocess.run([program, *warm], check=True, capture_output=True)
        few, many = (instructions(program, environment, store, hits) for hits in (FEW, MANY))
    print(f"{(many - few) / (MANY - FEW):.0f} instructions of a hit")


main()
