//! What any runner that is a command is to the rest of unflake.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_adapter::{
    self as adapter, Abilities, Around, Call, Check, CodeFiles, Examination, Need, OpenError,
    Opening, Outcomes, Part, PlainRunner, Readied, examine_engine, folders_of_project, named,
    with_causes,
};
use unflake_engine::{Interrupt, Launch, Level, Limits, PlainEnding, Said};
use unflake_known::junit_xml::{self, Address, CiReport, NoReport};
use unflake_model::{Control, OrderControl, OutcomeKind, TestId};

use crate::names::{candidates, split};
use crate::options::{KIND, NAME, OPTIONS, env, row};
use crate::plain::Plain;
use crate::project::Project;
use crate::record;
use crate::report;
use crate::settings::{Kept, Row, Settings};

/// Any runner that can be started as a command.
#[derive(Clone, Copy, Debug)]
pub struct Command;

/// The file that says how it is started.
const FILE: &str = "unflake.toml";

/// What a plain run is granted anyway.
const GRANTED: Duration = Duration::from_secs(10);

/// Folders that builds fill.
const BUILT: [&str; 5] = ["target", "node_modules", "dist", "build", "vendor"];

impl adapter::Adapter for Command {
    fn runners(&self) -> &'static [adapter::Runner] {
        &[adapter::Runner {
            name: NAME,
            description: "Any other, as `[runner]` of unflake.toml describes it",
        }]
    }

    fn marks(&self) -> &'static [&'static str] {
        &[]
    }

    fn top_marks(&self) -> &'static [&'static str] {
        &[]
    }

    fn family(&self) -> &'static str {
        NAME
    }

    fn options(&self) -> &'static [adapter::OwnOption] {
        &OPTIONS
    }

    fn abilities(&self) -> Abilities {
        abilities(Control { orders: OrderControl::Exact, repeats: true, restores: false })
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn adapter::Project>, OpenError> {
        Ok(Box::new(Opened::new(found(opening)?)))
    }

    fn reopen(
        &self,
        call: &Call,
        opening: &Opening<'_>,
    ) -> Result<Box<dyn adapter::Project>, OpenError> {
        // What was settled then; a file that has changed since says nothing about that run.
        let (row, changed) = match record::read(&call.manner) {
            Some(record) => record.with(&env(opening.own)?).map_err(|name| OpenError::Refused {
                message: format!("the value that `{name}` had in the run is not kept"),
                hint: "set it in `env` below `[runner]` of unflake.toml".to_owned(),
            })?,
            None => (row(opening.own)?, Vec::new()),
        };
        let project = project(row, call.folder.clone(), &call.paths, opening)?;
        let mut opened = Opened::new(project);
        let note = |name| format!("`{name}` of `env` is not what it was in the run on record");
        opened.notes.extend(changed.into_iter().map(note));
        Ok(Box::new(opened))
    }

    fn examine(&self, opening: &Opening<'_>, limits: &Limits) -> Examination {
        let project = match found(opening) {
            Ok(project) => project,
            Err(error) => return Examination::not_opened("runner", &error),
        };
        let mut checks = vec![Check::ok("command", project.settings.row.run.join(" "))];
        checks.push(Check::ok("order", order(project.settings.order)));
        let launch = project.launch(limits.clone());
        let suite = examine_engine(launch, &self.abilities(), opening.interrupt, &mut checks);
        // A command is neither forked nor has it plugins that we know of.
        checks.retain(|check| !["fork", "plugins"].contains(&check.what));
        Examination { checks, suite, presets: Vec::new() }
    }

    fn address(&self, id: &str, between: Option<&str>) -> Address {
        let (class, name) = split(id, between).unwrap_or(("", id));
        Address { class: class.to_owned(), name: name.to_owned() }
    }

    fn spelling(&self) -> &'static str {
        "a line that `list` prints"
    }
}

fn abilities(control: Control) -> Abilities {
    Abilities {
        control,
        isolation: &[Level::Pid, Level::Tree, Level::Home, Level::Net],
        ..Abilities::LEAST
    }
}

fn order(kept: Kept) -> &'static str {
    match kept {
        Kept::Exactly => "tests run in the order in which they are named",
        Kept::ByClass => "tests of a class run together, in the order in which they are named",
        Kept::NotAtAll => {
            "tests run in the order in which they are listed: only those listed before a test can \
             be found to matter to it"
        }
    }
}

/// The project that we stand in, as its settings describe it.
fn found(opening: &Opening<'_>) -> Result<Project, OpenError> {
    let mut folders = folders_of_project(&opening.folder);
    let folder = folders.find(|folder| folder.join(FILE).is_file()).unwrap_or(&opening.folder);
    project(row(opening.own)?, folder.to_owned(), opening.paths, opening)
}

fn project(
    row: Row,
    folder: PathBuf,
    paths: &[OsString],
    opening: &Opening<'_>,
) -> Result<Project, OpenError> {
    if let Some(option) = opening.options.first() {
        return Err(OpenError::Refused {
            message: format!("`{}`: a command has all its options in `run`", option.display()),
            hint: "write it into `run` below `[runner]` of unflake.toml".to_owned(),
        });
    }
    let wanted = row.kind.as_deref().filter(|kind| *kind != NAME);
    if let Some(kind) = wanted {
        return Err(OpenError::Refused {
            message: format!("there is no runner `{kind}` to be described"),
            hint: format!("write `{KIND} = \"{NAME}\"`"),
        });
    }
    let settings = Settings::new(row)
        .map_err(|error| OpenError::Refused { message: error.to_string(), hint: error.hint() })?;
    let program = opening.program.as_deref().map(Path::as_os_str).map(OsStr::to_owned);
    let program = program.ok_or_else(|| OpenError::Broken {
        message: "our own program cannot be found, which has to start the command".to_owned(),
        hint: None,
    })?;
    let chosen = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    Ok(Project { settings, folder, program, chosen })
}

