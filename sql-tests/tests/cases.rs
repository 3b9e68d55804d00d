//! Runs the sqllogictest files: `cargo test -p drumlin-sql-tests --test cases [-- part-of-path …]`.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let names: Vec<_> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    match drumlin_sql_tests::cases::run(&names).await {
        Ok((_, 0)) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
