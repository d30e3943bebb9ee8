# SPDX-License-Identifier: Apache-2.0
"""dlc-data: converts tables, text and targets of other programs to formats that dlc reads.

dlc starts this program for .parquet, .csv, .tsv and .txt. Run by hand, it writes files or a stream that dlc reads directly.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import Any, NoReturn

from dlc_data import FORMAT, DataError, UsageError


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def add_table(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", help="files of one table: .parquet, or .csv and .tsv with a header")
    command.add_argument("--columns", default="", metavar="ARRAY:COLUMN,...;...", help="columns of each array, as for dlc train (default: y is column y, x all others)")
    command.add_argument("--name", help=argparse.SUPPRESS)


def size_of(text: str) -> tuple[int, int]:
    height, _, width = text.partition(",")
    return int(height), int(width)


def add_targets(commands: Any) -> None:
    masks = commands.add_parser("masks", help="pictures and masks of classes, as arrays x and y")
    masks.add_argument("source", metavar="MASKS", help="folder of .png files, named like the pictures, whose pixels are class numbers")
    boxes = commands.add_parser("boxes", help="pictures and boxes, as arrays x, target_boxes (center, size) and target_classes")
    boxes.add_argument("source", metavar="BOXES", nargs="?",
                       help="COCO's .json, or a folder of YOLO's .txt files, named like the pictures (default: no boxes, as for dlc predict)")
    boxes.add_argument("--most", type=int, default=50, metavar="N", help="largest number of boxes of a sample; fewer are padded with class -1 (default: 50)")
    for command in masks, boxes:
        command.add_argument("--images", required=True, metavar="FOLDER", help="folder of pictures: .jpg, .png and .webp")
        command.add_argument("--size", required=True, type=size_of, metavar="H,W", help="height and width of pictures in pixels: they are scaled to cover this size and cropped at the center")
        command.add_argument("--copies", type=int, default=1, metavar="N", help="samples per picture; all but the first are random crops, half of them mirrored (default: 1)")
        command.add_argument("--seed", type=int, default=0, help="seed of the random crops (default: 0)")
        command.add_argument("-o", "--output", required=True, help="a .safetensors file")
    score = commands.add_parser("map", help="mean average precision of boxes by COCO's definition, as JSON")
    score.add_argument("targets", help="file written by dlc-data boxes")
    score.add_argument("outputs", help=".npz of dlc predict -o: boxes [N, K, 4], center and size relative to the picture, and scores [N, K, C]")
    score.add_argument("--overlap", type=float, default=0.6, help="IoU threshold of non-maximum suppression per class (default: 0.6)")
    score.add_argument("--draw", metavar="FOLDER", help="folder for pictures of the boxes")
    score.add_argument("--least", type=float, default=0.25, help="smallest score of boxes that are drawn (default: 0.25)")


def run_pictures(arguments: argparse.Namespace) -> None:
    if arguments.command == "map":
        from dlc_data.found import judge
        from dlc_data.output import write_json

        write_json(None, judge(arguments.targets, arguments.outputs, arguments.overlap, arguments.least, arguments.draw))
        return
    from dlc_data import targets

    if min(*arguments.size, arguments.copies, getattr(arguments, "most", 1)) < 1:
        raise UsageError("--size, --copies and --most: expected numbers from 1 on")
    shape = arguments.size, arguments.copies, arguments.seed, arguments.output
    arguments.name = arguments.source or arguments.images
    if arguments.command == "masks":
        targets.write_masks(arguments.images, arguments.source, *shape)
    else:
        tell(arguments, targets.write_boxes(arguments.source, arguments.images, arguments.size, arguments.most, *shape[1:]))


def parser() -> Parser:
    top = Parser("dlc-data", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--format", type=int, help=argparse.SUPPRESS)
    commands = top.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows", help="a table as .safetensors, or as a stream for --data-command")
    add_table(rows)
    where = rows.add_mutually_exclusive_group(required=True)
    where.add_argument("-o", "--output", help="a .safetensors file")
    where.add_argument("--stream", action="store_true", help="samples on standard output (docs/guide/stream.md)")
    rows.add_argument("--classes", default="", metavar="NAME,...", help="class names in the order of their numbers")
    rows.add_argument("--bad-samples", choices=["error", "skip"], default="error", help="reaction to invalid rows; skip: warn and leave them out (default: error)")
    rows.add_argument("--shape", action="append", default=[], metavar="ARRAY:N,...", help="shape of a sample of an array, as in x:1,28,28")
    rows.add_argument("--inputs", default="", help=argparse.SUPPRESS)
    columns = commands.add_parser("columns", help="the arrays of a table, as JSON")
    add_table(columns)
    columns.add_argument("-o", "--output")
    inspect = commands.add_parser("inspect", help="a summary of a table's columns, as JSON")
    add_table(inspect)
    inspect.add_argument("--bad-samples", choices=["error", "skip"], default="error")
    inspect.add_argument("-o", "--output")
    tokens = commands.add_parser("tokens", help="text as a token file")
    tokens.add_argument("files", nargs="+", help=".txt, or folders of them")
    tokens.add_argument("--tokenizer", required=True, help="tokenizer.json of the model")
    tokens.add_argument("--special-tokens", choices=["none", "file", "line"], default="none", help="documents that get the tokenizer's special tokens")
    tokens.add_argument("--form", choices=["llm.c", "cache"], default="llm.c", help=argparse.SUPPRESS)
    tokens.add_argument("-o", "--output", required=True, help="a .bin with llm.c's header")
    pack = commands.add_parser("pack", help="documents packed into rows, for a model of dlc compile --pack")
    pack.add_argument("files", nargs="+", help=".txt, folders of them, or .jsonl with a \"text\" in each line")
    pack.add_argument("--tokenizer", required=True, help="tokenizer.json of the model")
    pack.add_argument("--length", type=int, required=True, metavar="T", help="tokens per row, the sequence length of the model")
    pack.add_argument("--documents", choices=["line", "file"], default="line", help="unit of a .txt file that is one document (default: line)")
    pack.add_argument("--special-tokens", action="store_true", help="the tokenizer's special tokens around each document")
    pack.add_argument("-o", "--output", required=True, help="a .safetensors file")
    add_targets(commands)
    text = commands.add_parser("text", help="the text of a token file")
    text.add_argument("path", help="a .bin token file")
    text.add_argument("--tokenizer", required=True, help="tokenizer.json of the model")
    text.add_argument("--tokens", choices=["auto", "uint16", "uint32"], default="auto", help="token type of a file without a header")
    text.add_argument("--skip-special-tokens", action="store_true", help="leave out special tokens")
    text.add_argument("-o", "--output", required=True, help="the text file")
    chat = commands.add_parser("chat", help="internal: tokenizer of dlc generate")
    chat.add_argument("--tokenizer", required=True)
    return top


def inputs_of(arguments: argparse.Namespace) -> list[dict[str, Any]] | None:
    if arguments.inputs:
        return list(json.loads(arguments.inputs))
    inputs = []
    for word in arguments.shape:
        key, _, dims = word.partition(":")
        if not key or not all(dim.isdigit() for dim in dims.split(",")):
            raise UsageError(f"--shape: expected ARRAY:N,..., found '{word}'")
        inputs.append({"key": key, "shape": [int(dim) for dim in dims.split(",")], "label": False})
    return inputs or None


def classes_of(text: str) -> list[str]:
    """Names separated by commas, or a JSON list, whose names may contain commas."""
    return list(json.loads(text)) if text.startswith("[") else [name for name in text.split(",") if name]


def tell(arguments: argparse.Namespace, warnings: list[str]) -> None:
    """Prints warnings for people; dlc reads them from the file whenever it uses it."""
    for text in warnings if arguments.format is None else []:
        print(f"warning: '{arguments.name or arguments.files[0]}': {text}", file=sys.stderr)


def run_table(arguments: argparse.Namespace) -> None:
    from dlc_data.columns import Chosen, is_label_key, parse_columns
    from dlc_data.output import write_json
    from dlc_data.pictures import find_pictures, write_pictures
    from dlc_data.rows import write_rows
    from dlc_data.table import open_table

    parse_columns(arguments.columns)
    table = open_table(arguments.name or ",".join(arguments.files), arguments.files)
    pictures = find_pictures(table, arguments.columns)
    if arguments.command == "rows":
        if pictures and arguments.stream:
            raise DataError(f"'{table.name}' has pictures, which are not streamed: write them as shards, or name the file by --data")
        if pictures:
            tell(arguments, write_pictures(table, *pictures, arguments.output))  # type: ignore[arg-type]
            return
        chosen, classes = Chosen(table.name, table.columns, arguments.columns), classes_of(arguments.classes)
        inputs = inputs_of(arguments)
        if arguments.shape and inputs:
            inputs += [{"key": key, "shape": [], "label": True} for key in chosen.keys() if is_label_key(key)]
        if arguments.stream:
            from dlc_data.pipe import stream
            stream(table, chosen, inputs, classes, sys.stdout.buffer)
        else:
            tell(arguments, write_rows(table, chosen, inputs, classes, arguments.bad_samples == "skip", arguments.output))
        return
    if arguments.command == "columns":
        made: dict[str, Any] = {"pictures": pictures is not None}
        if not pictures:
            made["keys"] = Chosen(table.name, table.columns, arguments.columns).keys()
    elif pictures:
        made = {"pictures": True}
    else:
        from dlc_data.survey import survey
        made = survey(table, arguments.bad_samples == "skip")
    write_json(arguments.output, made)


def run_text(arguments: argparse.Namespace) -> None:
    from dlc_data import tokens

    if arguments.command == "chat":
        from dlc_data.chat import chat
        chat(arguments.tokenizer, sys.stdin, sys.stdout)
    elif arguments.command == "tokens":
        files = [file for path in arguments.files for file in tokens.files_of(path)]
        tokens.write_tokens(files, arguments.tokenizer, arguments.special_tokens, arguments.form, arguments.output)
    elif arguments.command == "pack":
        from dlc_data import pack

        if arguments.length < 2:
            raise UsageError(f"--length: expected at least 2 tokens, found {arguments.length}")
        files = [file for path in arguments.files for file in tokens.files_of(path)]
        pack.write_rows(files, arguments.tokenizer, arguments.documents, arguments.special_tokens, arguments.length, arguments.output)
    else:
        from dlc_data.output import Workplace

        text, count, unknown = tokens.text_of(arguments.path, arguments.tokens, arguments.tokenizer, arguments.skip_special_tokens)
        if unknown:
            print(f"warning: {unknown} of {count} tokens are none of the tokenizer's, and have no text", file=sys.stderr)
        with Workplace(arguments.output) as place:
            file = place.open("all")
            file.write(text.encode())
            place.publish(file)


def run(words: list[str]) -> None:
    arguments = parser().parse_args(words)
    if arguments.format not in (None, FORMAT):
        raise UsageError(f"dlc-data knows format {FORMAT}, and dlc asks for {arguments.format}: install both of one version")
    commands = {run_text: ("tokens", "pack", "text", "chat"), run_pictures: ("masks", "boxes", "map")}
    try:
        next((does for does, names in commands.items() if arguments.command in names), run_table)(arguments)
    except ImportError as error:
        missing = (error.name or "").split(".")[0]
        packages = {"tokenizers": "tokenizers", "pyarrow": "pyarrow", "PIL": "pillow", "pycocotools": "pycocotools", "numpy": "numpy"}
        if missing not in packages:
            raise
        raise UsageError(f"dlc-data needs the package {packages[missing]}: {sys.executable} -m pip install {packages[missing]} numpy") from None


def main() -> None:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        run(sys.argv[1:])
        sys.stdout.flush()
    except DataError as error:
        if "chat" in sys.argv[1:3]:
            print(json.dumps({"error": str(error), "code": error.code}))
        else:
            print(f"error: {error}", file=sys.stderr)
        sys.exit(error.code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except OSError as error:
        print(f"error: {f'{error.filename!r}: ' if error.filename else ''}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except MemoryError:
        print("error: too little memory", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
