# SPDX-License-Identifier: Apache-2.0
"""Markdown text that tests write and check."""

import re
import textwrap

WIDTH = 120
# Characters that begin a list or a heading at the start of a line.
MARKER = re.compile(r" (?=(?:[-+*#>]|\d+[.)]) )")


def wrapped(text, indent=""):
    """Wraps `text` at WIDTH characters, with further lines indented."""
    lines = textwrap.fill(MARKER.sub("\0", text), WIDTH, subsequent_indent=indent, break_long_words=False,
                          break_on_hyphens=False)
    return lines.replace("\0", " ")
