# SPDX-License-Identifier: Apache-2.0
"""Makes parquet/*.parquet, one table as several programs write it, and parquet_ref.npz: its numbers.

    python test/refs/make_parquet.py      (needs the packages datasets, pyarrow, polars, duckdb, fastparquet, pandas and numpy)

Between them the files have each type, encoding and compression that is read, both kinds of data pages, small pages and
groups of rows, checksums, nulls, and lists of lists.
"""

import decimal
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "parquet")
ROWS = 120
NAMES = ["red", "green", "blue", "träume"]


def numbers():
    """{column: numpy array} of all rows."""
    random = np.random.default_rng(0)
    whole = {name: random.integers(np.iinfo(name).min, np.iinfo(name).max, ROWS, dtype=name, endpoint=True)
             for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}
    whole["uint64"] = random.integers(0, 2**63 - 1, ROWS, dtype=np.uint64)
    floats = {name: random.normal(size=ROWS).astype(name) for name in ("float16", "float32", "float64")}
    return {**whole, **floats, "steps": np.arange(ROWS) // 7 * 3 - 500, "few": random.integers(0, 5, ROWS) * 0.25,
            "flag": random.random(ROWS) < 0.3, "constant": np.full(ROWS, 7),
            "cents": random.integers(-10**8, 10**8, ROWS), "long": random.integers(-10**14, 10**14, ROWS)}


def arrow(data, leave=()):
    import pyarrow as pa
    columns = {name: pa.array(values) for name, values in data.items() if name not in leave}
    for name, digits in ("cents", 9), ("long", 15):
        if name in columns:
            context = decimal.Context(prec=30)
            values = [context.scaleb(decimal.Decimal(int(value)), -2) for value in data[name]]
            columns[name] = pa.array(values, pa.decimal128(digits, 2))
    columns["color"] = pa.array([NAMES[i % 3 if i < 108 else 3] for i in range(ROWS)])
    return pa.table(columns)


def lists():
    import pyarrow as pa
    random = np.random.default_rng(1)
    vectors, matrices = random.normal(size=(ROWS, 5)).astype(np.float32), random.integers(0, 255, (ROWS, 2, 3))
    return {"vector": vectors, "matrix": matrices}, pa.table({
        "vector": pa.FixedSizeListArray.from_arrays(vectors.reshape(-1), 5),
        "matrix": pa.array(matrices.tolist(), pa.list_(pa.list_(pa.int16()))),
        "label": pa.array(np.arange(ROWS) % 10)})


def write_named():
    """20 digits whose classes' numbers have names, as the library datasets notes them."""
    import datasets
    sys.path.insert(0, os.path.join(HERE, "..", "support"))
    import pictures
    with np.load(os.path.join(HERE, "..", "..", "models", "digits-train.npz")) as given:
        x, y = given["x"][:20, 0] * 15, given["y"][:20].astype(np.int64)
    names = "zero one two three four five six seven eight nine".split()
    features = datasets.Features(image=datasets.Image(), label=datasets.ClassLabel(names=names))
    image = [{"bytes": pictures.png(one), "path": None} for one in x]
    datasets.Dataset.from_dict({"image": image, "label": y}, features=features).to_parquet(path("named"))


