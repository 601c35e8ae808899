"""One figure: writes the notebook's parameters to a file beside the executed notebook, and executes it."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import yaml

from ofancore.errors import OfanError
from ofancore.files import write_file
from ofancore.notebook import execute
from ofancore.progress import done
from ofancore.reading import parse_json


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("notebook")
    parser.add_argument("--figure", required=True)
    parser.add_argument("--source", required=True, help="where the raw runs are (JSON)")
    parser.add_argument("--parameters", required=True, help="the figure's own parameters (JSON)")
    parser.add_argument("--out", required=True, help="the executed notebook")
    parser.add_argument("--results", required=True, help="where progress is recorded")
    parser.add_argument("--category", help="the figure's heading in the report, for its record")
    parser.add_argument("--config", help="the config that asks for the figure, for its record")
    parser.add_argument("--inputs", nargs="*", default=[], help="what else the notebook reads, for the figure's record")
    args = parser.parse_args()
    start = time.monotonic()
    # `papermill NOTEBOOK OUT -f FILE` with this file is the same by hand.
    file = Path(args.out).with_suffix(".yaml")
    try:
        own, source = parse_json(args.parameters, "--parameters"), parse_json(args.source, "--source")
        drawn = {
            "notebook": args.notebook,
            "parameters": own,
            "category": args.category,
            "config": args.config or None,
            "inputs": args.inputs,
        }
        parameters = {"figure": args.figure, "source": {**source, "drawn": drawn}, **own}
        write_file(file, yaml.safe_dump(parameters, sort_keys=False, width=140, allow_unicode=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            execute(args.notebook, yaml.safe_load(file.read_text()), args.out)
    except OfanError as error:
        print(f"{args.figure}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{args.figure}: {error}", flush=True)  # not to the log, which lies on the same disk
        return 1
    print(done(args.results, args.figure, time.monotonic() - start), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
