//! What is looked into: a Python project, or each module of a Java project by itself.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use unflake_app::adapter::Adapter;
use unflake_app::java::JavaModule;
use unflake_engine::{Interrupt, Level};
use unflake_junit::{Prepared, Tracing};
use unflake_pytest::Project;
use unflake_report::{json, visible};

use crate::exit::{self, Failure};
use crate::java::{self, Built};
use crate::running::{here, levels, project};
use crate::study_args::IsolationArg;

/// What is looked into.
pub(crate) enum Subject {
    /// A Python project.
    Python(Project),
    /// The modules of a Java project.
    Java(Built),
}

/// What was typed about the project.
#[derive(Clone, Copy, Default)]
pub(crate) struct Typed<'a> {
    pub(crate) python: Option<&'a OsString>,
    pub(crate) paths: &'a [OsString],
    pub(crate) options: &'a [OsString],
}

impl Subject {
    /// The project in the folder we stand in, in the language that its files speak of.
    pub(crate) fn find(typed: Typed<'_>, interrupt: &Interrupt) -> Result<Self, Failure> {
        let folder = here()?;
        if java::is_meant(&folder, typed.python.map(OsString::as_os_str)) {
            return Self::java(folder, typed, interrupt);
        }
        project(folder, typed).map(Self::Python)
    }

    /// The Java project in a folder.
    pub(crate) fn java(
        folder: PathBuf,
        typed: Typed<'_>,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        java::refuse_paths(typed.paths)?;
        java::build(folder, typed.options.to_vec(), interrupt).map(Self::Java)
    }

    /// Its suites.
    pub(crate) fn parts(&self) -> Vec<Part<'_>> {
        match self {
            Self::Python(project) => vec![Part::Project(project)],
            Self::Java(built) => {
                built.modules.iter().map(|module| Part::Module(built, module)).collect()
            }
        }
    }

    /// The levels at which its runs are kept apart. A virtual machine cannot be put apart once it
    /// runs.
    pub(crate) fn levels(&self, isolation: IsolationArg) -> Vec<Level> {
        match self {
            Self::Python(_) => levels(isolation),
            Self::Java(_) => Vec::new(),
        }
    }
}

/// A suite that is looked into by itself.
#[derive(Clone, Copy)]
pub(crate) enum Part<'s> {
    /// A Python project has one.
    Project(&'s Project),
    /// A module of a Java project.
    Module(&'s Built, &'s Prepared),
}

impl<'s> Part<'s> {
    /// Of a module. There is no other part where a name is needed.
    fn name(&self) -> &'s str {
        match self {
            Self::Project(_) => "",
            Self::Module(_, prepared) => &prepared.module.name,
        }
    }

    fn look<T>(
        &self,
        manner: &Manner<'_>,
        look: impl FnOnce(&dyn Adapter) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (built, prepared) = match *self {
            Self::Project(project) => return look(project),
            Self::Module(built, prepared) => (built, prepared),
        };
        let archived = manner.is_long.then(|| java::with_archive(prepared, manner.interrupt));
        let archived = archived.transpose()?;
        look(&JavaModule {
            project: &built.project,
            prepared: archived.as_ref().unwrap_or(prepared),
            nondex: built.nondex.as_ref(),
            tracing: manner.tracing,
        })
    }
}

/// What each of so many parts has of the time for all together.
pub(crate) fn share_of(time: Option<Duration>, n_parts: usize) -> Option<Duration> {
    time.map(|time| time / u32::try_from(n_parts).unwrap_or(u32::MAX).max(1))
}

/// How parts are looked into.
#[derive(Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// Whether so many runs are to come that it pays to have their processes start quickly.
    pub(crate) is_long: bool,
    /// Who tells which functions the tests of a Java project call, if that matters.
    pub(crate) tracing: Option<&'a Tracing>,
    /// Who stops it.
    pub(crate) interrupt: &'a Interrupt,
}

/// What was found in the parts of a subject, by name.
pub(crate) struct Parts<T> {
    pub(crate) found: Vec<(String, T)>,
    /// Those that were to be looked into, and were not.
    pub(crate) missing: Vec<String>,
    /// The exit code for these.
    code: u8,
}

