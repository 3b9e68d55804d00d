//! The tables of figures of a scenario.

use std::time::Duration;

use super::run::{Answers, NewSessions, Taken};
use super::scenario::{Query, Scenario};
use crate::measure::{best, median, ms};

/// Prints times and ratios of all queries.
pub fn answers(scenario: &Scenario, answers: &[Answers]) {
    println!("ms, from the text of the query to its last row; ratios are to the first side:\n");
    println!(
        "| query | side | best | median | CPU | planning | ratio of bests | of medians | of CPU | aim, for bests |"
    );
    println!("|:--|:--|--:|--:|--:|--:|--:|--:|--:|:--|");
    for one in answers {
        let side = scenario.sides.get(one.side).map_or("", |s| s.name);
        let figures = Figures::of(&one.rounds);
        let base = answers
            .iter()
            .find(|a| a.side == 0 && a.query.name == one.query.name);
        let base = Figures::of(base.map_or(&[], |b| b.rounds.as_slice()));
        let Figures {
            best,
            median,
            cpu,
            planning,
        } = figures;
        print!(
            "| {} | {side} | {best:.1} | {median:.1} | {cpu:.1} | {planning:.1} |",
            one.query.name
        );
        if one.side > 0 && one.query.has_ratio {
            let ratio = best / base.best;
            println!(
                " {ratio:.3} | {:.3} | {:.3} | {} |",
                median / base.median,
                cpu / base.cpu,
                scenario.aim.map_or(String::new(), |aim| verdict(ratio, aim))
            );
        } else {
            println!(" | | | |");
        }
    }
}

/// Prints what full scans cost in new sessions, and their memory.
pub fn new_sessions(scenario: &Scenario, scan: &Query, sides: &[NewSessions]) {
    println!(
        "\n{} in new sessions, ms: the first with everything loaded, the second with what is cached by then. Peak memory \
         is that of the first scan in a process of its own.\n",
        scan.name
    );
    println!(
        "| side | planning | first scan: best | median | CPU | planning again | second scan: best | median | CPU | \
         ratio of first | of second | peak memory, MB |"
    );
    println!("|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let base = sides.first();
    let base_of = |of: fn(&NewSessions) -> &Vec<Taken>| base.map_or(0.0, |b| Figures::of(of(b)).best);
    let (base_first, base_second) = (base_of(|b| &b.first), base_of(|b| &b.second));
    for (side, taken) in scenario.sides.iter().zip(sides) {
        let (first, second) = (Figures::of(&taken.first), Figures::of(&taken.second));
        println!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.3} | {:.3} | {:.1} |",
            side.name,
            first.planning,
            first.best,
            first.median,
            first.cpu,
            second.planning,
            second.best,
            second.median,
            second.cpu,
            first.best / base_first,
            second.best / base_second,
            taken.peak_memory as f64 / 1e6
        );
    }
}

/// Best times and a median in ms.
struct Figures {
    best: f64,
    median: f64,
    cpu: f64,
    planning: f64,
}

impl Figures {
    fn of(rounds: &[Taken]) -> Self {
        let wall = || -> Vec<Duration> { rounds.iter().map(|t| t.whole.wall).collect() };
        Self {
            best: ms(best(wall())),
            median: ms(median(wall())),
            cpu: ms(best(rounds.iter().map(|t| t.whole.cpu))),
            planning: ms(best(rounds.iter().map(|t| t.planning))),
        }
    }
}

fn verdict(ratio: f64, aim: f64) -> String {
    let verdict = if ratio <= aim { "met" } else { "missed" };
    format!("{aim:.2}: {verdict}")
}
