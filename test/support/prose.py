# SPDX-License-Identifier: Apache-2.0
"""Prose of Markdown pages that tests write and check."""

import re
import textwrap

WIDTH = 120
# Would begin a list or a heading at the start of a line.
MARKER = re.compile(r" (?=(?:[-+*#>]|\d+[.)]) )")


def wrapped(text, indent=""):
    """`text` in lines of at most WIDTH characters, those after the first indented."""
    lines = textwrap.fill(MARKER.sub("\0", text), WIDTH, subsequent_indent=indent, break_long_words=False,
                          break_on_hyphens=False)
    return lines.replace("\0", " ")
