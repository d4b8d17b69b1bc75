//! Finds a change of the test files that stops one test from breaking another, and tries it.
//!
//! First comes the question of `why`: on which tests does this one depend, and through which state?
//! From the answer the adapter makes proposals, best first. Each is tried with the project's own
//! runner, in a view of the work tree that nobody else sees: the target must pass alone and after
//! every group it is known to depend on, and every other test of the suite must end as it does
//! without the change. A change that fails this is not shown.
//!
//! If a test ends differently with the change, it is rerun with and without it before the change is
//! blamed, and a test that the history knows to fail at random is not compared at all: it may be
//! flaky by itself. A change that could not be tried is not reported as useless.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_adapter::{
    Around, ChangedFile, MendError, Mender, Outcomes, Part, PlainRunner, Proposals, Wrong,
    WrongState, changed as as_changed,
};
use unflake_detect::subset::minimal_subset_at_once;
use unflake_engine::{Collected, Interrupt, Limits};
use unflake_known::fix::{Checked, Fix, Patch, Proposal, ProposedFile, Rejected};
use unflake_known::suite_run::Known;
use unflake_known::{Ended, Exhibit};
use unflake_model::{Evidence, Finding, Group, OutcomeKind, Suite, TestId, TestIndex, Verdict};

use unflake_campaign::begin::Keep;
use unflake_campaign::campaign::{Answered, answer};
use unflake_campaign::deadline::Deadline;
use unflake_campaign::error::CampaignError;
use unflake_campaign::history::History;
use unflake_campaign::logbook::Progress;
use unflake_campaign::question::Request;

/// How many groups the target is tried after.
const GROUPS_MAX: usize = 50;

/// Runs of all tests with a change, and as many without, before the change is said to break one of
/// them: that test must always end one way in these and the other way in those. A test that fails
/// in every other run does so in 4 of 1,000 cases.
const SUITE_RUNS: usize = 4;

/// How many campaigns of the history to search for tests that fail at random.
const CAMPAIGNS_MAX: usize = 50;

/// The time limit for all tests with the project's own runner.
const SUITE_MAX: Duration = Duration::from_mins(10);

/// What to mend, and how far to go.
#[derive(Clone, Copy, Debug)]
pub struct FixRequest<'a> {
    /// The question about the test.
    pub findings: &'a Request,
    /// Whether to continue after the first change that helps.
    pub all: bool,
}

/// Why a test could not be mended.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// Its dependencies could not be found out.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// No changes could be proposed.
    #[error(transparent)]
    Mend(#[from] MendError),
}

/// Why a change was not written.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The file was changed in the meantime.
    #[error("`{}` was changed in the meantime", .0.display())]
    Stale(PathBuf),
    /// The file cannot be read or written.
    #[error("cannot write `{}`", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// Why it cannot be read or written.
        #[source]
        source: io::Error,
    },
}

