//! Compares what was found with what was planted.

use unflake_model::Dependencies;

/// The same dependencies, with groups and cleaners in the order in which the truth lists them.
pub(crate) fn sorted(dependencies: &Dependencies) -> Dependencies {
    let mut sorted = dependencies.clone();
    sorted.polluters.sort_unstable();
    sorted.state_setters.sort_unstable();
    sorted.cleaners.sort_by(|a, b| a.polluters.cmp(&b.polluters));
    for of in &mut sorted.cleaners {
        of.cleaners.sort_unstable();
    }
    sorted
}
