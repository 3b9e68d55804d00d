-- Tables that Apache Spark wrote, those of the conformance suite. From the root of the repository:
--
--   cargo run -p drumlin -- --mount s3://conformance=sql-tests/conformance/tables -f examples/spark_tables.sql
--
-- All paths inside these tables start with s3://conformance/; --mount reads that bucket from a folder. The tables were
-- written through a catalog that is not here, so which metadata file is current must be guessed, and that must be asked
-- for. Where a catalog or a version hint says it, the option is not needed.


-- 1. A table whose columns were renamed, moved, dropped and added. -----------------------------------------------------

CREATE EXTERNAL TABLE evolved STORED AS ICEBERG LOCATION 's3://conformance/schema_evolution'
OPTIONS (guess_newest_metadata 'true');

-- Columns are matched by field id. `alpha` was once called `a`; today's `a` was called `c`; `b` was dropped and later added
-- again, so it is another column, and the old values of the old `b` are not in it.
SELECT * FROM evolved ORDER BY id;

-- The same table as it was after its second commit, with the columns of that time.
SELECT * FROM evolved VERSION AS OF 8613644318265931992 ORDER BY id;


-- 2. A table with branches and tags. ------------------------------------------------------------------------------------

CREATE EXTERNAL TABLE refs STORED AS ICEBERG LOCATION 's3://conformance/refs'
OPTIONS (guess_newest_metadata 'true');

SELECT * FROM refs ORDER BY id;

-- A tag.
SELECT * FROM refs VERSION AS OF 'v1' ORDER BY id;

-- A branch, on which one row was deleted and another one added.
SELECT * FROM refs VERSION AS OF 'audit' ORDER BY id;

-- What was current at a time.
SELECT * FROM refs TIMESTAMP AS OF '2026-11-30 02:56:28.5' ORDER BY id;

-- Versions of one table side by side: what is on the branch and not on main, and the other way round.
SELECT coalesce(main.id, audit.id) AS id,
       CASE WHEN audit.id IS NULL THEN 'main only' ELSE 'audit only' END AS place
FROM refs AS main
FULL JOIN refs VERSION AS OF 'audit' AS audit ON main.id = audit.id
WHERE main.id IS NULL OR audit.id IS NULL
ORDER BY id;


-- 3. A table of 200 files in 50 manifests, partitioned by p. ------------------------------------------------------------

CREATE EXTERNAL TABLE many STORED AS ICEBERG LOCATION 's3://conformance/many_files'
OPTIONS (guess_newest_metadata 'true');

SELECT p, count(*) AS "rows", sum(x) AS x FROM many WHERE p = 2 AND id >= 150 GROUP BY p;

-- The plan of such a query. In the line of DataSourceExec: the snapshot; manifests=40/50 pruned: 40 manifests were not
-- opened; files=199/200 pruned: the partition rules out 190 files and the bounds of `id` another 9. One file is read.
EXPLAIN SELECT p, x FROM many WHERE p = 2 AND id >= 150;

-- Counts and bounds that metadata proves are constants in the plan: no data file is opened.
EXPLAIN SELECT count(*), min(id), max(day) FROM many;
SELECT count(*), min(id), max(day) FROM many;
