-- Tables of every kind that is written, for other engines to read. Each `INSERT` is a snapshot.
CREATE SCHEMA interop;

-- Every type of version 2.
CREATE TABLE interop.types_v2 (
    b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE,
    dec9 DECIMAL(9, 2), dec18 DECIMAL(18, 4), dec38 DECIMAL(38, 10),
    day DATE, clock TIME, ts TIMESTAMP, tz TIMESTAMP WITH TIME ZONE,
    s VARCHAR, bytes BINARY, id UUID, fixed4 FIXED(4),
    point STRUCT<x: INT, y: STRUCT<z: VARCHAR>>, items ARRAY<INT>, names MAP<VARCHAR, BIGINT>
);
INSERT INTO interop.types_v2 SELECT
    true, 1, 2, CAST(1.5 AS FLOAT), CAST('NaN' AS DOUBLE),
    CAST(1234567.89 AS DECIMAL(9, 2)), CAST(-12345678901234.5678 AS DECIMAL(18, 4)),
    CAST('1234567890123456789012345678.0123456789' AS DECIMAL(38, 10)),
    DATE '1969-12-31', TIME '23:59:59.999999', TIMESTAMP '1969-12-31T23:59:59.999999',
    TIMESTAMP WITH TIME ZONE '2026-01-31T12:00:00.000001Z',
    'grüße', X'00FF', arrow_cast(X'f79c3e09677c4bbda479512f87f0a1b2', 'FixedSizeBinary(16)'),
    arrow_cast(X'01020304', 'FixedSizeBinary(4)'),
    named_struct('x', 1, 'y', named_struct('z', 'in')), [1, NULL, 3],
    map(['a', 'b'], [arrow_cast(1, 'Int64'), NULL]);
INSERT INTO interop.types_v2 (i) VALUES (NULL), (-2147483648), (2147483647);

-- Version 1 takes the same, and has no deletes.
CREATE TABLE interop.types_v1 (id BIGINT NOT NULL, s VARCHAR, ts TIMESTAMP)
    PARTITIONED BY (day(ts)) TBLPROPERTIES ('format-version' = '1');
INSERT INTO interop.types_v1 VALUES
    (1, 'one', TIMESTAMP '2026-01-01T00:00:00'), (2, NULL, TIMESTAMP '1969-12-31T23:00:00'), (3, '', NULL);
INSERT INTO interop.types_v1 VALUES (4, 'four', TIMESTAMP '2026-01-01T12:00:00');

-- The types that version 3 adds, and defaults.
CREATE TABLE interop.types_v3 (id BIGINT, ns TIMESTAMP_NS, level INT DEFAULT 7)
    PARTITIONED BY (hour(ns)) TBLPROPERTIES ('format-version' = '3');
INSERT INTO interop.types_v3 (id, ns) VALUES
    (1, arrow_cast('2026-01-31T12:00:00.000000001', 'Timestamp(Nanosecond, None)')), (2, NULL);
INSERT INTO interop.types_v3 VALUES (3, NULL, NULL);

CREATE TABLE interop.instants_v3 (id BIGINT, at TIMESTAMPTZ_NS) TBLPROPERTIES ('format-version' = '3');
INSERT INTO interop.instants_v3 VALUES
    (1, arrow_cast('2026-01-31T12:00:00.000000002Z', 'Timestamp(Nanosecond, Some("UTC"))')), (2, NULL);

CREATE TABLE interop.variants (id BIGINT, v VARIANT) TBLPROPERTIES ('format-version' = '3');
INSERT INTO interop.variants SELECT 1, parse_json('{"a": [1, "two", null], "b": {"c": 1.5}}');
INSERT INTO interop.variants (id) VALUES (2);

CREATE TABLE interop.shapes (id BIGINT, shape GEOMETRY) TBLPROPERTIES ('format-version' = '3');
INSERT INTO interop.shapes VALUES (1, X'0101000000000000000000F03F0000000000000040'), (2, NULL);

-- Every transform.
CREATE TABLE interop.transforms (
    id INT, l BIGINT, dec DECIMAL(9, 2), s VARCHAR, bytes BINARY, day DATE, ts TIMESTAMP, tz TIMESTAMP WITH TIME ZONE
) PARTITIONED BY (bucket(4, id), truncate(10, l), truncate(1, s), year(day), month(ts), hour(tz));
INSERT INTO interop.transforms SELECT
    arrow_cast(v, 'Int32'), v * 7 - 50, CAST(v AS DECIMAL(9, 2)) / 4, concat('s', v % 3), arrow_cast(concat('b', v), 'Binary'),
    arrow_cast(arrow_cast(18262 + v * 100, 'Int32'), 'Date32'), arrow_cast((v - 5) * 1440000000000, 'Timestamp(Microsecond, None)'),
    arrow_cast(1767225600000000 + v * 3600000000, 'Timestamp(Microsecond, Some("UTC"))')
FROM generate_series(1, 20) AS series(v);
INSERT INTO interop.transforms (id) VALUES (NULL);

CREATE TABLE interop.identities (b BOOLEAN, s VARCHAR, day DATE, dec DECIMAL(9, 2), v INT)
    PARTITIONED BY (b, s, day, dec);
INSERT INTO interop.identities VALUES
    (true, 'a b/c=d%', DATE '2026-02-28', 1.50, 1), (false, '', DATE '0001-01-01', -1.50, 2), (NULL, NULL, NULL, NULL, 3);

