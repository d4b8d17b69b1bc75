//! `unflake why flaky-lists.json`: the tests that iDFlakies has listed, one after the other.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use unflake_app::registry::address;
use unflake_campaign::question::Question;
use unflake_known::View;
use unflake_model::TestId;
use unflake_report::json::Listed;
use unflake_report::{idflakies, json, junit, plural};

use super::detect::{Shape, Task, code, find_in_parts, show, typed_rate};
use crate::exit::{self, Failure};
use crate::opened::Opened;
use crate::screen::Screen;
use crate::search_args::{FindingsFormat, WhyArgs};

/// How such a list is known.
const ENDING: &str = ".json";

/// The file of a list, if that is what was typed.
pub(crate) fn file(typed: &str) -> Option<&Path> {
    Some(Path::new(typed)).filter(|path| typed.ends_with(ENDING) && path.is_file())
}

/// Looks into every test of a list, until somebody stops it. One that is not there, or cannot be
/// run, is said, and the rest goes on. People are shown each answer when it is there, programs one
/// document about all.
pub(crate) fn why(args: &WhyArgs, file: &Path, screen: Screen) -> Result<u8, Failure> {
    let bad = |why: String| {
        let message = format!("`{}` is no list of iDFlakies: {why}", file.display());
        Failure::input(message, "give a `flaky-lists.json`, or a test as your runner spells it")
    };
    let text = fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let mut names = idflakies::names(&text).map_err(bad)?;
    names.sort();
    names.dedup();
    let format = args.findings.format();
    let mut walk = Walk { format, screen, listed: Listed::default(), code: exit::SUCCESS };
    if let Some(first) = names.first() {
        let mut task = Task::about(&args.findings.look, first)?;
        task.request.flake_rate_min = typed_rate(args.flake_rate)?;
        walk.all(&mut task, &names)?;
    }
    walk.finish()
}

/// How far we are in a list.
struct Walk {
    format: FindingsFormat,
    screen: Screen,
    listed: Listed,
    code: u8,
}

impl Walk {
    fn all(&mut self, task: &mut Task, names: &[String]) -> Result<(), Failure> {
        let has_modules = 1 < task.opened.parts().len();
        for (place, name) in names.iter().enumerate() {
            if task.interrupt.is_raised() {
                self.stop(&names[place..]);
                break;
            }
            let Some(id) = spelled_so(&task.opened, name) else {
                exit::note(&format!("note: test `{name}` of the list was not collected\n"));
                self.listed.not_collected.push(name.clone());
                continue;
            };
            task.request.question = Question::Test(id);
            let found = match find_in_parts(task, self.screen) {
                Ok(found) => found,
                // Nothing was shown yet, so what stands against it is the answer.
                Err(failure) if names.len() == 1 => return Err(failure),
                Err(failure) => {
                    exit::note(&format!("note: test `{name}`: {}", failure.told()));
                    self.code = exit::worse(self.code, failure.code());
                    self.listed.not_looked_into.push(name.clone());
                    continue;
                }
            };
            self.code = exit::worse(self.code, found.code(code));
            if !is_one_document(self.format) {
                show(&found, self.format, Shape::Test, self.screen.layout())?;
                continue;
            }
            let named =
                |(module, findings)| (if has_modules { module } else { String::new() }, findings);
            self.listed.studies.extend(found.found.into_iter().map(named));
        }
        Ok(())
    }

    fn stop(&mut self, left: &[String]) {
        let n_left = plural(left.len() as u64, "test", "tests");
        exit::note(&format!("note: stopped; {n_left} of the list not looked into\n"));
        self.listed.not_looked_into.extend_from_slice(left);
        self.code = exit::worse(self.code, exit::UNDECIDED);
    }

    /// Shows what is shown in the end.
    fn finish(self) -> Result<u8, Failure> {
        let studies = self.listed.studies.iter();
        let views: Vec<(&str, View<'_>)> = studies.map(|(name, it)| (&**name, it.view())).collect();
        let mut out = io::stdout().lock();
        match self.format {
            FindingsFormat::Text | FindingsFormat::Table | FindingsFormat::Markdown => (),
            FindingsFormat::Json => out.write_all(json::render_list(&self.listed).as_bytes())?,
            FindingsFormat::Idflakies => out.write_all(idflakies::render(&views).as_bytes())?,
            FindingsFormat::Junit => junit::write(&views, &address, &mut out)?,
        }
        out.flush()?;
        Ok(self.code)
    }
}

/// Whether the format is one document, which cannot be printed test by test.
fn is_one_document(format: FindingsFormat) -> bool {
    match format {
        FindingsFormat::Json | FindingsFormat::Junit | FindingsFormat::Idflakies => true,
        FindingsFormat::Text | FindingsFormat::Table | FindingsFormat::Markdown => false,
    }
}

/// The test that iDFlakies calls so; where tests are known only to an agent, the name as it is.
fn spelled_so(opened: &Opened, name: &str) -> Option<TestId> {
    let parts = opened.parts();
    let ids: Option<Vec<Vec<&str>>> = parts.iter().map(|part| part.ids()).collect();
    let Some(ids) = ids else { return name.parse().ok() };
    ids.iter().flatten().find(|id| idflakies::spelled(id) == name)?.parse().ok()
}