/// A project has one suite.
struct Opened {
    project: Project,
    notes: Vec<String>,
}

impl Opened {
    fn new(project: Project) -> Self {
        let is_fixed = project.settings.order == Kept::NotAtAll;
        let notes = is_fixed.then(|| order(project.settings.order).to_owned());
        Self { project, notes: notes.into_iter().collect() }
    }
}

impl adapter::Project for Opened {
    fn parts(&self) -> Vec<&dyn Part> {
        vec![&self.project]
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Part for Project {
    #[expect(clippy::unnecessary_literal_bound, reason = "other parts have names of their own")]
    fn name(&self) -> &str {
        ""
    }

    fn abilities(&self) -> Abilities {
        abilities(self.control())
    }

    fn launch(&self, limits: &Limits) -> Launch {
        self.launch(limits.clone())
    }

    fn ready(&self, need: Need, _: &Interrupt) -> Result<Readied, OpenError> {
        let why = || "a command cannot be looked into".to_owned();
        Ok(Readied { part: Box::new(self.clone()), not_traced: need.traces.then(why) })
    }

    fn plain<'a>(&'a self, around: Around<'a>) -> Box<dyn PlainRunner + 'a> {
        Box::new(CommandRunner { project: self, around })
    }

    fn ci_report(&self, xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport> {
        let places: BTreeMap<&str, usize> =
            ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let mut found = CiReport::default();
        for xml in xmls {
            for read in junit_xml::read(xml)? {
                let overcame = read.overcame().map(str::to_owned);
                let case = report::junit::case(read);
                let ids = candidates(&case, self.settings.id.as_ref());
                let has_failed = !case.is_fine() || overcame.is_some();
                let Some(place) = ids.iter().find_map(|id| places.get(id.as_str())) else {
                    found.unknown.extend(ids.into_iter().next().filter(|_| has_failed));
                    continue;
                };
                found.order.push(*place);
                if has_failed {
                    found.failed.push((*place, overcame.unwrap_or(case.text)));
                }
            }
        }
        Ok(found)
    }

    fn call(&self) -> Call {
        Call {
            folder: self.folder.clone(),
            program: self.settings.row.run.first().map(OsString::from).unwrap_or_default(),
            manner: record::write(&self.settings.row),
            hash_seed: None,
            options: Vec::new(),
            paths: self.chosen.iter().map(OsString::from).collect(),
        }
    }

    fn between(&self) -> Option<String> {
        self.settings.between().map(str::to_owned)
    }

    fn code_files(&self) -> CodeFiles {
        let left_out = BUILT.iter().map(|name| (*name).to_owned()).collect();
        CodeFiles { left_out, ..CodeFiles::default() }
    }
}

/// The same command, without us.
struct CommandRunner<'a> {
    project: &'a Project,
    around: Around<'a>,
}

impl CommandRunner<'_> {
    fn ended(&self, ids: &[&str], took: Duration) -> Result<Vec<Said>, String> {
        let time_max = self.around.time_max(took, GRANTED);
        let plain = Plain { project: self.project, time_max };
        let run = plain.run(ids, self.around.interrupt).map_err(|error| with_causes(&error))?;
        match run.ending {
            PlainEnding::TimedOut => Err("it took too long".to_owned()),
            PlainEnding::Interrupted => Err("it was interrupted".to_owned()),
            PlainEnding::Refused => Err("it refused the tests".to_owned()),
            PlainEnding::Complete | PlainEnding::Died(_) => Ok(run.tests),
        }
    }

    fn outcomes(&self, ids: &[&str], took: Duration) -> Result<Outcomes, String> {
        Ok(named(ids, self.ended(ids, took)?))
    }
}

impl PlainRunner for CommandRunner<'_> {
    fn run_suite(&self, took: Duration) -> Result<Outcomes, String> {
        let tests = &self.around.collected.tests;
        self.outcomes(&tests.iter().map(|test| test.id.as_str()).collect::<Vec<_>>(), took)
    }

    fn run(&self, tests: &[&TestId], took: Duration) -> Result<Outcomes, String> {
        self.outcomes(&tests.iter().map(|id| id.as_str()).collect::<Vec<_>>(), took)
    }

    fn command(&self, tests: &[&TestId]) -> Option<String> {
        let ids: Vec<&str> = tests.iter().map(|id| id.as_str()).collect();
        Some(Plain { project: self.project, time_max: Duration::ZERO }.command(&ids))
    }

    fn run_twice(&self, test: &TestId, took: Duration) -> Result<Option<OutcomeKind>, String> {
        if !self.project.settings.row.repeats {
            return Ok(None);
        }
        let id = test.as_str();
        let said = self.ended(&[id, id], took)?;
        let mut kinds = said.iter().map(|said| said.outcome.kind());
        let is_fine = |kind: &OutcomeKind| *kind == OutcomeKind::Passed;
        Ok(kinds.clone().find(|kind| !is_fine(kind)).or_else(|| kinds.next()))
    }

    fn command_twice(&self, test: &TestId) -> Option<String> {
        self.project.settings.row.repeats.then(|| self.command(&[test, test])).flatten()
    }
}
