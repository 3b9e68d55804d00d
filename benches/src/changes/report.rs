//! The table of figures of a scenario.

use std::fs;
use std::path::Path;

use super::run::{Answers, Taken};
use super::scenario::{Runs, Scenario};
use crate::Result;
use crate::measure::{best, median, ms};

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Prints times, memory and bytes of all sides.
pub fn answers(scenario: &Scenario, answers: &[Answers]) {
    println!(
        "| side | rows | best ms | median ms | CPU ms | ratio of bests | of medians | of CPU | first in a process, ms | \
         its peak MB | MB read | files written | MB written | MB of metadata |"
    );
    println!("|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let base = answers.first().map(|a| figures(&a.warm)).unwrap_or_default();
    for (side, answers) in scenario.sides.iter().zip(answers) {
        let of = figures(&answers.warm);
        print!(
            "| {} | {} | {:.0} | {:.0} | {:.0} | {:.3} | {:.3} | {:.3} | {:.0} | {:.0} | {:.1} |",
            side.name,
            answers.cold.rows,
            of.0,
            of.1,
            of.2,
            of.0 / base.0,
            of.1 / base.1,
            of.2 / base.2,
            ms(answers.cold.cost.wall),
            megabytes(answers.cold.peak_memory),
            megabytes(answers.cold.bytes_read),
        );
        match side.runs {
            Runs::Find => println!(" | | |"),
            Runs::Statement(_) => println!(
                " {} | {:.1} | {:.2} |",
                answers.written.files,
                megabytes(answers.written.bytes),
                megabytes(answers.written.metadata_bytes)
            ),
        }
    }
}

/// Best and median time and the least time of processors, in ms.
fn figures(taken: &[Taken]) -> (f64, f64, f64) {
    let walls = || taken.iter().map(|t| t.cost.wall);
    let cpu = best(taken.iter().map(|t| t.cost.cpu));
    (ms(best(walls())), ms(median(walls())), ms(cpu))
}

/// Prints what the one partition that may be read has of all data files.
pub fn partition(only: &str, data: &Path) -> Result<()> {
    let (mut all, mut own) = ((0, 0), (0, 0));
    for folder in fs::read_dir(data)? {
        let folder = folder?;
        for file in fs::read_dir(folder.path())? {
            let bytes = file?.metadata()?.len();
            all = (all.0 + 1, all.1 + bytes);
            if folder.file_name() == only {
                own = (own.0 + 1, own.1 + bytes);
            }
        }
    }
    println!(
        "\nThe first round ran without the files of all other partitions. `{only}` has {} of {} data files, {:.1} of {:.1} MB.",
        own.0,
        all.0,
        megabytes(own.1),
        megabytes(all.1)
    );
    Ok(())
}