/// Searches for a change that puts a test right.
pub fn fix(
    request: FixRequest<'_>,
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Fix, FixError> {
    // Findings are put to the test even if time is up; changes are not.
    let until = Deadline::new(request.findings.wall_max, interrupt);
    let interrupt = &until.interrupt.lasting();
    let answered = answer(request.findings, project, limits, &until, progress)?;
    let Answered { findings, collected, start_time, .. } = answered;
    let is_cut_short = findings.ended != Ended::Confident || interrupt.is_raised();
    let mut fix = Fix {
        findings,
        patches: Vec::new(),
        rejected: Vec::new(),
        not_tried: Vec::new(),
        reasons: Vec::new(),
        is_cut_short,
    };
    let Some(exhibit) = fix.findings.exhibits.first().cloned() else { return Ok(fix) };
    let mender = match mender_for(project, &exhibit, &collected) {
        Ok(mender) => mender,
        Err(reason) => {
            fix.reasons.push(reason);
            return Ok(fix);
        }
    };
    let test_timeout = limits.test_timeout;
    let around = Around { collected: &collected, interrupt, start_time, test_timeout };
    let (suite, finding) = (fix.findings.suite.clone(), &exhibit.finding);
    let random = known_random(request.findings.keep.as_ref(), &suite);
    let check = PatchCheck {
        mender,
        around,
        suite: &suite,
        finding,
        random,
        untouched: RefCell::default(),
    };
    let wrong = wrong(&exhibit, &suite, &project.call().folder, &collected);
    progress.stage("thinking of changes that would put it right");
    let proposed = mender.propose(&wrong, interrupt);
    fix.is_cut_short |= interrupt.is_raised();
    let Proposals { patches, reasons } = match proposed {
        Err(_) if interrupt.is_raised() => return Ok(fix),
        proposed => proposed?,
    };
    fix.reasons = reasons;
    let mut proposed = patches.into_iter();
    while let Some(proposal) = proposed.next() {
        progress.stage(&format!("trying with the plain runner: {}", proposal.title));
        let proposal = check.shortened(proposal, &wrong);
        match check.check(&proposal) {
            Ok(checked) => fix.patches.push(Patch { proposal, checked }),
            Err(_) if interrupt.is_raised() => {
                // Nothing was seen that speaks against it.
                fix.is_cut_short = true;
                let untried = [proposal].into_iter().chain(proposed.by_ref());
                let stopped = |it: Proposal| Rejected { title: it.title, why: STOPPED.to_owned() };
                fix.not_tried.extend(untried.map(stopped));
                break;
            }
            Err(Against::Seen(why)) => {
                fix.rejected.push(Rejected { title: proposal.title, why });
            }
            Err(Against::NotTried(why)) => {
                fix.not_tried.push(Rejected { title: proposal.title, why });
            }
        }
        if !request.all && !fix.patches.is_empty() {
            break;
        }
    }
    fix.patches.sort_by_key(|patch| !patch.proposal.is_safe);
    Ok(fix)
}

/// Writes a change into the work tree.
pub fn apply(proposal: &Proposal) -> Result<(), ApplyError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ApplyError::File { path, source }
    };
    for file in &proposal.files {
        let now = match fs::read(&file.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed(&file.path))?,
        };
        if now != file.old.as_bytes() {
            return Err(ApplyError::Stale(file.path.clone()));
        }
    }
    for file in &proposal.files {
        fs::write(&file.path, &file.new).map_err(failed(&file.path))?;
    }
    Ok(())
}

/// The mender of the test, or why it cannot be mended.
fn mender_for<'a>(
    part: &'a dyn Part,
    exhibit: &Exhibit,
    collected: &Collected,
) -> Result<&'a dyn Mender, String> {
    let nobody = || format!("nobody here can change tests of {}", collected.runner);
    let mender = part.mender().ok_or_else(nobody)?;
    let why_not = mender.cannot(&collected.runner).or_else(|| cannot(exhibit.finding.verdict));
    why_not.map_or(Ok(mender), Err)
}

/// Why tests with this verdict cannot be mended; `None` if they can.
fn cannot(verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::OdVictim | Verdict::OdBrittle => None,
        Verdict::InsufficientEvidence => Some("too little was seen of the test".to_owned()),
        Verdict::NotFlaky => Some("the test is not flaky as far as was seen".to_owned()),
        Verdict::Nio => Some(
            "the test spoils its own second run: what it leaves behind is the matter, and nothing \
             that another test does"
                .to_owned(),
        ),
        Verdict::OdUnknownRole
        | Verdict::Ndod
        | Verdict::Ndoi
        | Verdict::NodUndecided
        | Verdict::Id
        | Verdict::Env
        | Verdict::Ud
        | Verdict::AlwaysFailing => {
            Some("only what depends on the order of tests can be mended so far".to_owned())
        }
    }
}

fn groups(finding: &Finding) -> &[Group] {
    if finding.verdict == Verdict::OdBrittle {
        &finding.dependencies.state_setters
    } else {
        &finding.dependencies.polluters
    }
}

fn wrong(exhibit: &Exhibit, suite: &Suite, folder: &Path, collected: &Collected) -> Wrong {
    let finding = &exhibit.finding;
    let is_brittle = finding.verdict == Verdict::OdBrittle;
    let named = |tests: BTreeSet<TestIndex>| -> Vec<String> {
        tests.into_iter().map(|test| suite.id(test).as_str().to_owned()).collect()
    };
    let members = || groups(finding).iter().flatten().copied().collect();
    let cleaners = &finding.dependencies.cleaners;
    let cleaners = || cleaners.iter().flat_map(|it| it.cleaners.iter().copied()).collect();
    let state = exhibit.state.iter().map(|state| WrongState {
        place: state.place.clone(),
        kind: state.kind.slug().to_owned(),
        before: state.before.clone(),
        after: state.after.clone(),
    });
    let in_git = folder.ancestors().find(|folder| folder.join(".git").exists());
    Wrong {
        rootdir: collected.rootdir.clone().into(),
        top: in_git.unwrap_or(folder).to_owned(),
        is_brittle,
        target: suite.id(finding.test).as_str().to_owned(),
        culprits: if is_brittle { Vec::new() } else { named(members()) },
        helpers: named(if is_brittle { members() } else { cleaners() }),
        state: state.collect(),
        kept: None,
    }
}

