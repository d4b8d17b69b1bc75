//! What can be tried and named while the search still goes on?
//!
//! Starting the plain runner takes as long as hundreds of forked runs, and three tries take as long
//! as a whole search. A suspicion that is being confirmed is nearly always true, so it is tried at
//! once; if it was wrong, the tries are forgotten. This is done only for a question about one test:
//! of many tests, some can be tried together once all are known.

use futures_util::future::join;
use unflake_model::{Confirmation, Finding, TestIndex};

use crate::confirm::plain::{Reproduction, Said, of_suspicion, reproductions, try_often};
use crate::confirm::state::{Dependency, SharedState, shared_state};
use crate::lab::Lab;

/// What was tried and named during the search.
#[derive(Clone, Debug)]
pub struct TriedMeanwhile {
    test: TestIndex,
    reproductions: Vec<Reproduction>,
    confirmation: Result<Confirmation, String>,
    dependency: Dependency,
    state: SharedState,
}

impl TriedMeanwhile {
    /// What the plain runner said, if the commands tried are those of this finding.
    pub fn said(&self, finding: &Finding) -> Option<Said> {
        let wanted = reproductions(finding);
        let is_wanted = self.test == finding.test
            && finding.verdict.is_order_dependent()
            && self.reproductions.iter().all(|it| wanted.contains(it));
        is_wanted.then(|| self.confirmation.clone().map(Some))
    }

    /// The state that was named, if it belongs to the dependency of this finding.
    pub fn state(&self, finding: &Finding) -> Option<SharedState> {
        let is_wanted = Dependency::found(finding).as_ref() == Some(&self.dependency);
        is_wanted.then(|| self.state.clone())
    }
}

/// Searches, and meanwhile tries and explains the first suspicion.
pub async fn trying_meanwhile<T>(
    lab: Lab,
    search: impl Future<Output = T>,
) -> (T, Option<TriedMeanwhile>) {
    let suspected = lab.first_suspicion();
    let search = async {
        let found = search.await;
        lab.suspect_no_more();
        found
    };
    let meanwhile = async {
        let suspicion = suspected.await.ok()?;
        let reproductions = of_suspicion(&suspicion);
        let dependency = Dependency::suspected(&suspicion);
        let (confirmation, state) = join(
            try_often(&lab, suspicion.test, &reproductions),
            shared_state(&lab, dependency.clone()),
        )
        .await;
        Some(TriedMeanwhile {
            test: suspicion.test,
            reproductions,
            confirmation,
            dependency,
            state,
        })
    };
    join(search, meanwhile).await
}
