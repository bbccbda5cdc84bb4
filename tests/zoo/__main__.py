"""`python -m tests.zoo measure FAMILY NAME`, `run [FAMILY ...] [--only REGEX] [--again] [--jobs N]`, `summary`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from tests.zoo.cases import family_names
from tests.zoo.measure import measure
from tests.zoo.record import read, summary
from tests.zoo.run import run, wanted


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="one model, in this process")
    one.add_argument("family", choices=family_names())
    one.add_argument("name")
    many = commands.add_parser("run", help="many models, each in a process of its own")
    many.add_argument("families", nargs="*", metavar="FAMILY", default=family_names())
    many.add_argument("--only", default="", help="a regular expression of names")
    many.add_argument("--again", action="store_true", help="measure what is measured already")
    many.add_argument("--jobs", type=int, default=1)
    commands.add_parser("summary", help="the figures of each family")
    args = parser.parse_args()
    if args.command == "measure":
        print(json.dumps(asdict(measure(args.family, args.name)), indent=1))
        return
    if args.command == "run":
        run(wanted(args.families, args.only, args.again), args.jobs)
    for name in family_names():
        records = [r for r in read() if r.family == name]
        print(f"{name}\n{summary(records)}\n")


if __name__ == "__main__":
    main()
