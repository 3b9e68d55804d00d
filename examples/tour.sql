-- A tour of Drumlin: a table is made, filled, changed and read as it was. From the root of the repository:
--
--   cargo run -p drumlin -- --warehouse target/tour -f examples/tour.sql
--
-- The warehouse is the folder target/tour. Its tables are pointed to by catalog.db, a SQLite database that Spark
-- (JdbcCatalog), PyIceberg (SqlCatalog) and others can use at the same time.


-- 1. A table, partitioned by day, made and filled. ----------------------------------------------------------------------

CREATE SCHEMA IF NOT EXISTS shop;

CREATE OR REPLACE TABLE shop.orders (
    id       BIGINT NOT NULL COMMENT 'unique, but nobody checks it',
    customer VARCHAR,
    placed   TIMESTAMP,
    total    DECIMAL(10, 2)
)
PARTITIONED BY (day(placed))
TBLPROPERTIES ('format-version' = '3');

INSERT INTO shop.orders VALUES
    (1, 'Ada',    '2026-11-01 09:00:00', 12.50),
    (2, 'Grace',  '2026-11-01 17:30:00', 99.95),
    (3, 'Edsger', '2026-11-02 08:15:00',  7.00);

-- Each statement is one snapshot. This one names columns; the others get their default, or NULL.
INSERT INTO shop.orders (id, placed, total) VALUES (4, '2026-11-03 12:00:00', 42.00);

SELECT * FROM shop.orders ORDER BY id;


-- 2. The table as it was. -----------------------------------------------------------------------------------------------

-- Rows tell in which commit they came (tables of version 3).
SELECT _last_updated_sequence_number AS "commit", count(*) AS "rows" FROM shop.orders GROUP BY 1 ORDER BY 1;

-- A name for what is there now.
ALTER TABLE shop.orders CREATE OR REPLACE TAG before_the_sale;

-- All prices are cut. Readers see all old prices or all new ones. Rows keep their ids (_row_id).
UPDATE shop.orders SET total = round(total * 0.8, 2);

SELECT now.id, now.customer, was.total AS was, now.total AS now
FROM shop.orders AS now
JOIN shop.orders VERSION AS OF 'before_the_sale' AS was ON now.id = was.id
ORDER BY id;


-- 3. Rows are merged and deleted. ---------------------------------------------------------------------------------------

-- Known orders are updated, new ones inserted.
MERGE INTO shop.orders AS o
USING (VALUES (2, 'Grace', 75.00), (6, 'Alan', 20.00)) AS news (id, customer, total) ON o.id = news.id
WHEN MATCHED THEN UPDATE SET total = news.total
WHEN NOT MATCHED THEN INSERT (id, customer, placed, total) VALUES (news.id, news.customer, '2026-11-03 20:00:00', news.total);

DELETE FROM shop.orders WHERE customer IS NULL OR total < (SELECT avg(total) / 4 FROM shop.orders);

SELECT id, customer, total, _row_id FROM shop.orders ORDER BY id;

-- How rows are changed is a property of the table, and EXPLAIN says it. All of this day go: no data file is read.
EXPLAIN DELETE FROM shop.orders WHERE placed >= '2026-11-01' AND placed < '2026-11-02';


-- 4. A branch: changes that readers of the table do not see. -----------------------------------------------------------

ALTER TABLE shop.orders CREATE OR REPLACE BRANCH trial;
INSERT INTO shop.orders.branch_trial VALUES (5, 'Barbara', '2026-11-04 10:00:00', 1.00);

SELECT (SELECT count(*) FROM shop.orders) AS main, (SELECT count(*) FROM shop.orders VERSION AS OF 'trial') AS trial;

-- How a statement that writes is run: rows of a partition go to one writer, all files into one commit.
EXPLAIN INSERT INTO shop.orders SELECT * FROM shop.orders;
