"""Files are written whole or not at all: to a temporary name in the same folder, then renamed. A kill or a full disk leaves no half file.

Links are followed. Every OSError names the file that was meant.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def write_whole(path: str | Path, write: Callable[[str], object]) -> None:
    """Call `write(temporary path)` and move the outcome into place. OSError if `path` is there and no plain file."""
    meant, path, temporary = Path(path), Path(os.path.realpath(path)), None
    _refuse_special(meant)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:200]}.", dir=path.parent)
        os.close(handle)
        write(temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, os.strerror(error.errno) if error.errno else str(error), str(meant)) from None
        raise


def write_file(path: str | Path, data: bytes | str) -> None:
    """Write a file whole. What is there and no plain file, such as a pipe or a device, is written to and stays what it is."""
    content = data.encode() if isinstance(data, str) else data
    if _is_special(Path(path)) and not Path(path).is_dir():
        Path(path).write_bytes(content)
    else:
        write_whole(path, lambda temporary: Path(temporary).write_bytes(content))


def check_writable(path: str | Path) -> None:
    """OSError, naming the path, if `write_whole` could not begin. Nothing is made, not even the folders on the way."""
    meant, path = Path(path), Path(os.path.realpath(path))
    _refuse_special(meant)
    try:
        folder, missing = path.parent, [path.name]
        while not os.path.lexists(folder):
            missing.append(folder.name)
            folder = folder.parent
        for name in missing:
            with contextlib.suppress(FileNotFoundError):
                os.lstat(folder / name)  # is it a name that a file may have?
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(meant)) from None


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _refuse_special(path: Path) -> None:
    if _is_special(path):
        raise OSError(errno.EINVAL, "is not a plain file", str(path))