/// Why a change was not tried if no time was left.
const STOPPED: &str = "it ended before";

/// Why a change is not accepted.
enum Against {
    /// This was seen when it was tried.
    Seen(String),
    /// It could not be tried, for this reason.
    NotTried(String),
}

/// Tests that the history knows to fail at random; none if it cannot be read.
fn known_random(keep: Option<&Keep>, suite: &Suite) -> BTreeSet<TestId> {
    let ids: Vec<TestId> = suite.tests().map(|test| suite.id(test).clone()).collect();
    let known = keep.and_then(|keep| {
        let history = History::open(&keep.file).ok()?;
        history.known(&ids, CAMPAIGNS_MAX, None).ok()
    });
    let is_random = |known: &Known| {
        let verdict = known.verdict.as_ref().map(|(verdict, _)| *verdict);
        verdict.is_some_and(|it| it.is_non_deterministic() || it == Verdict::Id)
    };
    let named = ids.into_iter().zip(known.unwrap_or_default());
    named.filter(|(_, known)| is_random(known)).map(|(id, _)| id).collect()
}

/// Judges changes with the project's own runner.
struct PatchCheck<'a> {
    mender: &'a dyn Mender,
    around: Around<'a>,
    suite: &'a Suite,
    finding: &'a Finding,
    /// Tests that are ignored, however they end.
    random: BTreeSet<TestId>,
    /// How all tests ended without a change, in each run.
    untouched: RefCell<Vec<Outcomes>>,
}

impl PatchCheck<'_> {
    /// Whether a change helps and breaks nothing; if not, why.
    fn check(&self, proposal: &Proposal) -> Result<Checked, Against> {
        let changed = changed(proposal).map_err(Against::NotTried)?;
        self.passes_after(&[], &changed)?;
        let groups = groups(self.finding);
        for group in groups.iter().take(GROUPS_MAX) {
            self.passes_after(group, &changed)?;
        }
        let (touched, differing) = self.differing(&changed).map_err(Against::NotTried)?;
        let (repaired, broken): (Vec<TestId>, Vec<TestId>) =
            differing.into_iter().partition(|test| is_pass(&touched, test));
        let why = match broken.as_slice() {
            [] => {
                let n_compared = touched.keys().filter(|test| !self.random.contains(*test));
                let (n_groups, n_tests) = (groups.len().min(GROUPS_MAX), n_compared.count());
                return Ok(Checked { n_groups, n_tests, repaired });
            }
            [test] => format!("`{test}` then fails"),
            [test, others @ ..] => format!("`{test}` and {} others then fail", others.len()),
        };
        Err(Against::Seen(why))
    }

    /// How all tests end with a change, and which of them end differently because of it.
    fn differing(&self, changed: &[ChangedFile]) -> Result<(Outcomes, BTreeSet<TestId>), String> {
        let mut touched: Vec<Outcomes> = Vec::new();
        let mut suspects = BTreeSet::new();
        for n in 1..=SUITE_RUNS {
            touched.push(self.run_suite(changed)?);
            if self.untouched.borrow().len() < n {
                let untouched = self.run_suite(&[])?;
                self.untouched.borrow_mut().push(untouched);
            }
            suspects = differences(&self.untouched.borrow(), &touched);
            suspects.retain(|test| test != self.target() && !self.random.contains(test));
            if suspects.is_empty() {
                break;
            }
        }
        Ok((touched.swap_remove(0), suspects))
    }

    fn target(&self) -> &TestId {
        self.suite.id(self.finding.test)
    }

    /// Fails with a reason if the target does not pass after these tests.
    fn passes_after(&self, group: &[TestIndex], changed: &[ChangedFile]) -> Result<(), Against> {
        let tests = group.iter().chain([&self.finding.test]);
        let ids: Vec<&TestId> = tests.clone().map(|test| self.suite.id(*test)).collect();
        let took = tests.map(|test| self.suite.duration(*test)).sum();
        let outcomes = self.with(changed).run(&ids, took).map_err(Against::NotTried)?;
        if is_pass(&outcomes, self.target()) {
            return Ok(());
        }
        let names: Vec<&str> = ids[..ids.len() - 1].iter().map(|id| id.as_str()).collect();
        Err(Against::Seen(match names.as_slice() {
            [] => "the test fails alone with it".to_owned(),
            names => format!("the test still fails after {}", names.join(", ")),
        }))
    }

    fn run_suite(&self, changed: &[ChangedFile]) -> Result<Outcomes, String> {
        self.with(changed).run_suite(SUITE_MAX)
    }

    fn with<'c>(&'c self, changed: &'c [ChangedFile]) -> Box<dyn PlainRunner + 'c> {
        self.mender.plain_with(self.around, changed)
    }

    /// The same change with as few statements of a helper as suffice; unchanged if it does not help
    /// or takes none.
    fn shortened(&self, proposal: Proposal, wrong: &Wrong) -> Proposal {
        let (Some(n_all), Some(helper)) = (proposal.n_statements, &proposal.helper) else {
            return proposal;
        };
        let with = |kept: &[usize]| -> Option<Proposal> {
            let wrong =
                Wrong { helpers: vec![helper.clone()], kept: Some(kept.to_vec()), ..wrong.clone() };
            let proposed = self.mender.propose(&wrong, self.around.interrupt).ok()?;
            proposed.patches.into_iter().next()
        };
        let helps = |kept: &[usize]| -> Result<bool, String> {
            let Some(changed) = with(kept).and_then(|proposal| changed(&proposal).ok()) else {
                return Ok(false);
            };
            let first = groups(self.finding).first().map_or(&[][..], |group| group);
            Ok(self.passes_after(&[], &changed).is_ok()
                && self.passes_after(first, &changed).is_ok())
        };
        match minimal_subset_at_once(n_all, helps) {
            Ok(Some(kept)) => with(&kept).unwrap_or(proposal),
            Ok(None) | Err(_) => proposal,
        }
    }
}