CREATE TABLE interop.buckets (l BIGINT, s VARCHAR, day DATE, dec DECIMAL(18, 4), bytes BINARY, ts TIMESTAMP)
    PARTITIONED BY (bucket(3, l), bucket(3, s), bucket(3, day), bucket(3, dec), bucket(3, bytes), bucket(3, ts));
INSERT INTO interop.buckets VALUES
    (1, 'one', DATE '2026-01-01', 1.0, X'01', TIMESTAMP '2026-01-01T00:00:00'),
    (-1, 'ünï', DATE '1900-01-01', -1.5, X'', TIMESTAMP '1900-01-01T00:00:00'),
    (NULL, NULL, NULL, NULL, NULL, NULL);

-- Overwrites, of partitions and of everything.
CREATE TABLE interop.overwritten (day DATE, v INT) PARTITIONED BY (day);
INSERT INTO interop.overwritten VALUES (DATE '2026-01-01', 1), (DATE '2026-01-02', 2), (DATE '2026-01-03', 3);
INSERT OVERWRITE interop.overwritten PARTITION (day = DATE '2026-01-02') SELECT 20;
SET iceberg.partition_overwrite_mode = 'dynamic';
INSERT OVERWRITE interop.overwritten VALUES (DATE '2026-01-03', 30), (DATE '2026-01-04', 40);
SET iceberg.partition_overwrite_mode = 'static';

CREATE TABLE interop.replaced AS SELECT 1 AS a, 'x' AS b;
CREATE OR REPLACE TABLE interop.replaced AS SELECT 'y' AS b, CAST(2 AS BIGINT) AS c;

-- Many small commits, so that manifests are merged.
CREATE TABLE interop.merged (v INT) TBLPROPERTIES ('commit.manifest.min-count-to-merge' = '3');
INSERT INTO interop.merged VALUES (1);
INSERT INTO interop.merged VALUES (2);
INSERT INTO interop.merged VALUES (3);
INSERT INTO interop.merged VALUES (4);
INSERT INTO interop.merged VALUES (5);

-- Several files and row groups, sorted, with all codecs in turn.
CREATE TABLE interop.large (id BIGINT, s VARCHAR) TBLPROPERTIES (
    'write.target-file-size-bytes' = '200000', 'write.parquet.row-group-size-bytes' = '50000',
    'write.parquet.compression-codec' = 'gzip', 'write.parquet.bloom-filter-enabled.column.s' = 'true');
INSERT INTO interop.large SELECT v, concat('row ', v, ' ', v * 7919 % 104729, ' ', v * 104729 % 7919) FROM generate_series(1, 20000) AS series(v);

CREATE TABLE interop.empty (a INT, b STRUCT<c: VARCHAR>);

-- Rows that are deleted, updated and merged, in both modes: position delete files, deletion vectors, rewritten files.
CREATE TABLE interop.changed_v2 (id BIGINT NOT NULL, k VARCHAR, n INT) PARTITIONED BY (k)
    TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read');
INSERT INTO interop.changed_v2 SELECT v, concat('k', v % 3), v AS n FROM generate_series(1, 300) AS series(v);
DELETE FROM interop.changed_v2 WHERE id % 7 = 0;
UPDATE interop.changed_v2 SET n = -n, k = 'moved' WHERE id BETWEEN 100 AND 110;
MERGE INTO interop.changed_v2 AS t USING (SELECT v AS id, v * 2 AS n FROM generate_series(290, 310) AS series(v)) AS s ON t.id = s.id
    WHEN MATCHED AND s.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n);

CREATE TABLE interop.changed_partition_v2 (id BIGINT NOT NULL, k VARCHAR, n INT) PARTITIONED BY (bucket(2, id))
    TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'partition');
INSERT INTO interop.changed_partition_v2 SELECT v, concat('k', v % 3), v AS n FROM generate_series(1, 100) AS series(v);
INSERT INTO interop.changed_partition_v2 SELECT v, concat('k', v % 3), v AS n FROM generate_series(101, 200) AS series(v);
DELETE FROM interop.changed_partition_v2 WHERE n % 5 = 0;
DELETE FROM interop.changed_partition_v2 WHERE n % 7 = 0;

CREATE TABLE interop.changed_v3 (id BIGINT NOT NULL, k VARCHAR, n INT) PARTITIONED BY (k)
    TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read');
INSERT INTO interop.changed_v3 SELECT v, concat('k', v % 3), v AS n FROM generate_series(1, 300) AS series(v);
DELETE FROM interop.changed_v3 WHERE id % 7 = 0;
UPDATE interop.changed_v3 SET n = -n, k = 'moved' WHERE id BETWEEN 100 AND 110;
MERGE INTO interop.changed_v3 AS t USING (SELECT v AS id, v * 2 AS n FROM generate_series(290, 310) AS series(v)) AS s ON t.id = s.id
    WHEN MATCHED AND s.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n);

CREATE TABLE interop.rewritten_v3 (id BIGINT NOT NULL, k VARCHAR, n INT) PARTITIONED BY (k) TBLPROPERTIES ('format-version' = '3');
INSERT INTO interop.rewritten_v3 SELECT v, concat('k', v % 3), v AS n FROM generate_series(1, 300) AS series(v);
DELETE FROM interop.rewritten_v3 WHERE id % 7 = 0;
UPDATE interop.rewritten_v3 SET n = -n, k = 'moved' WHERE id BETWEEN 100 AND 110;
DELETE FROM interop.rewritten_v3 WHERE k = 'k1';
