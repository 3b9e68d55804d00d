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

-- A correction: all rows of one day are replaced.
INSERT OVERWRITE shop.orders PARTITION (placed_day = DATE '2026-11-01')
SELECT id, customer, placed, total / 2 FROM shop.orders WHERE placed < '2026-11-02';

SELECT id, total FROM shop.orders ORDER BY id;
