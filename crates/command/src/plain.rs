//! The same command, without us.
//!
//! Used to check that a run of the agent means what a plain run means, and to confirm a dependency
//! with the very command that is printed. Nothing of ours is in its process. It sees the work tree
//! and HOME through an overlay where the system allows that, so that what one try leaves behind is
//! not found by the next one; where it does not, it runs in the tree itself.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::process::{CommandLine, Exit, Finished, FinishedWhy, run_to_end};
use unflake_engine::{Interrupt, Level, PlainEnding, PlainRun, Said, private_folder};
use unflake_known::quote;
use unflake_model::secret::{Secrets, is_secret_name};
use unflake_model::{Outcome, Phase};
use unflake_wire::Ended;

use crate::agent::cell::{Request, Word};
use crate::agent::live::read_report;
use crate::agent::{HIDDEN, SHELTER};
use crate::judge::{Judgement, Rest, Seen, judge};
use crate::project::Project;
use crate::report::{self, Case, Report};
use crate::settings::{Format, Place};
use crate::template::Filling;

/// Where a printed command has its report.
const REPORT: &str = "/tmp/report";
/// Where a printed command has its tests, if they are in a file.
const LIST: &str = "/tmp/tests.txt";

/// The plain runner of a project.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    /// The project.
    pub project: &'a Project,
    /// How long a run may take.
    pub time_max: Duration,
}

