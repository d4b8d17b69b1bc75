//! `unflake why flaky-lists.json`: the tests that iDFlakies has listed, one after the other.

use std::fs;
use std::path::Path;

use unflake_campaign::question::Question;
use unflake_model::TestId;
use unflake_report::idflakies;

use super::study::{Shape, Task, run, typed_rate};
use crate::exit::{self, Failure};
use crate::opened::Opened;
use crate::screen::Screen;
use crate::study_args::WhyArgs;

/// How such a list is known.
const ENDING: &str = ".json";

/// The file of a list, if that is what was typed.
pub(crate) fn file(typed: &str) -> Option<&Path> {
    Some(Path::new(typed)).filter(|path| typed.ends_with(ENDING) && path.is_file())
}

/// Looks into every test of a list, until somebody stops it. One that is not there is said, and the
/// rest goes on.
pub(crate) fn why(args: &WhyArgs, file: &Path, screen: Screen) -> Result<u8, Failure> {
    let bad = |why: String| {
        let message = format!("`{}` is no list of iDFlakies: {why}", file.display());
        Failure::input(message, "give a `flaky-lists.json`, or a test as your runner spells it")
    };
    let text = fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let mut names = idflakies::names(&text).map_err(bad)?;
    names.sort();
    names.dedup();
    let Some(first) = names.first() else { return Ok(exit::SUCCESS) };
    let mut task = Task::about(&args.study.look, first)?;
    task.request.flake_rate_min = typed_rate(args.flake_rate)?;
    let mut code = exit::SUCCESS;
    for (place, name) in names.iter().enumerate() {
        if task.interrupt.is_raised() {
            let n_left = unflake_report::plural((names.len() - place) as u64, "test", "tests");
            exit::note(&format!("note: stopped; {n_left} of the list not looked into\n"));
            return Ok(exit::worse(code, exit::UNDECIDED));
        }
        let Some(id) = spelled_so(&task.opened, name) else {
            exit::note(&format!("note: test `{name}` of the list was not collected\n"));
            continue;
        };
        task.request.question = Question::Test(id);
        code = exit::worse(code, run(&task, &args.study, Shape::Test, screen)?);
    }
    Ok(code)
}

/// The test that iDFlakies calls so; where tests are known only to an agent, the name as it is.
fn spelled_so(opened: &Opened, name: &str) -> Option<TestId> {
    let parts = opened.parts();
    let ids: Option<Vec<Vec<&str>>> = parts.iter().map(|part| part.ids()).collect();
    let Some(ids) = ids else { return name.parse().ok() };
    ids.iter().flatten().find(|id| idflakies::spelled(id) == name)?.parse().ok()
}
