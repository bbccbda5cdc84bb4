"""Measuring many models, each in a process forked from one that has imported its family, under limits; resumable."""

from __future__ import annotations

import json
import multiprocessing
import re
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

from tests.zoo.cases import family
from tests.zoo.measure import measure
from tests.zoo.record import RESULTS, Record, read, write

SECONDS, BYTES = 600, 14 << 30
NO_MEMORY = "can't allocate memory"  # as torch says it


def _child(family_name: str, name: str, connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    connection.send(json.dumps(asdict(measure(family_name, name))))


def measure_apart(family_name: str, name: str) -> Record:
    """One model in a process of its own; where that ends early, the record says so."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_child, args=(family_name, name, theirs))
    process.start()
    theirs.close()
    try:
        if ours.poll(SECONDS):
            record = Record(**json.loads(ours.recv()))
            if NO_MEMORY not in record.reason:
                return record
            reason = f"more than {BYTES >> 30} GiB"
        else:
            reason = f"more than {SECONDS} s"
    except EOFError:
        process.join()
        reason = f"the process ended with {process.exitcode}"
    finally:
        process.kill()
        process.join()
    return Record(family=family_name, name=name, measured=False, reason=reason)


def wanted(family_names: list[str], only: str, again: bool, path: Path = RESULTS) -> list[tuple[str, str]]:
    """The models of the families that match, less those that are measured already."""
    done = set() if again else {(r.family, r.name) for r in read(path)}
    found = [(f, name) for f in family_names for name in family(f).names() if re.search(only, name)]
    return [pair for pair in found if pair not in done]


def run(pairs: list[tuple[str, str]], jobs: int, path: Path = RESULTS) -> list[Record]:
    """Measure, and write each record when it is there."""
    records: list[Record] = []
    with ThreadPoolExecutor(jobs) as pool:
        for record in pool.map(lambda pair: measure_apart(*pair), pairs):
            write([record], path)
            records.append(record)
            state = "equal" if record.equal else record.reason or "?"
            print(f"{record.family} {record.name} {record.seconds:.0f} s: {state}", file=sys.stderr, flush=True)
    return records
