"""Machine code on disk: under a folder whose name holds a digest of every kernel source, since numba does not notice an edit in a
callee's file. Checkouts of the same sources share it. Where no folder can be written, kernels compile anew in each process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import tempfile
from pathlib import Path

import numba
from numba.core import caching

PACKAGE = Path(__file__).resolve().parent.parent
KERNEL_SOURCES = ("jit", "bits.py", "engine", "balancers", "congestion", "recovery")


def digest_of(names: tuple[str, ...]) -> str:
    """Hex digest (16 characters) of the named files and folders (seen from the package), by path and content; a missing folder is empty."""
    h = hashlib.sha256()
    for name in names:
        path = PACKAGE / name
        files = [path] if path.suffix else sorted(file for file in path.rglob("*") if file.suffix in (".py", ".yaml"))
        for file in files:
            h.update(Path(name, file.relative_to(path)).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return h.hexdigest()[:16]


SOURCES = digest_of(KERNEL_SOURCES)


def _cache_folder() -> Path | None:
    root = os.environ.get("OFAN_CACHE_DIR")
    home, temporary = os.path.expanduser("~"), tempfile.gettempdir()
    candidates = [os.path.abspath(root)] if root else [f"{home}/.cache/ofancore", f"{temporary}/ofancore-{os.getuid()}"]
    for candidate in map(Path, candidates):
        if not candidate.is_absolute():  # no home is known
            continue
        folder = candidate / f"{SOURCES}-numba{numba.__version__}"
        try:
            candidate.mkdir(mode=0o700, parents=True, exist_ok=True)
            mine = root or candidate.stat().st_uid == os.getuid()  # code of a stranger's making is not run
            folder.mkdir(exist_ok=True)
            if mine and os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return None


class BySources(caching._CacheLocator):
    """Where a kernel's machine code lies: by its file's place in the package and its content, not by where the checkout is."""

    def __init__(self, function, file: str):
        self.line, self.file = function.__code__.co_firstlineno, Path(file).resolve()

    def get_cache_path(self) -> str:
        return str(CACHE / self.file.parent.relative_to(PACKAGE.parent))

    def get_source_stamp(self) -> str:
        return hashlib.sha256(self.file.read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        return str(self.line)

    @classmethod
    def from_function(cls, function, file: str):
        """None for what is not of this package: numba looks after that."""
        return cls(function, file) if Path(file).resolve().is_relative_to(PACKAGE) else None


class Forgiving(caching.IndexDataCacheFile):
    """Machine code on disk saves time and nothing else: what cannot be read is compiled anew, what cannot be written is not kept."""

    def load(self, key):
        try:
            return super().load(key)
        except Exception:  # a file cut short fails in as many ways as unpickling can
            with contextlib.suppress(OSError):
                Path(self._index_path).unlink(missing_ok=True)
            return None

    def save(self, key, data):
        if digest_of(KERNEL_SOURCES) != SOURCES:  # edited since this process began: what was compiled may not be what the folder is for
            return
        with contextlib.suppress(OSError):
            super().save(key, data)

    def _save_data(self, name, data):
        data = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(data).digest() + data)

    def _load_data(self, name):
        """What a file holds; damaged machine code would not raise later, but crash."""
        kept = Path(self._data_path(name)).read_bytes()
        digest, data = kept[:32], kept[32:]
        if hashlib.sha256(data).digest() != digest:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(data)


def load_at_once(cache: caching.Cache) -> None:
    """Let a function's machine code be loaded without registering first all that numba could compile, which takes most of a second."""
    cache.load_overload = cache._load_overload


CACHE = _cache_folder()
if CACHE is not None:
    caching.CacheImpl._locator_classes.insert(0, BySources)
    caching.IndexDataCacheFile = Forgiving
