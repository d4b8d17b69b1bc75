//! The seam between unflake and test runners: what every runner must provide.
//!
//! An [`Adapter`] is our side of a family of runners. It recognises a folder by the files in it,
//! opens it as a [`Project`], and tells `doctor` what is missing. A project has one or more
//! [`Part`]s: suites that run separately, such as the modules of a build. A part says how the
//! engine starts its agent, what can be done with its tests ([`Abilities`]), and how to ask the
//! project's own runner ([`PlainRunner`]).
//!
//! Differences between runners are data or methods here. Nothing above this crate asks which runner
//! it is; a new one is a crate of its own and one line in the registry (`app::registry`).

mod abilities;
mod doctor;
mod mender;
mod opening;
mod part;
mod plain;

use std::path::Path;

pub use abilities::Abilities;
pub use doctor::{Examination, Found, Preset, collection_warnings, examine_engine, with_causes};
pub use mender::{ChangedFile, MendError, Mender, Proposals, Wrong, WrongState, changed};
pub use opening::{OpenError, Opening, OwnOption, OwnOptions, OwnValue, folders_of_project};
pub use part::{Call, CodeFiles, Need, Part, Readied, Site};
pub use plain::{Around, Given, Outcomes, PlainRunner, named};
use unflake_engine::Limits;
pub use unflake_known::Check;
pub use unflake_known::fix::{Proposal, ProposedFile};
use unflake_known::junit_xml::Address;
pub use unflake_model::Calls;

/// Our side of a family of test runners.
pub trait Adapter: Sync {
    /// The runners in this family.
    fn runners(&self) -> &'static [Runner];

    /// Files in the top folder of a project by which it is recognised.
    fn marks(&self) -> &'static [&'static str];

    /// Files that mark the top folder of a project. Not all marks do: a module may have such a
    /// file, too.
    fn top_marks(&self) -> &'static [&'static str];

    /// What its runners have in common, as people call it: the language of their tests.
    fn family(&self) -> &'static str;

    /// Options that only its projects have.
    fn options(&self) -> &'static [OwnOption] {
        &[]
    }

    /// What its parts can do at best. A part may be able to do less; see [`Part::abilities`].
    fn abilities(&self) -> Abilities;

    /// Opens a project: finds or builds its interpreter, and finds its parts.
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Project>, OpenError>;

    /// Opens the project of a run on record, as it was called then. Values in `opening` take
    /// precedence.
    fn reopen(&self, call: &Call, opening: &Opening<'_>) -> Result<Box<dyn Project>, OpenError>;

    /// Checks everything that running tests needs, without running any.
    fn examine(&self, opening: &Opening<'_>, limits: &Limits) -> Examination;

    /// What a test of this runner is called in JUnit XML, where this stands between class and name
    /// in its id, if the project says so.
    fn address(&self, id: &str, between: Option<&str>) -> Address;

    /// An example of how its tests are spelled, for people who misspell one.
    fn spelling(&self) -> &'static str;

    /// Whether test files can be changed by [`Mender`] if this runner runs them.
    fn mends(&self, _runner: &str) -> bool {
        self.abilities().mends
    }

    /// Whether a folder looks like one of its projects.
    fn recognises(&self, folder: &Path) -> bool {
        self.marks().iter().any(|mark| folder.join(mark).is_file())
    }

    /// Whether it reaches this runner, given by name or by name and version.
    fn reaches(&self, runner: &str) -> bool {
        self.runners().iter().any(|known| known.name == runner_name(runner))
    }
}

/// A runner that an adapter reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runner {
    /// Its name: what `--runner` takes, and what reports say.
    pub name: &'static str,
    /// What it is, for `--help`.
    pub description: &'static str,
}

/// The name of a runner, given its name and version.
pub fn runner_name(runner: &str) -> &str {
    runner.split(' ').next().unwrap_or(runner)
}

/// A project that has been opened.
pub trait Project: Sync {
    /// The suites of the project, at least one.
    fn parts(&self) -> Vec<&dyn Part>;

    /// What people should know about how it was opened, such as modules that were left out.
    fn notes(&self) -> &[String] {
        &[]
    }
}