fn changed(proposal: &Proposal) -> Result<Vec<ChangedFile>, String> {
    let one = |file: &ProposedFile| {
        let encoding = &file.encoding;
        let why = || format!("`{}` is written in {encoding}, not UTF-8", file.path.display());
        as_changed(file).ok_or_else(why)
    };
    proposal.files.iter().map(one).collect()
}

fn is_pass(outcomes: &Outcomes, test: &TestId) -> bool {
    outcomes.get(test).and_then(|kind| kind.evidence()) == Some(Evidence::Pass)
}

/// Tests that always end one way before, and always another way after. A test that does not always
/// end the same way is random, which is not the change's fault.
fn differences(before: &[Outcomes], after: &[Outcomes]) -> BTreeSet<TestId> {
    let one = |all: &[Outcomes], test: &TestId| {
        let mut ways: Vec<Option<OutcomeKind>> =
            all.iter().map(|outcomes| outcomes.get(test).copied()).collect();
        ways.dedup();
        if let [way] = ways[..] { Some(way) } else { None }
    };
    let differs = |test: &&TestId| match (one(before, test), one(after, test)) {
        (Some(before), Some(after)) => before != after,
        _ => false,
    };
    let tests: BTreeSet<&TestId> = before.iter().chain(after).flat_map(BTreeMap::keys).collect();
    tests.into_iter().filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_fails_at_random_is_nobodys_fault() {
        let id = |name: &str| name.parse::<TestId>().unwrap();
        let outcomes = |broken, random| {
            let kind = |fails| if fails { OutcomeKind::Failed } else { OutcomeKind::Passed };
            BTreeMap::from([(id("broken"), kind(broken)), (id("random"), kind(random))])
        };
        let once = differences(&[outcomes(false, false)], &[outcomes(true, true)]);
        assert_eq!(once, BTreeSet::from([id("broken"), id("random")]));
        let before = [outcomes(false, false), outcomes(false, true)];
        let after = [outcomes(true, true), outcomes(true, true)];
        assert_eq!(differences(&before, &after), BTreeSet::from([id("broken")]));
    }
}