/// Why there was no plain run.
#[derive(Debug, thiserror::Error)]
pub enum PlainError {
    /// The program could not be started.
    #[error("cannot run `{}`", .program.display())]
    Start {
        /// The program.
        program: OsString,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no folder for its files.
    #[error("cannot write the arguments or read the report of the plain runner")]
    Folder(#[source] io::Error),
    /// What it did says nothing about the tests.
    #[error("{what}; {hint}")]
    Void {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: String,
    },
}

impl Plain<'_> {
    /// Runs these tests in this order.
    pub fn run(&self, ids: &[&str], interrupt: &Interrupt) -> Result<PlainRun, PlainError> {
        let folder = private_folder().map_err(PlainError::Folder)?;
        // Mounts speak of it by name, so no link may stand in between.
        let folder = &folder.path().canonicalize().map_err(PlainError::Folder)?;
        let request = self.request(ids, folder).map_err(PlainError::Folder)?;
        let finished = self.shelter(&request, folder, interrupt)?;
        let words = words(folder).map_err(PlainError::Folder)?;
        for word in &words {
            let (what, hint) = match word {
                Word::Fault { what } => (what.clone(), "is it installed?"),
                Word::NotReset { code, signal } => {
                    let exit = Exit { code: *code, signal: *signal };
                    (
                        format!("`reset` of the runner did not succeed: {exit}"),
                        "it must leave with 0",
                    )
                }
                _ => continue,
            };
            return Err(PlainError::Void { what, hint: hint.to_owned() });
        }
        let exits: Vec<Exit> = words
            .iter()
            .filter_map(|word| match word {
                Word::Left { code, signal, .. } => Some(Exit { code: *code, signal: *signal }),
                _ => None,
            })
            .collect();
        if self.project.settings.report == Format::Exit {
            Ok(by_exit(ids, &exits, finished))
        } else {
            self.judged(ids, exits.last().copied(), folder, finished)
        }
    }

    fn request(&self, ids: &[&str], folder: &Path) -> io::Result<Request> {
        let settings = &self.project.settings;
        let report = folder.join(format!("report.{}", ending(settings.report)));
        fs::create_dir(folder.join("tmp"))?;
        let fill = |(number, tests): (usize, &[&str])| {
            let list = folder.join(format!("tests-{number}.txt"));
            if settings.run.needs_list() {
                fs::write(&list, tests.join("\n") + "\n")?;
            }
            let words = settings.run.fill(Filling { tests, list: &list, report: &report });
            let text = |word: OsString| {
                word.into_string().map_err(|_| io::Error::other("a path is not UTF-8"))
            };
            words.into_iter().map(text).collect::<io::Result<Vec<String>>>()
        };
        let chunks = ids.chunks(self.n_at_once(ids.len())).enumerate();
        let commands = chunks.map(fill).collect::<io::Result<_>>()?;
        let landing = match &settings.place {
            Place::File(file) => Some((PathBuf::from(file), report)),
            Place::Told | Place::Stdout => None,
        };
        Ok(Request {
            levels: vec![Level::Tree, Level::Home],
            scratch: folder.to_owned(),
            reset: settings.row.reset.clone(),
            commands,
            report: landing,
            stdout: (settings.place == Place::Stdout).then(|| folder.join("stdout")),
        })
    }

    /// How many tests a command is given.
    fn n_at_once(&self, n_tests: usize) -> usize {
        if self.project.settings.report == Format::Exit { 1 } else { n_tests.max(1) }
    }

    fn shelter(
        &self,
        request: &Request,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Finished, PlainError> {
        let file = folder.join("request.json");
        let told = serde_json::to_vec(request).map_err(io::Error::from);
        told.and_then(|told| fs::write(&file, told)).map_err(PlainError::Folder)?;
        let mut env = self.project.env();
        env.push(("TMPDIR".into(), Some(folder.join("tmp").into())));
        let program = self.project.program.clone();
        let line = CommandLine {
            arguments: vec![
                HIDDEN.into(),
                SHELTER.into(),
                file.into(),
                folder.join("words").into(),
            ],
            current_dir: self.project.current_dir(),
            program: program.clone(),
            env,
        };
        run_to_end(&line, self.time_max, interrupt)
            .map_err(|source| PlainError::Start { program, source })
    }

    fn judged(
        &self,
        ids: &[&str],
        exit: Option<Exit>,
        folder: &Path,
        finished: Finished,
    ) -> Result<PlainRun, PlainError> {
        let settings = &self.project.settings;
        let ended = exit.unwrap_or(finished.exit);
        if finished.why != FinishedWhy::Exited || exit.is_none() {
            return Ok(run(ids, &[], finished, Some(ended)));
        }
        let file = match settings.place {
            Place::Stdout => folder.join("stdout"),
            Place::Told | Place::File(_) => {
                folder.join(format!("report.{}", ending(settings.report)))
            }
        };
        let read = read_report(&file).map_err(|error| error.to_string()).and_then(|texts| {
            report::read(settings.report, &texts).map_err(|error| error.to_string())
        });
        let (report, no_report) = match read {
            Ok(report) => (report, None),
            Err(why) => (Report::default(), Some(why)),
        };
        let seen = Seen { order: ids, exit: ended, started: None, no_report: no_report.as_deref() };
        match judge(seen, &report, settings.id.as_ref()) {
            Judgement::Told { ends, rest } => {
                let mut run = run(ids, &ends, finished, None);
                if let Rest::CrashedAt(place) = rest {
                    run.tests[place].outcome = Outcome::Crashed { signal: ended.signal };
                }
                Ok(run)
            }
            Judgement::Void(_) if ended.code != Some(0) => Ok(run(ids, &[], finished, Some(ended))),
            Judgement::Void(void) => Err(PlainError::Void { what: void.what, hint: void.hint }),
        }
    }

    /// The command that runs these tests in this order, to be pasted in the folder of the project.
    pub fn command(&self, ids: &[&str]) -> String {
        let settings = &self.project.settings;
        let report = PathBuf::from(format!("{REPORT}.{}", ending(settings.report)));
        // Such a command is kept and shown. Whoever pastes it has the secret.
        let set = |(name, value): (&String, &String)| {
            let is_secret = is_secret(name, value);
            let value = if is_secret { format!("\"${name}\"") } else { quote(value) };
            format!("{name}={value} ")
        };
        let env: String = settings.row.env.iter().map(set).collect();
        let line = |words: &[String]| {
            let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
            format!("{env}{}", words.join(" "))
        };
        let mut steps = Vec::new();
        steps.extend(settings.row.folder.as_ref().map(|folder| format!("cd {}", quote(folder))));
        if !settings.row.reset.is_empty() {
            steps.push(line(&settings.row.reset));
        }
        let mut last = Vec::new();
        for tests in ids.chunks(self.n_at_once(ids.len())) {
            let filling = Filling { tests, list: Path::new(LIST), report: &report };
            let words = settings.run.fill(filling);
            let words: Vec<String> =
                words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let names: Vec<String> = tests.iter().map(|test| quote(test)).collect();
            let list = settings.run.needs_list();
            let list = list.then(|| format!("printf '%s\\n' {} > {LIST}", names.join(" ")));
            last.push(list.into_iter().chain([line(&words)]).collect::<Vec<_>>().join(" && "));
        }
        // One test that fails does not keep the next from running.
        steps.push(last.join("; "));
        let whole = steps.join(" && ");
        // The shell is to stay where it is.
        if settings.row.folder.is_some() { format!("({whole})") } else { whole }
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || Secrets::default().text(value) != value
}

fn ending(format: Format) -> &'static str {
    match format {
        Format::Junit => "xml",
        Format::Ctrf => "json",
        Format::Tap | Format::Exit => "tap",
    }
}

fn words(folder: &Path) -> io::Result<Vec<Word>> {
    let text = fs::read_to_string(folder.join("words")).unwrap_or_default();
    // One that was ended while it wrote has left half a line.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn outcome(case: &Case) -> Outcome {
    match case.outcome {
        Ended::Passed => Outcome::Passed,
        Ended::Failed => Outcome::Failed { phase: Phase::Call },
        Ended::Error => Outcome::Error,
        Ended::Skipped => Outcome::Skipped,
    }
}

/// What came of a run of which these ends are known; with how it died, if it did.
fn run(ids: &[&str], ends: &[(usize, &Case)], finished: Finished, died: Option<Exit>) -> PlainRun {
    let nothing = Said { outcome: Outcome::NotRun, text: String::new() };
    let mut tests = vec![nothing; ids.len()];
    for (place, case) in ends {
        tests[*place] = Said { outcome: outcome(case), text: case.text.clone() };
    }
    let ending = match (finished.why, died) {
        (FinishedWhy::TimedOut, _) => PlainEnding::TimedOut,
        (FinishedWhy::Interrupted, _) => PlainEnding::Interrupted,
        (FinishedWhy::Exited, Some(exit)) => PlainEnding::Died(exit),
        (FinishedWhy::Exited, None) => PlainEnding::Complete,
    };
    PlainRun {
        tests,
        ending,
        // The settings say so; a report need not be in the order in which tests ran.
        is_in_order: true,
        strangers: Vec::new(),
        output: [finished.stdout, finished.stderr].concat(),
        duration: finished.duration,
    }
}

fn by_exit(ids: &[&str], exits: &[Exit], finished: Finished) -> PlainRun {
    let case = |exit: &Exit| {
        let is_passed = exit.code == Some(0);
        let mut case = Case::unsaid(if is_passed { Ended::Passed } else { Ended::Failed });
        case.text = exit.to_string();
        case
    };
    let cases: Vec<Case> = exits.iter().map(case).collect();
    let ends: Vec<(usize, &Case)> = cases.iter().take(ids.len()).enumerate().collect();
    let died = (exits.len() < ids.len()).then_some(finished.exit);
    run(ids, &ends, finished, died)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Row, Settings};

    fn command(run: &[&str], change: impl FnOnce(&mut Row)) -> String {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let (list, run) = (words(&["./t", "-l"]), words(run));
        let mut row = Row { list, run, report: "junit".to_owned(), ..Row::default() };
        change(&mut row);
        let project = Project {
            settings: Settings::new(row).unwrap(),
            folder: "/p".into(),
            program: "unflake".into(),
            chosen: Vec::new(),
        };
        Plain { project: &project, time_max: Duration::ZERO }.command(&["a b", "it's"])
    }

    #[test]
    fn a_printed_command_can_be_pasted_whatever_tests_are_called() {
        assert_eq!(
            command(&["./t", "-o", "{report}", "{tests}"], |_| ()),
            r"./t -o /tmp/report.xml 'a b' 'it'\''s'"
        );
        assert_eq!(
            command(&["./t", "@{list}"], |_| ()),
            r"printf '%s\n' 'a b' 'it'\''s' > /tmp/tests.txt && ./t @/tmp/tests.txt"
        );
        let full = command(&["./t", "{tests}"], |row| {
            row.folder = Some("my app".to_owned());
            row.env.insert("CI".to_owned(), "1 2".to_owned());
            row.reset = vec!["./t".to_owned(), "--reset".to_owned()];
        });
        assert_eq!(full, r"(cd 'my app' && CI='1 2' ./t --reset && CI='1 2' ./t 'a b' 'it'\''s')");
        let secret = command(&["./t", "{tests}"], |row| {
            row.env.insert("DB_PASSWORD".to_owned(), "hunter2".to_owned());
            row.env.insert("DB_URL".to_owned(), "db://ada:x1@host/a".to_owned());
        });
        assert_eq!(secret, r#"DB_PASSWORD="$DB_PASSWORD" DB_URL="$DB_URL" ./t 'a b' 'it'\''s'"#);
        let each = command(&["./t", "{tests}"], |row| row.report = "exit".to_owned());
        assert_eq!(each, r"./t 'a b'; ./t 'it'\''s'");
    }
}
