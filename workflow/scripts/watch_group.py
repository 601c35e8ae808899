"""Who was on which link in the runs of one group: simulates them again, watched, and writes two tables, each whole or not at all."""

from __future__ import annotations

import argparse
import sys
import time

from ofancore.errors import OfanError
from ofancore.path_files import make
from ofancore.plan import Group
from ofancore.progress import done


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--group", required=True, help="the group as JSON")
    parser.add_argument("--results", required=True, help="where its raw file is, and the tables go")
    parser.add_argument("--job", required=True, help="the name under which progress is recorded")
    args = parser.parse_args()
    start = time.monotonic()
    group = Group.from_json(args.group)
    try:
        make(group, args.results)
    except OfanError as error:
        print(f"{args.job}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{args.job}: {error}", flush=True)  # not to the log, which lies on the same disk
        return 1
    print(done(args.results, args.job, time.monotonic() - start), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
