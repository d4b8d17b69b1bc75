//! Trying what is suspected with the plain runner, and naming the state behind it, while the search
//! goes on.
//!
//! To start the plain runner takes as long as hundreds of forked runs, and three tries of it as
//! long as a whole search. A suspicion that is being confirmed is nearly always true, so it is
//! tried at once; where it was not, the tries are forgotten. Only for one test in question: of many
//! tests, some can be tried together when all are known.

use std::thread::{Scope, ScopedJoinHandle};

use unflake_adapter::PlainRunner;
use unflake_detect::Suspicion;
use unflake_known::{Confirmation, State};
use unflake_model::{Experiment, Finding, Suite, TestIndex};

use crate::confirm::state::{Dependency, shared_state};
use crate::confirm::{self, Reproduction};
use crate::engine_world::{Hatch, Stopped};
use crate::logbook::Logbook;
use crate::world::{Answer, Source, Watcher};

/// What is being tried, or was.
pub(crate) struct Trying<'scope> {
    test: TestIndex,
    reproductions: Vec<Reproduction>,
    tries: ScopedJoinHandle<'scope, Result<Confirmation, String>>,
}

/// What state is being named, or was.
pub(crate) struct Naming<'scope> {
    dependency: Dependency,
    state: ScopedJoinHandle<'scope, Result<Vec<State>, Stopped>>,
}

impl Naming<'_> {
    /// What came of it, if it is what this finding depends on; whoever names it must be done.
    pub(crate) fn answer(self, finding: &Finding) -> Option<Result<Vec<State>, Stopped>> {
        let is_wanted = Dependency::found(finding).as_ref() == Some(&self.dependency);
        if is_wanted { self.state.join().ok() } else { None }
    }
}

impl Trying<'_> {
    /// What came of it, if it is a finding's commands that were tried; waits for the last of them.
    pub(crate) fn answer(self, finding: &Finding) -> Option<Result<Confirmation, String>> {
        let wanted = confirm::reproductions(finding);
        let is_wanted = self.test == finding.test
            && finding.verdict.is_order_dependent()
            && self.reproductions.iter().all(|it| wanted.contains(it));
        if is_wanted { self.tries.join().ok() } else { None }
    }
}

/// Writes the logbook, and begins to try and to explain the first suspicion there is.
pub(crate) struct Ahead<'scope, 'env, 'l, 'p> {
    pub(crate) scope: &'scope Scope<'scope, 'env>,
    pub(crate) suite: &'env Suite,
    pub(crate) runner: &'env dyn PlainRunner,
    pub(crate) logbook: &'l mut Logbook<'p>,
    /// Whether one test is in question.
    pub(crate) is_one: bool,
    /// By which runs beside the search are asked for.
    pub(crate) hatch: Hatch,
    pub(crate) trying: Option<(Trying<'scope>, Naming<'scope>)>,
}

impl Watcher for Ahead<'_, '_, '_, '_> {
    fn ran(&mut self, experiment: &Experiment, answer: &Answer, source: Source) {
        self.logbook.ran(experiment, answer, source);
    }

    fn found(&mut self, finding: &Finding) {
        // Of one test in question, the report follows at once.
        if !self.is_one {
            self.logbook.found(finding);
        }
    }

    fn suspects(&mut self, suspicion: &Suspicion) {
        if !self.is_one || self.trying.is_some() {
            return;
        }
        let (suite, runner, test) = (self.suite, self.runner, suspicion.test);
        let reproductions = confirm::of_suspicion(suspicion);
        let tried = reproductions.clone();
        let hatch = self.hatch.clone();
        hatch.tell_beside(confirm::TRIES as usize);
        let tries = self.scope.spawn(move || {
            let confirmation = confirm::try_often(suite, test, &tried, runner);
            hatch.tell_beside(0);
            confirmation
        });
        let dependency = Dependency::suspected(suspicion);
        let (wanted, hatch) = (dependency.clone(), self.hatch.clone());
        let state = self.scope.spawn(move || shared_state(&hatch, wanted));
        let trying = Trying { test, reproductions, tries };
        self.trying = Some((trying, Naming { dependency, state }));
    }
}
