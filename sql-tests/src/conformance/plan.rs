//! A pruning check: how many files a scan with a predicate reads.
//!
//! That no file with matching rows is dropped is known by two means: fewer files than hold matches fail here, and the
//! case `where_<plan>` compares the rows themselves.

use super::engine::Engine;
use super::manifest::Plan;

/// Makes a pruning check; the error says what planning did wrong.
pub async fn check(engine: &Engine, plan: &Plan) -> Result<(), String> {
    let planned = engine.planned_files(plan).await.map_err(|e| e.to_string())?;
    let kept = planned.files;
    if kept.len() < plan.matching_files {
        return Err(format!(
            "keeps {} files although {} hold matching rows",
            kept.len(),
            plan.matching_files
        ));
    }
    if kept.len() > plan.surviving_files {
        // Keys of odd names are escaped in paths, so this list may hold more than the true surplus.
        let surplus: Vec<_> = kept
            .iter()
            .filter(|file| !plan.surviving.contains(file))
            .take(3)
            .collect();
        return Err(format!(
            "keeps {} of {} files where {} suffice for {}; such as {surplus:?}",
            kept.len(),
            plan.total_files,
            plan.surviving_files,
            plan.predicate
        ));
    }
    if planned.delete_files.len() > plan.delete_files {
        return Err(format!(
            "applies {} delete files where {} suffice for {}",
            planned.delete_files.len(),
            plan.delete_files,
            plan.predicate
        ));
    }
    Ok(())
}
