"""From the text of a schema of 4 KiB to the first mask: of an index that another process compiled, and of one that is mapped.

    python benches/python/first_mask.py

Every text comes in an object of its own, as a request brings it. The floor maps an index file of the same store and copies the
length of a row out of it.
"""

import argparse
import json
import mmap
import os
import tempfile

import figures
import gobo_masks as gobo
from figures import clock, since


def schema_of(version):
    members = {f"a_member_of_some_length_{number}": {"type": "string", "maxLength": 9} for number in range(42)}
    return json.dumps({"title": f"version {version:04}", "type": "object", "properties": members, "required": list(members)})


def map_and_copy(path, row_bytes):
    """What is left of a first mask without gobo."""
    begin = clock()
    file = os.open(path, os.O_RDONLY)
    mapped = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
    os.close(file)
    mapped[:row_bytes]
    spent = since(begin)
    mapped.close()
    return spent


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--schemas", type=int, default=1000)
    schemas = [schema_of(version) for version in range(options.parse_args().schemas)]
    tokenizer = figures.tokenizer()
    with tempfile.TemporaryDirectory(prefix="gobo-bench-") as store:
        client = gobo.Client(store, timeout=120.0)
        vocabulary = gobo.Vocabulary.of(tokenizer, eos=[tokenizer.eos_token_id], client=client)
        figures.compile_elsewhere(client, vocabulary, schemas, "schema")
        bitmask = gobo.allocate_token_bitmask(1, vocabulary.width)
        row_bytes = (vocabulary.width + 31) // 32 * 4
        host, mapped, floor, reading = [], [], [], []

        def first_mask(schema):
            text = schema.encode().decode()
            begin = clock()
            index = client.find(vocabulary, gobo.Constraint.schema(text))
            index.matcher().fill_next_token_bitmask(bitmask, 0)
            return since(begin), index

        for schema in schemas:
            spent, index = first_mask(schema)
            assert index.source == "host"
            host.append(spent)
            for _ in range(2):
                spent, index = first_mask(schema)
                assert index.source == "map"
                mapped.append(spent)
            floor.append(map_and_copy(index.path, row_bytes))
        for number, schema in enumerate(schemas):
            # Another schema each time: nothing that was read before helps.
            text = schema.replace("version", f"reading {number}")
            begin = clock()
            gobo.Constraint.schema(text)
            reading.append(since(begin))
        note = f"{len(schemas[0])} bytes of schema, {index.size} of index"
        figures.row("first mask", "a file of this host", "gobo", host, note=note)
        figures.row("first mask", "a file of this host", "floor", floor, note="maps the file, copies a row")
        figures.row("first mask", "mapped", "gobo", mapped, note=note)
        figures.row("first mask", "of which a schema that is new", "gobo", reading)
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            figures.at_most(f"first_mask_host_{name}", figures.quantile(host, share), "us", 100)
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            figures.at_most(f"first_mask_mapped_{name}", figures.quantile(mapped, share), "us", 15)


if __name__ == "__main__":
    main()
