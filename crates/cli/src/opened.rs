//! The project that a command is about, opened by its adapter; and its parts, one after the other.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use unflake_adapter::{
    Abilities, Adapter, Call, Need, OpenError, Opening, OwnOptions, Part, Project, Readied,
};
use unflake_app::registry::{ADAPTERS, adapter_for, settled_runner};
use unflake_engine::{Interrupt, Level};
use unflake_report::visible;

use crate::exit::{self, Failure};
use crate::isolation::IsolationArg;
use crate::running::{cache, here};

/// What was typed about the project.
#[derive(Clone, Copy)]
pub(crate) struct Typed<'a> {
    /// The runner that was named, if one was.
    pub(crate) runner: Option<&'a str>,
    /// Options that only one adapter knows.
    pub(crate) own: &'a OwnOptions,
    /// Files, folders or tests.
    pub(crate) paths: &'a [OsString],
    /// Options for the runner itself.
    pub(crate) options: &'a [OsString],
    /// The seed of the campaign, where one is to begin.
    pub(crate) seed: Option<u64>,
}

impl<'a> Typed<'a> {
    /// The adapter for the project in the folder we stand in.
    pub(crate) fn adapter(&self) -> Result<&'static dyn Adapter, Failure> {
        Ok(adapter_for(&here()?, self.runner, self.own))
    }

    /// What an adapter is told about the project in a folder.
    pub(crate) fn opening(&self, folder: PathBuf, interrupt: &'a Interrupt) -> Opening<'a> {
        Opening {
            folder,
            runner: self.runner.or_else(|| settled_runner(self.own)),
            paths: self.paths,
            options: self.options,
            own: self.own,
            seed: self.seed,
            cache: cache(),
            program: std::env::current_exe().ok(),
            interrupt,
        }
    }

    /// Refuses a command that needs what this project's runner cannot do, before anything is built.
    pub(crate) fn require(
        &self,
        is_able: fn(&Abilities) -> bool,
        what: &str,
        hint: &str,
    ) -> Result<(), Failure> {
        if is_able(&self.adapter()?.abilities()) {
            return Ok(());
        }
        let able = ADAPTERS.iter().filter(|adapter| is_able(&adapter.abilities()));
        let names: Vec<&str> = able.flat_map(|it| it.runners()).map(|it| it.name).collect();
        let message = format!("{what}, which works with {} only so far", names.join(" and "));
        Err(Failure::input(message, hint))
    }
}

/// A project that was opened.
pub(crate) struct Opened {
    adapter: &'static dyn Adapter,
    project: Box<dyn Project>,
}

impl Opened {
    /// The project in the folder we stand in.
    pub(crate) fn find(typed: Typed<'_>, interrupt: &Interrupt) -> Result<Self, Failure> {
        let adapter = typed.adapter()?;
        let opened = adapter.open(&typed.opening(here()?, interrupt));
        Self::checked(adapter, opened)
    }

    /// The project of a run on record.
    pub(crate) fn again(
        adapter: &'static dyn Adapter,
        call: &Call,
        typed: Typed<'_>,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let opened = adapter.reopen(call, &typed.opening(here()?, interrupt));
        Self::checked(adapter, opened)
    }

    fn checked(
        adapter: &'static dyn Adapter,
        opened: Result<Box<dyn Project>, OpenError>,
    ) -> Result<Self, Failure> {
        let project = opened.map_err(failure)?;
        for note in project.notes() {
            exit::note(&format!("note: {}\n", visible(note)));
        }
        if project.parts().is_empty() {
            let message = "no tests were collected".to_owned();
            return Err(Failure::NotRun { message, hint: Some("see the notes above".to_owned()) });
        }
        Ok(Self { adapter, project })
    }

    /// Its suites.
    pub(crate) fn parts(&self) -> Vec<&dyn Part> {
        self.project.parts()
    }

    /// How its tests are spelled.
    pub(crate) fn spelling(&self) -> &'static str {
        self.adapter.spelling()
    }

    /// The levels at which its runs are kept apart, as far as its runner permits.
    pub(crate) fn levels(&self, isolation: IsolationArg) -> Vec<Level> {
        isolation.levels(self.adapter)
    }
}

fn failure(error: OpenError) -> Failure {
    match error {
        OpenError::Refused { message, hint } => Failure::input(message, hint),
        OpenError::Broken { message, hint } => Failure::NotRun { message, hint },
        OpenError::Stopped => Failure::Stopped(error.to_string()),
    }
}

/// A part made ready, looked into.
fn look<T>(
    part: &dyn Part,
    manner: &Manner<'_>,
    look: impl FnOnce(&dyn Part) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let need = Need { many_runs: manner.is_long, traces: manner.tracing != Tracing::No };
    let Readied { part, not_traced } = part.ready(need, manner.interrupt).map_err(failure)?;
    if let Some(why) = not_traced {
        let message = format!("functions cannot be traced: {why}");
        if manner.tracing == Tracing::Must {
            return Err(Failure::NotRun { message, hint: None });
        }
        exit::note(&format!("note: {}\n", visible(&message)));
    }
    look(&*part)
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
    /// Whether the functions that tests call are traced.
    pub(crate) tracing: Tracing,
    /// Stops it.
    pub(crate) interrupt: &'a Interrupt,
}

/// Whether the functions that tests call are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracing {
    /// They need not be.
    No,
    /// If they can be.
    IfPossible,
    /// Nothing else is asked for.
    Must,
}

/// What was found in the parts of a project, by name.
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
    parts: &[&dyn Part],
    manner: &Manner<'_>,
    mut look_at: impl FnMut(&dyn Part) -> Result<T, Failure>,
) -> Result<Parts<T>, Failure> {
    let named: Vec<_> = parts.iter().map(|part| (part.name(), *part)).collect();
    one_by_one(&named, manner.interrupt, |part| look(*part, manner, &mut look_at))
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

    /// Each by its name; of one that needs none, without.
    pub(crate) fn named(&self) -> Vec<(&str, &T)> {
        let name = |name| if self.is_one() { "" } else { name };
        self.found.iter().map(|(it, found)| (name(it.as_str()), found)).collect()
    }

    /// What is shown about them to people: as one, with headings.
    pub(crate) fn joined(&self, shown: impl Fn(&T) -> String) -> String {
        if let ([(_, found)], true) = (&*self.found, self.is_one()) {
            return shown(found);
        }
        let parts = self.found.iter().map(|(name, found)| (&**name, shown(found)));
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
        let text = parts.joined(ToString::to_string);
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
        assert_eq!(Parts::one(5).joined(ToString::to_string), "5");
    }
}
