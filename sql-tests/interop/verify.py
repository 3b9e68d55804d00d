#!/usr/bin/env python3
"""Other engines on tables that Drumlin writes, and Drumlin on theirs.

    python verify.py DRUMLIN [--keep FOLDER] [--histories FOLDER]

DRUMLIN is the binary. The tables of tables.sql are written to a warehouse in a folder of its own, with a catalog in
SQLite, and read with PyIceberg and DuckDB at every snapshot that their metadata has; all rows must be those that
Drumlin reads. Then PyIceberg evolves tables between writes of Drumlin, and both append in turn to one table in one
database. Histories are warehouses whose tables were changed row by row, with an `expected.json` of states and their rows.
Exits with 1 on the first kind of difference, after all were printed.
"""
import argparse
import collections
import decimal
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import uuid

import pyarrow as pa
import pyarrow.ipc

HERE = pathlib.Path(__file__).resolve().parent
CATALOG = "drumlin"

# What an engine cannot read yet, and why. A read that does succeed is compared all the same.
CANNOT = {
    ("duckdb", "interop.instants_v3"): "DuckDB 1.5 has no timestamptz_ns",
    ("pyiceberg", "interop.variants"): "PyIceberg 0.12 has no variant",
    ("duckdb", "interop.variants"): "DuckDB's variants are not Arrow's",
    ("pyiceberg", "interop.shapes"): "PyIceberg 0.12 has no geometry",
}


class Drumlin:
    """The command line, on a warehouse."""

    def __init__(self, binary, warehouse):
        self.command = [str(binary), "--warehouse", str(warehouse)]

    def run(self, sql):
        subprocess.run([*self.command, "--quiet", "-c", sql], check=True, stdout=subprocess.DEVNULL)

    def run_file(self, path):
        subprocess.run([*self.command, "--quiet", "-f", str(path)], check=True, stdout=subprocess.DEVNULL)

    def rows(self, table, snapshot_id=None):
        version = f" VERSION AS OF {snapshot_id}" if snapshot_id else ""
        sql = f"SELECT * FROM {table}{version}"
        out = subprocess.run([*self.command, "--quiet", "--format", "arrow", "-c", sql], check=True,
                             stdout=subprocess.PIPE).stdout
        return canonical(pa.ipc.open_stream(out).read_all())


class PyIceberg:
    name = "pyiceberg"

    def __init__(self, warehouse):
        from pyiceberg.catalog.sql import SqlCatalog
        self.catalog = SqlCatalog(CATALOG, uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}")

    def rows(self, table, metadata_location, snapshot_id):
        return canonical(self.catalog.load_table(table).scan(snapshot_id=snapshot_id).to_arrow())


class PyIcebergFiles:
    """Tables by their metadata files."""
    name = "pyiceberg"

    def rows(self, table, metadata_location, snapshot_id):
        from pyiceberg.table import StaticTable
        return canonical(StaticTable.from_metadata(metadata_location).scan(snapshot_id=snapshot_id).to_arrow())


class DuckDB:
    name = "duckdb"

    def __init__(self):
        import duckdb
        from duckdb_extensions import import_extension
        self.connection = duckdb.connect()
        for setting in ("TimeZone = 'UTC'", "autoinstall_known_extensions = false", "autoload_known_extensions = false"):
            self.connection.sql(f"SET {setting}")
        for extension in ("avro", "iceberg"):
            import_extension(extension, con=self.connection)
            self.connection.load_extension(extension)

    def rows(self, table, metadata_location, snapshot_id):
        version = f", snapshot_from_id = {snapshot_id}" if snapshot_id else ""
        location = metadata_location.removeprefix("file://")
        return canonical(self.connection.sql(f"FROM iceberg_scan('{location}'{version})").to_arrow_table())


def canonical(table):
    """The multiset of rows, each as a text that does not depend on how an engine represents types."""
    columns = [[text(v) for v in plain(c.combine_chunks())] for c in table.columns]
    rows = zip(*columns) if columns else []
    return collections.Counter(", ".join(row) for row in rows)


