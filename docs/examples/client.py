#!/usr/bin/env python3
"""Resolves one constraint through a daemon, with nothing but grpcio: prints the index key and the path of the index.

    pip install grpcio grpcio-tools
    gobo serve &
    python3 docs/examples/client.py unix:$HOME/.cache/gobo/daemon.sock o200k_base --regex '[0-9]{4}-[0-9]{2}'
    python3 docs/examples/client.py localhost:7450 o200k_base --schema '{"type": "boolean"}'

The address is one of gRPC's: unix:PATH or HOST:PORT. The program opens no index: that is for a worker, which maps the file at
the path. A constraint that is refused is an answer and not an error: where in the constraint, why, and what to do next.
Exit status: 0 an index, 2 refused or over budget, 1 no answer.
"""

import argparse
import importlib
import pathlib
import sys
import tempfile

import grpc
from grpc_tools import protoc

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"


def generated():
    """The messages and the client of gobo.proto. A program of yours generates them once, when it is built."""
    with tempfile.TemporaryDirectory() as out:
        arguments = ["protoc", f"-I{PROTO}", f"--python_out={out}", f"--grpc_python_out={out}", "gobo/v1/gobo.proto"]
        if protoc.main(arguments) != 0:
            sys.exit("protoc failed")
        sys.path.insert(0, out)
        try:
            return importlib.import_module("gobo.v1.gobo_pb2"), importlib.import_module("gobo.v1.gobo_pb2_grpc")
        finally:
            sys.path.remove(out)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("address", help="unix:PATH or HOST:PORT")
    options.add_argument("vocabulary", help="a name that the daemon knows, such as o200k_base")
    kind = options.add_mutually_exclusive_group(required=True)
    kind.add_argument("--regex")
    kind.add_argument("--choice", nargs="+")
    kind.add_argument("--grammar", help="the text of a grammar in GBNF")
    kind.add_argument("--schema", help="the text of a JSON Schema")
    options.add_argument("--max-steps", type=int, help="what the compile may take")
    options.add_argument("--timeout", type=float, default=60, help="seconds")
    given = options.parse_args()

    pb, services = generated()
    constraint = pb.Constraint()
    if given.regex is not None:
        constraint.regex.pattern = given.regex
    elif given.choice is not None:
        constraint.choice.items.extend(given.choice)
    elif given.grammar is not None:
        constraint.grammar.grammar = given.grammar
    else:
        constraint.schema.schema = given.schema
    request = pb.ResolveRequest(vocabulary=pb.VocabularyRef(name=given.vocabulary), constraint=constraint)
    if given.max_steps is not None:
        request.limits.max_steps = given.max_steps

    with grpc.insecure_channel(given.address) as channel:
        try:
            reply = services.GoboStub(channel).Resolve(request, timeout=given.timeout)
        except grpc.RpcError as error:
            # A mistake in the request, or no daemon. The package grpcio-status reads the details: BadRequest, RetryInfo.
            print(f"{error.code().name}: {error.details()}", file=sys.stderr)
            return 1

    outcome = reply.WhichOneof("outcome")
    if outcome == "index":
        print(f"key:  {reply.index.key.hex()}")
        print(f"path: {reply.index.path}")
        return 0
    verdict = getattr(reply, outcome)
    print(f"{outcome}:", file=sys.stderr)
    for field in ["where", "phase", "reason", "help"]:
        if text := getattr(verdict, field, ""):
            print(f"  {field}: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
