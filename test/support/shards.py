# SPDX-License-Identifier: Apache-2.0
"""WebDataset shards: tar archives of key.png and key.cls."""

import io
import tarfile


def add(archive, name, content, **fields):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in fields.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(content))


def write(path, members, format=tarfile.USTAR_FORMAT):
    """`members`: (name, content) pairs."""
    with tarfile.open(path, "w", format=format) as archive:
        for name, content in members:
            add(archive, name, content)