def plain(array):
    """Values of an array, times as integers of nanoseconds."""
    of = array.type
    if isinstance(of, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_timestamp(of) or pa.types.is_time(of):
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[of.unit]
        whole = array.cast(pa.int32()).cast(pa.int64()) if of.bit_width == 32 else array.cast(pa.int64())
        return [None if v is None else v * factor for v in whole.to_pylist()]
    if pa.types.is_date(of):
        return array.cast(pa.date32()).cast(pa.int32()).to_pylist()
    if pa.types.is_struct(of):
        names = [of.field(i).name for i in range(of.num_fields)]
        fields = [plain(array.field(i)) for i in range(of.num_fields)]
        valid = array.is_valid().to_pylist()
        return [dict(zip(names, row)) if ok else None for row, ok in zip(zip(*fields), valid)]
    if pa.types.is_map(of):
        return nested(array, lambda a: list(zip(plain(a.keys), plain(a.items))))
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        return nested(array, lambda a: plain(a.values))
    if pa.types.is_list_view(of):
        return plain(array.cast(pa.list_(of.value_type)))
    return array.to_pylist()


def nested(array, values):
    """Lists and maps, one by one: their offsets need not start at 0."""
    found = []
    offsets = array.offsets.to_pylist()
    inner = values(array)
    for i, ok in enumerate(array.is_valid().to_pylist()):
        found.append(inner[offsets[i]:offsets[i + 1]] if ok else None)
    return found


UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def text(value):
    if isinstance(value, uuid.UUID):
        value = value.bytes
    if isinstance(value, str) and UUID.fullmatch(value):
        value = uuid.UUID(value).bytes
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, decimal.Decimal):
        whole, _, fraction = format(value, "f").partition(".")
        return f"{whole}.{fraction.rstrip('0')}"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(v) for v in value) + "]"
    return repr(value)


class Report:
    def __init__(self):
        self.compared, self.failures = 0, 0

    def compare(self, engine, table, what, ours, theirs):
        self.compared += 1
        if ours == theirs:
            return
        self.failures += 1
        print(f"DIFFERENT: {engine}, {table}, {what}")
        for side, more in (("only Drumlin", ours - theirs), (f"only {engine}", theirs - ours)):
            for row in list(more)[:3]:
                print(f"  {side}: {row[:400]}")

    def failed(self, engine, table, what, error):
        reason = CANNOT.get((engine, table))
        if reason:
            print(f"tolerated: {engine}, {table}: {reason}")
            return
        self.failures += 1
        print(f"FAILED: {engine}, {table}, {what}: {error}")


def tables_of(warehouse):
    """Name and metadata file of every table in the catalog."""
    with sqlite3.connect(f"{warehouse}/catalog.db") as connection:
        rows = connection.execute("SELECT table_namespace, table_name, metadata_location FROM iceberg_tables "
                                  "WHERE iceberg_type IS NULL OR iceberg_type = 'TABLE' ORDER BY 1, 2").fetchall()
    return [(f"{namespace}.{name}", location) for namespace, name, location in rows]


def check_all(drumlin, engines, warehouse, report):
    for table, location in tables_of(warehouse):
        with open(location.removeprefix("file://")) as file:
            snapshots = [s["snapshot-id"] for s in json.load(file).get("snapshots", [])]
        for snapshot_id in [None, *snapshots]:
            ours = drumlin.rows(table, snapshot_id)
            what = f"snapshot {snapshot_id}" if snapshot_id else "now"
            for engine in engines:
                if not snapshots and engine.name == "duckdb":
                    continue  # It does not open tables without a snapshot.
                try:
                    theirs = engine.rows(table, location, snapshot_id)
                except Exception as error:
                    report.failed(engine.name, table, what, str(error).splitlines()[0] if str(error) else repr(error))
                    continue
                if (engine.name, table) in CANNOT and ours != theirs:
                    report.failed(engine.name, table, what, "")
                    continue
                report.compare(engine.name, table, what, ours, theirs)
        print(f"{table}: {sum(drumlin.rows(table).values())} rows, {len(snapshots)} snapshots")


