"""Packs folders as archives, and writes the checksums of all that lies beside them.

    python pack.py FOLDER...

makes FOLDER.tar.gz of each and removes it. The same files give the same archive, bit for bit: what
is in it has no owner and no date, and stands in the order of its name.
"""

import gzip
import hashlib
import shutil
import sys
import tarfile
from pathlib import Path

SUMS = "SHA256SUMS"


def pack(folder: Path) -> Path:
    archive = folder.with_name(folder.name + ".tar.gz")
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(folder.parent).as_posix()
                tar.add(path, name, recursive=False, filter=nobodys)
    shutil.rmtree(folder)
    return archive


def nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    is_program = entry.isdir() or entry.mode & 0o100
    entry.mode = 0o755 if is_program else 0o644
    return entry


def sums(folder: Path) -> str:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    digests = [(hashlib.sha256(path.read_bytes()).hexdigest(), path.name) for path in files]
    return "".join(f"{digest}  {name}\n" for digest, name in digests)


def main(folders: "list[Path]") -> None:
    for folder in folders:
        pack(folder)
    for above in {folder.parent for folder in folders}:
        (above / SUMS).write_text(sums(above))


if __name__ == "__main__":
    main([Path(argument).resolve() for argument in sys.argv[1:]])
