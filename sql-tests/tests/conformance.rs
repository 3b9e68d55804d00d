//! Runs the conformance suite: `cargo test -p drumlin-sql-tests --test conformance [-- part-of-name …]`.

use std::process::ExitCode;

use drumlin_sql_tests::conformance::manifest::Manifest;
use drumlin_sql_tests::conformance::report::{Selection, run};

#[tokio::main]
async fn main() -> ExitCode {
    let selection = Selection::from_arguments(std::env::args().skip(1));
    let totals = match Manifest::shipped() {
        Ok(manifest) => run(manifest, &selection).await,
        Err(error) => Err(error),
    };
    match totals {
        Ok(totals) if totals.failed == 0 || selection.write_pending => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
