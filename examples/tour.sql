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

-- All prices are cut. The query reads the table as it was; readers see all old prices or all new ones.
INSERT OVERWRITE shop.orders SELECT id, customer, placed, round(total * 0.8, 2) FROM shop.orders;

SELECT now.id, now.customer, was.total AS was, now.total AS now
FROM shop.orders AS now
JOIN shop.orders VERSION AS OF 'before_the_sale' AS was ON now.id = was.id
ORDER BY id;


-- 3. A branch: changes that readers of the table do not see. -----------------------------------------------------------

ALTER TABLE shop.orders CREATE OR REPLACE BRANCH trial;
INSERT INTO shop.orders.branch_trial VALUES (5, 'Barbara', '2026-11-04 10:00:00', 1.00);

SELECT (SELECT count(*) FROM shop.orders) AS main, (SELECT count(*) FROM shop.orders VERSION AS OF 'trial') AS trial;

-- How a statement that writes is run: rows of a partition go to one writer, all files into one commit.
EXPLAIN INSERT INTO shop.orders SELECT * FROM shop.orders;
