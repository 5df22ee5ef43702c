"""Small files written whole or not at all: temporary file, fsync, rename, fsync the folder."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mflno.errors import StoreError

FULL = (errno.ENOSPC, errno.EDQUOT)


def failure(path: Path, doing: str, error: OSError) -> StoreError:
    """The error of the operating system in words a user can act on."""
    if error.errno in FULL:
        text = "the disk is full; what was there before is intact; free some space and repeat"
    else:
        text = error.strerror or str(error)
    return StoreError(f"{path}: {doing} failed: {text}")


@contextmanager
def told(path: Path, doing: str) -> Iterator[None]:
    """Turn an operating-system error inside the block into a `StoreError` about the path."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise failure(path, doing, error) from error


def sync_folder(folder: Path) -> None:
    """Make names that were just created or moved in this folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make a file's content survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write every byte: one `os.write` may stop half-way on a disk that fills up."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def write_synced(path: Path, data: bytes) -> None:
    """Create a file that must not exist yet, and wait until its bytes are on the disk."""
    # 0o666 under the user's umask: a campaign on a shared disk stays readable for the group.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes_atomic(path: Path | str, data: bytes) -> None:
    """Put these bytes under this name; at any moment the old or the new file is there, whole.

    Raises:
        StoreError: The disk is full, or the folder is missing or not writable.
    """
    path = Path(path)
    work = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    with told(path, "writing"):
        try:
            write_synced(work, data)
            work.replace(path)
        except BaseException:
            with suppress(OSError):
                work.unlink()
            raise
        sync_folder(path.parent)


def write_text_atomic(path: Path | str, text: str) -> None:
    """Put this text under this name, in UTF-8, whole or not at all."""
    write_bytes_atomic(path, text.encode())


def read_bytes(path: Path | str) -> bytes:
    """The whole content of a file, or a `StoreError` that names it."""
    path = Path(path)
    with told(path, "reading"):
        return path.read_bytes()
