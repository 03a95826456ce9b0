"""What the parts of the record `python` share: the clock, rows and targets, the tokenizer, schemas and their texts.

A part prints rows (`part,case,contestant,unit,n,min,p50,p99,note`) and, as comments, figures that were asked for
(`# name,value,unit,target,verdict`), which `record.py` collects. The clock's own cost is taken off every sample.
"""

import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import time

DATA = pathlib.Path(os.environ.get("GOBO_DATA") or pathlib.Path(__file__).parents[2].parent / "shared" / "data")
COLUMNS = ("part", "case", "contestant", "unit", "n", "min", "p50", "p99", "note")

clock = time.perf_counter_ns
_csv = csv.writer(sys.stdout, lineterminator="\n")


def _own_cost():
    readings = []
    for _ in range(5001):
        begin = clock()
        readings.append(clock() - begin)
    return sorted(readings)[2500]


OWN = _own_cost()


def since(begin):
    """Microseconds since a reading of the clock."""
    return (clock() - begin - OWN) / 1000


def quantile(samples, share):
    """The sample below which this share of them is: 0.5 is the median."""
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]


def row(part, case, contestant, samples, unit="us", note=""):
    """A figure: how many samples, the least, the median, and the 99th percentile."""
    figures = [min(samples), quantile(samples, 0.5), quantile(samples, 0.99)]
    _csv.writerow([part, case, contestant, unit, len(samples), *(f"{figure:.3f}" for figure in figures), note])
    sys.stdout.flush()


def at_most(name, value, unit, limit):
    """A figure that should not be greater."""
    _asked(name, value, unit, f"at most {limit}", value <= limit)


def at_least(name, value, unit, limit):
    """A figure that should not be less."""
    _asked(name, value, unit, f"at least {limit}", value >= limit)


def _asked(name, value, unit, target, is_met):
    print(f"# {name},{value:.3f},{unit},{target},{'met' if is_met else 'missed'}", flush=True)


def tokenizer(end="<|end_of_text|>"):
    """llama-3.1, as `transformers` reads it."""
    from transformers import PreTrainedTokenizerFast

    file = DATA / "tokenizers" / "llama-3.1" / "tokenizer.json"
    return PreTrainedTokenizerFast(tokenizer_file=str(file), eos_token=end)


def corpus(every, files="*"):
    """Schemas of JSONSchemaBench that have a valid instance: the text of each `every`-th, and its valid instances."""
    for file in sorted((DATA / "jsonschemabench").glob(f"{files}.jsonl")):
        for number, line in enumerate(file.open()):
            if number % every == 0:
                case = json.loads(line)
                valid = [test["data"] for test in case.get("tests", ()) if test["valid"]]
                if valid:
                    yield json.dumps(case["schema"]), valid


def ids_of(tokenizer, instance):
    """The tokens of an instance as `json.dumps` writes it."""
    return tokenizer.encode(json.dumps(instance, ensure_ascii=False), add_special_tokens=False)


def compile_elsewhere(client, vocabulary, texts, kind):
    """Has another process compile constraints into the store, so that this one has mapped none of them."""
    program = (
        "import json, sys, gobo_masks as gobo\n"
        "store, name, kind, texts = json.load(sys.stdin)\n"
        "client = gobo.Client(store, timeout=120.0)\n"
        "vocabulary = gobo.Vocabulary.of(name, client=client)\n"
        "for text in texts: client.get(vocabulary, getattr(gobo.Constraint, kind)(text))\n"
    )
    request = json.dumps([client.store, vocabulary.name, kind, texts])
    subprocess.run([sys.executable, "-c", program], input=request, text=True, check=True, stderr=subprocess.DEVNULL)


_chance = random.Random(1)


def in_turns(contestants):
    """The contestants in an order that is another one each time, and the same in every run."""
    return _chance.sample(list(contestants), len(contestants))
