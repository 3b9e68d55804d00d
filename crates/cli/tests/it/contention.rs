//! Many processes that append to one table at the same time.

use std::process::{Child, Stdio};

use crate::drumlin::{command, run};

/// How many processes there are.
const WRITERS: usize = 8;

/// How many rows each appends, one a statement.
fn appends() -> usize {
    let asked = std::env::var("DRUMLIN_TEST_APPENDS").ok();
    asked.map_or(15, |n| n.parse().unwrap())
}

/// Each row is there once, each commit has a sequence number of its own, none is left out, and no process failed for good.
fn contention(catalog: &[&str]) {
    let args = |sql: &str| {
        let mut args = vec!["-q", "--format", "csv"];
        args.extend(catalog);
        let mut args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        args.extend(["-c".to_owned(), sql.to_owned()]);
        args
    };
    let ask = |sql: &str| {
        let args = args(sql);
        let run = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(run.code, Some(0), "{sql}: {run:?}");
        run.out
    };
    ask(
        "CREATE SCHEMA s; CREATE TABLE s.t (writer BIGINT, n BIGINT) TBLPROPERTIES ('format-version' = '3', \
         'commit.retry.num-retries' = '1000', 'commit.retry.min-wait-ms' = '5', 'commit.retry.max-wait-ms' = '500')",
    );
    let start = |writer: usize| -> Child {
        let insert = |n: usize| format!("INSERT INTO s.t VALUES ({writer}, {n});");
        let sql: String = (0..appends()).map(insert).collect();
        let args = args(&sql);
        let mut command = command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let writers: Vec<Child> = (0..WRITERS).map(start).collect();
    for (number, writer) in writers.into_iter().enumerate() {
        let output = writer.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "writer {number}: {err}");
    }
    let all = WRITERS * appends();
    let counted = ask(
        "SELECT count(n), count(DISTINCT writer * 1000000 + n), count(DISTINCT _last_updated_sequence_number), \
         min(_last_updated_sequence_number), max(_last_updated_sequence_number) FROM s.t",
    );
    let last = counted.lines().last().unwrap();
    assert_eq!(last, format!("{all},{all},{all},1,{all}"), "{catalog:?}");
    ask("DROP TABLE s.t PURGE; DROP SCHEMA s");
}

#[test]
fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    contention(&["--warehouse", folder.path().to_str().unwrap()]);
}

#[test]
fn on_a_local_folder() {
    let folder = tempfile::tempdir().unwrap();
    contention(&[
        "--catalog",
        "folder",
        "--warehouse",
        folder.path().to_str().unwrap(),
    ]);
}

/// The value of a variable that `scripts/services` sets.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    if value.is_none() {
        eprintln!("skipped: {name} is not set; scripts/test starts what it names");
    }
    value
}

#[test]
fn on_postgres() {
    let Some(uri) = variable("DRUMLIN_TEST_POSTGRES") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().to_str().unwrap();
    let name = format!("contention-{}", std::process::id());
    contention(&[
        "--catalog",
        &uri,
        "--catalog-name",
        &name,
        "--warehouse",
        warehouse,
    ]);
}

#[test]
fn on_s3() {
    let Some(endpoint) = variable("DRUMLIN_TEST_S3") else {
        return;
    };
    let of = |name: &str| std::env::var(name).unwrap();
    let options = [
        format!("s3.endpoint={endpoint}"),
        format!("s3.access-key-id={}", of("DRUMLIN_TEST_S3_KEY")),
        format!("s3.secret-access-key={}", of("DRUMLIN_TEST_S3_SECRET")),
        "s3.region=us-east-1".to_owned(),
        "s3.path-style-access=true".to_owned(),
    ];
    let bucket = of("DRUMLIN_TEST_S3_BUCKET");
    let warehouse = format!("s3://{bucket}/contention-{}", std::process::id());
    let mut args = vec!["--warehouse", &warehouse];
    for option in &options {
        args.extend(["-o", option]);
    }
    contention(&args);
}

/// Overwrites that read what they overwrite are serializable: as many were done as the counter says, and each of the others
/// failed because another one was first.
#[test]
fn overwrites_are_as_if_one_came_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().to_str().unwrap();
    let ask = |sql: &str| run(&["-q", "--format", "csv", "--warehouse", warehouse, "-c", sql]);
    let made = ask("CREATE SCHEMA s; CREATE TABLE s.c (v BIGINT); INSERT INTO s.c VALUES (0)");
    assert_eq!(made.code, Some(0), "{made:?}");
    let turn = || {
        let runs = (0..5).map(|_| ask("INSERT OVERWRITE s.c SELECT v + 1 FROM s.c"));
        let done = runs.filter(|run| {
            let conflict = run.err.contains("was changed by another commit");
            assert!(run.code == Some(0) || conflict, "{run:?}");
            run.code == Some(0)
        });
        done.count()
    };
    let done: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|_| scope.spawn(turn)).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    let counted = ask("SELECT v FROM s.c");
    assert_eq!(counted.out, format!("v\n{done}\n"));
    assert!(done > 0);
}

/// Serializable updates lose none of each other: each worker tries again after a conflict, and in the end all have counted.
fn counter(mode: &str) {
    const WORKERS: usize = 4;
    const UPDATES: usize = 5;
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().to_str().unwrap();
    let ask = |sql: &str| run(&["-q", "--format", "csv", "--warehouse", warehouse, "-c", sql]);
    let made = ask(&format!(
        "CREATE SCHEMA s; CREATE TABLE s.c (id BIGINT, n BIGINT) TBLPROPERTIES ('format-version' = '3', \
         'write.update.mode' = '{mode}'); INSERT INTO s.c VALUES (1, 0), (2, 0)"
    ));
    assert_eq!(made.code, Some(0), "{made:?}");
    let worker = || {
        for _ in 0..UPDATES {
            // Of those that start from one snapshot one succeeds: at most all others come first.
            let mut tries = 0..WORKERS * UPDATES;
            let done = tries.any(|_| {
                let run = ask("UPDATE s.c SET n = n + 1 WHERE id = 1");
                let conflict = run.err.contains("was changed by another commit");
                assert!(run.code == Some(0) || conflict, "{mode}: {run:?}");
                run.code == Some(0)
            });
            assert!(done, "{mode}: a conflict without another update");
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(worker);
        }
    });
    let all = WORKERS * UPDATES;
    let counted = ask("SELECT id, n FROM s.c ORDER BY id");
    assert_eq!(counted.out, format!("id,n\n1,{all}\n2,0\n"), "{mode}");
}

#[test]
fn a_counter_by_copy_on_write() {
    counter("copy-on-write");
}

#[test]
fn a_counter_by_merge_on_read() {
    counter("merge-on-read");
}
