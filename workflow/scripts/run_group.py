"""One run group: expands it, simulates its scenarios one after the other and writes the raw file whole or not at all."""

from __future__ import annotations

import argparse
import os
import sys
import time

from ofancore.errors import OfanError
from ofancore.plan import Group, simulate_group
from ofancore.progress import done
from ofancore.result import write_table


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--group", required=True, help="the group as JSON")
    parser.add_argument("--out", required=True)
    parser.add_argument("--results", required=True, help="where progress is recorded")
    args = parser.parse_args()
    start = time.monotonic()
    group = Group.from_json(args.group)
    try:
        write_table(simulate_group(group), args.out)
    except OfanError as error:
        print(f"{group.name}: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print(f"{group.name}: needs more memory than this machine gives", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{group.name}: {error}", flush=True)  # not to the log, which lies on the same disk
        return 1
    print(done(args.results, group.name, time.monotonic() - start), flush=True)
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the file is in place; taking the compiler's modules down in order takes as long as a short run