/// Looks into one part after the other, until somebody stops it. Which of several cannot be run is
/// said, and the rest goes on.
pub(crate) fn look_into<T>(
    parts: &[Part<'_>],
    manner: &Manner<'_>,
    mut look: impl FnMut(&dyn Adapter) -> Result<T, Failure>,
) -> Result<Parts<T>, Failure> {
    let named: Vec<_> = parts.iter().map(|part| (part.name(), part)).collect();
    one_by_one(&named, manner.interrupt, |part| part.look(manner, &mut look))
}

fn one_by_one<P, T>(
    named: &[(&str, P)],
    interrupt: &Interrupt,
    mut look: impl FnMut(&P) -> Result<T, Failure>,
) -> Result<Parts<T>, Failure> {
    let mut all = Parts { found: Vec::new(), missing: Vec::new(), code: exit::SUCCESS };
    for (name, part) in named {
        let looked = if interrupt.is_raised() {
            Err(Failure::Stopped("stopped before anything was run".to_owned()))
        } else {
            look(part)
        };
        match looked {
            Ok(found) => all.found.push(((*name).to_owned(), found)),
            Err(failure) if named.len() == 1 => return Err(failure),
            Err(failure) => all.miss(name, &failure),
        }
    }
    if all.found.is_empty() && !all.missing.is_empty() {
        let message = "no module could be looked into".to_owned();
        return Err(match all.code {
            exit::UNDECIDED => Failure::Stopped(message),
            _ => Failure::NotRun { message, hint: Some("see the notes above".to_owned()) },
        });
    }
    Ok(all)
}

impl<T> Parts<T> {
    /// All there is.
    pub(crate) fn one(found: T) -> Self {
        Self { found: vec![(String::new(), found)], missing: Vec::new(), code: exit::SUCCESS }
    }

    fn miss(&mut self, name: &str, failure: &Failure) {
        exit::note(&format!("note: module `{}`: {}", visible(name), failure.told()));
        self.missing.push(name.to_owned());
        self.code = exit::worse(self.code, failure.code());
    }

    /// Whether there is but one, which then needs no name.
    pub(crate) fn is_one(&self) -> bool {
        self.found.len() + self.missing.len() <= 1
    }

    /// How a command ends that has found this.
    pub(crate) fn code(&self, of: impl Fn(&T) -> u8) -> u8 {
        self.found.iter().map(|(_, found)| of(found)).fold(self.code, exit::worse)
    }

    /// What is shown about them, as one: with headings, or for programs as one document.
    pub(crate) fn joined(&self, is_json: bool, shown: impl Fn(&T) -> String) -> String {
        if let ([(_, found)], true) = (&*self.found, self.is_one()) {
            return shown(found);
        }
        let parts = self.found.iter().map(|(name, found)| (&**name, shown(found)));
        if is_json {
            return json::join_modules(&parts.collect::<Vec<_>>());
        }
        parts.map(|(name, text)| ["Module ", name, "\n\n", &text, "\n"].concat()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: [(&str, u8); 3] = [("a", 0), ("b", 1), ("c", 2)];

    fn broken() -> Failure {
        Failure::NotRun { message: "it does not start".to_owned(), hint: None }
    }

    #[test]
    fn a_module_that_cannot_be_run_takes_nothing_from_the_others() {
        let look = |part: &u8| if *part == 1 { Err(broken()) } else { Ok(*part) };
        let parts = one_by_one(&NAMED, &Interrupt::default(), look).unwrap();
        assert_eq!(parts.found, [("a".to_owned(), 0), ("c".to_owned(), 2)]);
        assert_eq!(parts.missing, ["b"]);
        assert_eq!(parts.code(|_| exit::SUCCESS), exit::NOT_RUN);
        assert_eq!(parts.code(|_| exit::FOUND), exit::FOUND);
    }

    #[test]
    fn none_is_begun_after_a_stop_and_what_was_found_stays() {
        let interrupt = Interrupt::default();
        let parts = one_by_one(&NAMED, &interrupt, |part| {
            interrupt.raise();
            Ok(*part)
        });
        let parts = parts.unwrap();
        assert_eq!(parts.found, [("a".to_owned(), 0)]);
        assert_eq!(parts.missing, ["b", "c"]);
        assert_eq!(parts.code(|_| exit::SUCCESS), exit::UNDECIDED);
        let text = parts.joined(false, ToString::to_string);
        assert_eq!(text, "Module a\n\n0\n", "of several, it needs its name");
    }

    #[test]
    fn nothing_to_show_is_a_failure_and_of_one_part_its_own() {
        let failed = |named| one_by_one(named, &Interrupt::default(), |_| Err::<(), _>(broken()));
        let code = |named| failed(named).err().map(|failure| (failure.code(), failure.to_string()));
        assert_eq!(code(&NAMED[..1]), Some((exit::NOT_RUN, "it does not start".to_owned())));
        let of_all = "no module could be looked into".to_owned();
        assert_eq!(code(&NAMED), Some((exit::NOT_RUN, of_all.clone())));
        let stopped = Interrupt::default();
        stopped.raise();
        let none = one_by_one(&NAMED, &stopped, |part| Ok(*part)).err();
        assert_eq!(none.map(|it| (it.code(), it.to_string())), Some((exit::UNDECIDED, of_all)));
        assert_eq!(Parts::one(5).joined(false, ToString::to_string), "5");
    }
}
