//! What was found, as iDFlakies writes it (`flaky-lists.json`), for tools that read its lists.
//!
//! It knows two kinds of flaky tests, order-dependent and other, and for each an order with how the
//! test ended in it: the original one, and one in which it ended otherwise, both up to the test.
//! Findings of other kinds (`id`, `nio`, always failing) have no place there and are left out.

use serde::{Deserialize, Serialize};
use unflake_model::{OutcomeKind, TestIndex, Verdict};

use unflake_known::{Exhibit, Seen, View};

/// A list of flaky tests.
#[derive(Serialize, Deserialize)]
struct List {
    dts: Vec<Flaky>,
}

#[derive(Serialize, Deserialize)]
struct Flaky {
    name: String,
    intended: Run,
    revealed: Run,
    r#type: Kind,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    order: Vec<String>,
    result: String,
    test_run_id: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Kind {
    Od,
    Nod,
}

/// One list for all modules of a project.
pub fn render(modules: &[(&str, View<'_>)]) -> String {
    let flaky = |(_, view): &(&str, View<'_>)| {
        let of = |exhibit| Flaky::of(view, exhibit);
        view.exhibits.iter().filter_map(of).collect::<Vec<_>>()
    };
    let list = List { dts: modules.iter().flat_map(flaky).collect() };
    serde_json::to_string(&list).expect("texts and lists can be written") + "\n"
}

/// The names of the tests in a list, as iDFlakies spells them; why there are none.
pub fn names(text: &str) -> Result<Vec<String>, String> {
    let list: List = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(list.dts.into_iter().map(|flaky| flaky.name).collect())
}

/// A test, as iDFlakies spells it.
pub fn spelled(id: &str) -> String {
    id.replace('#', ".")
}

impl Flaky {
    fn of(view: &View<'_>, exhibit: &Exhibit) -> Option<Self> {
        let (intended, revealed) = exhibit.seen.as_ref()?;
        Some(Self {
            name: name(view, exhibit.finding.test),
            intended: Run::of(view, intended),
            revealed: Run::of(view, revealed),
            r#type: Kind::of(exhibit.finding.verdict)?,
        })
    }
}

impl Run {
    fn of(view: &View<'_>, seen: &Seen) -> Self {
        Self {
            order: seen.order.iter().map(|test| name(view, *test)).collect(),
            result: result(seen.outcome).to_owned(),
            test_run_id: view.origin.run_name(seen.run),
        }
    }
}

impl Kind {
    fn of(verdict: Verdict) -> Option<Self> {
        match verdict {
            Verdict::OdVictim | Verdict::OdBrittle | Verdict::OdUnknownRole => Some(Self::Od),
            Verdict::Ndod | Verdict::Ndoi | Verdict::NodUndecided | Verdict::Ud => Some(Self::Nod),
            Verdict::Id
            | Verdict::Env
            | Verdict::Nio
            | Verdict::NotFlaky
            | Verdict::AlwaysFailing
            | Verdict::InsufficientEvidence => None,
        }
    }
}

fn name(view: &View<'_>, test: TestIndex) -> String {
    spelled(view.suite.id(test).as_str())
}

fn result(outcome: OutcomeKind) -> &'static str {
    match outcome {
        OutcomeKind::Passed => "PASS",
        OutcomeKind::Skipped => "SKIPPED",
        OutcomeKind::Failed => "FAILURE",
        _ => "ERROR",
    }
}