def check_histories(folder, duckdb, report):
    """States of tables of random histories: PyIceberg reads those of version 2, DuckDB all."""
    before = report.compared
    for expected in sorted(folder.glob("*/expected.json")):
        for state in json.loads(expected.read_text()):
            table = f"{expected.parent.name}.{state['table']}"
            if not state["snapshot"]:
                continue  # DuckDB does not open tables without one.
            ours = collections.Counter(", ".join(map(expected_text, row)) for row in state["rows"])
            for engine in [PyIcebergFiles(), duckdb] if state["version"] == 2 else [duckdb]:
                try:
                    # With the current schema: columns may have come after the snapshot.
                    theirs = engine.rows(table, state["metadata"], None)
                except Exception as error:
                    report.failed(engine.name, table, state["metadata"], str(error).splitlines()[0] if str(error) else repr(error))
                    continue
                report.compare(engine.name, table, state["metadata"], ours, theirs)
    print(f"histories: {report.compared - before} reads")
    if report.compared == before:
        sys.exit(f"no histories in {folder}")


def expected_text(cell):
    """A cell of `expected.json`, in which doubles are objects, since JSON knows no NaN."""
    return text(float(cell["double"]) if isinstance(cell, dict) else cell)


def evolve(drumlin, pyiceberg):
    """Columns and partition fields change between writes."""
    from pyiceberg.transforms import BucketTransform, MonthTransform
    from pyiceberg.types import LongType, StringType
    drumlin.run("CREATE TABLE interop.evolved (id INT, a VARCHAR, day DATE) PARTITIONED BY (day);"
                "INSERT INTO interop.evolved VALUES (1, 'one', DATE '2026-01-01'), (2, 'two', DATE '2026-02-01')")
    table = pyiceberg.catalog.load_table("interop.evolved")
    with table.update_schema() as update:
        update.add_column("c", StringType())
        update.rename_column("a", "b")
        update.update_column("id", LongType())
    with table.update_spec() as update:
        update.remove_field("day")
        update.add_field("day", MonthTransform(), "by_month")
        update.add_field("id", BucketTransform(4), "by_id")
    drumlin.run("INSERT INTO interop.evolved (c, id, b, day) VALUES ('see', 5000000000, 'three', DATE '2026-03-01'), "
                "(NULL, NULL, NULL, NULL)")
    with pyiceberg.catalog.load_table("interop.evolved").update_schema() as update:
        update.delete_column("b")
    drumlin.run("INSERT INTO interop.evolved (id, c) VALUES (6, 'six')")


def take_turns(drumlin, pyiceberg, turns=10):
    """Both append to one table in one database."""
    import pyarrow
    drumlin.run("CREATE TABLE interop.turns (writer VARCHAR, turn BIGINT)")
    for turn in range(turns):
        drumlin.run(f"INSERT INTO interop.turns VALUES ('drumlin', {turn})")
        rows = pyarrow.table({"writer": ["pyiceberg"], "turn": pyarrow.array([turn], pyarrow.int64())})
        pyiceberg.catalog.load_table("interop.turns").append(rows)
    rows = drumlin.rows("interop.turns")
    expected = {f"'{writer}', {turn}" for writer in ("drumlin", "pyiceberg") for turn in range(turns)}
    if set(rows) != expected or any(count != 1 for count in rows.values()):
        sys.exit(f"turns were lost or doubled: {rows}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drumlin", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="write the warehouse here and leave it")
    parser.add_argument("--histories", type=pathlib.Path, help="the folder of histories to read as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="drumlin-interop-") as scratch:
        warehouse = (arguments.keep or pathlib.Path(scratch) / "warehouse").absolute()
        warehouse.mkdir(parents=True, exist_ok=True)
        drumlin = Drumlin(arguments.drumlin.absolute(), warehouse)
        drumlin.run_file(HERE / "tables.sql")
        engines = [PyIceberg(warehouse), DuckDB()]
        evolve(drumlin, engines[0])
        take_turns(drumlin, engines[0])
        report = Report()
        check_all(drumlin, engines, warehouse, report)
        if arguments.histories:
            check_histories(arguments.histories, engines[1], report)
    print(f"{report.compared} reads compared, {report.failures} failures")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