def write_digits():
    """192 digits as PNG, with class and class's name: two files that are written differently; and one with faults."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    sys.path.insert(0, os.path.join(HERE, "..", "support"))
    import pictures
    with np.load(os.path.join(HERE, "..", "..", "models", "digits-train.npz")) as given:
        x, y = given["x"][:192, 0] * 15, given["y"][:192].astype(np.int64)
    names = "zero one two three four five six seven eight nine".split()

    def write(name, rows, **options):
        image = [{"bytes": pictures.png(x[i]), "path": f"{i}.png"} for i in rows]
        pq.write_table(pa.table({"image": image, "label": y[rows], "digit": [names[y[i]] for i in rows]}), path(name), **options)

    write("digits-0", range(100), row_group_size=30, data_page_size=500, use_dictionary=["digit"])
    write("digits-1", range(100, 192), compression="zstd", data_page_version="2.0")
    image = [{"bytes": pictures.png(x[i]), "path": None} for i in range(40)]
    image[3], image[7] = {"bytes": None, "path": "3.png"}, {"bytes": image[7]["bytes"][:60], "path": None}
    pq.write_table(pa.table({"image": image, "gap": pa.array([None if i == 5 else int(y[i]) for i in range(40)]), "real": y[:40] / 2, "label": y[:40]}), path("digits-odd"))
    pq.write_table(pa.table({"image": [{"bytes": pictures.png(x[0]), "path": None}], "label": ["zero"], "digit": ["zero"]}), path("digits-text"))


def path(name):
    return os.path.join(FOLDER, name + ".parquet")


def main():
    import duckdb
    import fastparquet
    import polars
    import pyarrow as pa
    import pyarrow.parquet as pq
    os.makedirs(FOLDER, exist_ok=True)
    data = numbers()
    table = arrow(data)
    pq.write_table(table, path("snappy"))  # its default: dictionaries
    pq.write_table(table, path("gzip_v2"), compression="gzip", data_page_version="2.0", data_page_size=300,
                   row_group_size=50)
    deltas = {name: "DELTA_BINARY_PACKED" for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                                       "uint64", "steps", "constant")}
    split = {name: "BYTE_STREAM_SPLIT" for name in ("float16", "float32", "float64", "few", "cents")}
    pq.write_table(table, path("zstd_encodings"), compression="zstd", use_dictionary=False, write_page_checksum=True,
                   column_encoding={**deltas, **split, "color": "DELTA_BYTE_ARRAY", "long": "DELTA_BYTE_ARRAY",
                                    "flag": "RLE"})
    pq.write_table(table, path("lz4_plain"), compression="lz4", use_dictionary=False, data_page_size=250,
                   column_encoding={"color": "DELTA_LENGTH_BYTE_ARRAY"}, row_group_size=45)
    pq.write_table(table, path("none"), compression="none", store_decimal_as_integer=True, write_page_checksum=True)
    pq.write_table(table.select(["int8"]), path("brotli"), compression="brotli")
    duckdb.register("numbers", arrow(data, ("float16",)))
    duckdb.sql("COPY numbers TO '%s'" % path("duckdb"))
    polars.from_arrow(arrow(data, ("float16",))).write_parquet(path("polars"))
    frame = arrow(data, ("float16", "cents", "long")).to_pandas()
    fastparquet.write(path("fastparquet"), frame, compression="SNAPPY", row_group_offsets=[0, 70])
    values, nested = lists()
    pq.write_table(nested, path("lists"), data_page_size=400, row_group_size=80)
    pq.write_table(nested, path("lists_v2"), data_page_size=400, data_page_version="2.0", compression="none")
    # What is missing, or no number.
    import datetime
    odd = pa.table({"number": pa.array([1.5, None, float("nan"), float("inf"), 2.5]),
                    "whole": pa.array([1, 2, None, 4, 5]), "name": pa.array(["a", "b", "c", None, "b"]),
                    "day": pa.array([datetime.date(2020, 1, 1)] * 5), "ragged": pa.array([[1], [2], [3, 4], [5], []]),
                    "place": pa.array([{"x": 1.0, "y": 2.0}] * 5), "map": pa.array([[("k", 1)]] * 5, pa.map_(pa.string(), pa.int64())),
                    "label": pa.array([0, 1, 2, 3, 4])})
    pq.write_table(odd, path("odd"))
    # As the library datasets writes pictures.
    pq.write_table(pa.table({"image": pa.array([{"bytes": b"\x89PNG", "path": None}] * 2), "label": pa.array([0, 1])}), path("pictures"))
    write_digits()
    write_named()
    data["uint64"] = data["uint64"].astype(np.int64)
    for name in ("cents", "long"):
        data[name] = data[name] / 100
    np.savez_compressed(os.path.join(HERE, "parquet_ref.npz"), color=np.array([sorted(NAMES).index(NAMES[i % 3 if i < 108 else 3])
                                                                              for i in range(ROWS)]), **data, **values)
    for name in sorted(os.listdir(FOLDER)):
        print(name, os.path.getsize(os.path.join(FOLDER, name)))


if __name__ == "__main__":
    main()
