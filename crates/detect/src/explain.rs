//! One test under suspicion: of what kind is it, and on what does it depend?
//!
//! The test is first assumed to be deterministic, which is cheap: run it alone, find a prefix after
//! which it ends differently, shrink that prefix to a minimal group, then confirm both sides many
//! times. One contradiction anywhere, the same prefix with both outcomes, proves it
//! non-deterministic for good; then the same search is made on failure rates, with every run so far
//! as evidence and with a bound on its error (see [`crate::oracle`]).
//!
//! What was found when the budget ends is kept, but is not marked as confirmed.

use std::collections::BTreeSet;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use unflake_model::{Contrast, Environment, Evidence, Finding, Group, TestIndex, Tried};

use crate::apart;
use crate::classify::{ERROR_OF_A_DIFFERENCE, Facts, classify};
use crate::depth::Depth;
use crate::hunch::ranking;
use crate::in_turn::{ALONE_CONFIRMED, ALONE_FIRST, GROUP_CONFIRMED, confirm};
use crate::influence::{Hint, Influence, Pairs, hint};
use crate::lab::Lab;
use crate::oracle::{Answer, Manner, Oracle, Stop, order_of};
use crate::roles::{Roles, all_singles, arrangements, universes};
use crate::search::{groups_max, minimal_group};
use crate::tour::{Toured, search_by_tours};

/// How many likely suspects are asked about one by one before the search: each costs two
/// executions.
const LIKELY_MAX: usize = 8;

/// Runs of one prefix after which the search for a difference between two rates is given up.
const PAIRS_MAX: u64 = 100;

/// The number of runs alone and of (more expensive) runs in company at each look at whether the
/// order matters. The first is enough for a test that fails rarely or nearly always. After the
/// last, a test that fails every other time remains undecided in every third case, which saves
/// running it thousands of times.
const LOOKS: [(u64, u64); 4] = [(20, 20), (40, 40), (80, 80), (120, 80)];

/// Runs of each prefix at the first look.
const PAIRS_MIN: u64 = 10;

/// What an investigation has found so far.
#[derive(Clone, Debug, Default)]
struct Notes {
    roles: Roles,
    confirmed: bool,
    difference: Option<f64>,
    is_open: bool,
    is_complete: bool,
}

/// Investigates one test. Never fails: what the budget does not cover is missing from the finding
/// or not confirmed in it.
pub async fn explain(lab: Lab, target: TestIndex, depth: Depth) -> Finding {
    match explain_order(lab.clone(), target, depth).await {
        Some(finding) => finding,
        None => explain_random(lab, target, depth).await,
    }
}

/// The same, as long as the test ends the same way whenever the same tests ran before it; `None`
/// for any other.
pub(crate) async fn explain_order(lab: Lab, target: TestIndex, depth: Depth) -> Option<Finding> {
    lab.watch(target);
    if lab.ledger().is_non_deterministic(target) {
        return None;
    }
    let mut notes = Notes::default();
    let ended = deterministic(&lab, target, depth, &mut notes).await;
    let is_random = ended == Err(Stop::Contradiction);
    (!is_random).then(|| concluded(&lab, target, depth, (notes, ended)))
}

/// Investigates a test that passes and fails at random: does the order change how often?
pub(crate) async fn explain_random(lab: Lab, target: TestIndex, depth: Depth) -> Finding {
    lab.watch(target);
    let mut notes = Notes::default();
    let ended = noisy(&lab, target, depth, &mut notes).await;
    concluded(&lab, target, depth, (notes, ended))
}

/// The finding, in budget or not: its verdict rests on what the ledger holds.
fn concluded(
    lab: &Lab,
    target: TestIndex,
    depth: Depth,
    (mut notes, ended): (Notes, Result<(), Stop>),
) -> Finding {
    let is_cut = groups_max(notes.difference.is_none()) <= notes.roles.groups.len() + 1;
    notes.is_complete = ended.is_ok() && depth != Depth::Kind && !is_cut;
    let finding = finding(lab, target, notes);
    lab.conclude(&finding);
    finding
}

fn finding(lab: &Lab, target: TestIndex, notes: Notes) -> Finding {
    let environment = lab.environment();
    let ledger = lab.ledger();
    let record = ledger.of(target);
    let arranged = |tests: &[TestIndex]| lab.suite().arranged(tests, target);
    let after = |tests: &Vec<TestIndex>| lab.tally_after(&arranged(tests), target);
    let facts = Facts {
        alone: lab.tally_after(&[], target),
        contexts: ledger.tallies(environment, target),
        is_random: ledger.is_non_deterministic(target),
        group: notes.roles.groups.first().map(after),
        in_company: ledger.tally_in_company(target),
        group_confirmed: notes.confirmed,
        difference: notes.difference,
        is_open: notes.is_open,
    };
    let conclusion = classify(&facts);
    let contrast = facts.group.map(|after_group| Contrast { alone: facts.alone, after_group });
    Finding {
        test: target,
        verdict: conclusion.verdict,
        confirmed: conclusion.confirmed,
        confidence: conclusion.confidence,
        tally: record.usual(),
        tried: Tried::default(),
        passed_in: record.seen_in().0,
        failed_in: record.seen_in().1,
        is_complete: notes.is_complete,
        dependencies: notes.roles.into_dependencies(),
        fails_under: Some(environment).filter(|it| *it != Environment::Plain),
        contrast,
        questions: lab.n_questions(),
        spent: lab.spent(),
    }
}

async fn deterministic(
    lab: &Lab,
    target: TestIndex,
    depth: Depth,
    notes: &mut Notes,
) -> Result<(), Stop> {
    let Some(alone) = outcome_alone(lab, target).await? else {
        return Ok(());
    };
    let error = lab.budget().confidence().error();
    let oracle = Oracle::new(lab.clone(), target, Manner::Deterministic { alone }, error);
    notes.roles.effect_is_failing = alone == Evidence::Pass;
    let seen = lab.shortest_prefix(target, other(alone));
    let is_short = depth == Depth::Kind && seen.is_some();
    if !is_short && depth < Depth::Exhaustive && is_toured(&oracle, depth, notes).await? {
        return Ok(());
    }
    if depth == Depth::Exhaustive && apart::is_possible(&oracle) {
        apart::find_singles(&oracle, &mut notes.roles).await?;
    }
    if notes.roles.groups.is_empty() {
        let group = first_group(&oracle, alone, depth, &mut notes.is_open).await?;
        notes.roles.groups.extend(group);
    }
    let Some(group) = notes.roles.groups.first().cloned() else {
        return confirm_alone(&oracle).await;
    };
    confirm(&oracle, &group).await?;
    notes.confirmed = true;
    for culprit in group {
        lab.add_culprit(culprit);
    }
    find_roles(&oracle, depth, &mut notes.roles).await
}

/// Whether tours found what is wanted, with one group confirmed.
async fn is_toured(oracle: &Oracle, depth: Depth, notes: &mut Notes) -> Result<bool, Stop> {
    let before = notes.roles.clone();
    let toured = search_by_tours(oracle, depth, &mut notes.roles).await?;
    let Some(group) = notes.roles.groups.first().cloned() else {
        if toured == Toured::Puzzled {
            // An effect that comes and goes without a cause is chance, which is cheapest to see
            // alone.
            oracle.ask_at_least(&[], GROUP_CONFIRMED).await?;
        }
        return Ok(false);
    };
    match toured {
        Toured::Complete => (),
        Toured::Found => confirm(oracle, &group).await?,
        Toured::Puzzled | Toured::NotMade => {
            notes.roles = before;
            return Ok(false);
        }
    }
    notes.confirmed = true;
    for culprit in group {
        oracle.lab().add_culprit(culprit);
    }
    Ok(true)
}

/// A group that has the effect. Sets `is_open` if there may be one although none was found.
async fn first_group(
    oracle: &Oracle,
    alone: Evidence,
    depth: Depth,
    is_open: &mut bool,
) -> Result<Option<Group>, Stop> {
    if let Some(context) = context_with_effect(oracle, alone, is_open).await? {
        let ranking = ranking(&oracle.lab().ledger(), oracle.target(), other(alone));
        if let Some(single) = likely_single(oracle, &ranking).await? {
            return Ok(Some(single));
        }
        let context = drop_unlikely(oracle, context, &ranking).await?;
        return minimal_group(oracle, &context).await;
    }
    if Depth::Exhaustive <= depth {
        return Ok(all_singles(oracle).await?.into_iter().next());
    }
    Ok(None)
}

/// How the test ends alone, if always the same; `None` if it gives no evidence.
async fn outcome_alone(lab: &Lab, target: TestIndex) -> Result<Option<Evidence>, Stop> {
    // The manner is unknown so far; only the runs matter here.
    let manner = Manner::Deterministic { alone: Evidence::Pass };
    let probe = Oracle::new(lab.clone(), target, manner, 0.5);
    Ok(match probe.ask_at_least(&[], ALONE_FIRST).await? {
        Answer::No => Some(Evidence::Pass),
        Answer::Yes => Some(Evidence::Fail),
        Answer::Unsure => None,
    })
}

/// A single test that has the effect, if one of the likeliest suspects has it, or one that other
/// targets depend on: much cheaper than a search.
async fn likely_single(oracle: &Oracle, ranking: &[TestIndex]) -> Result<Option<Group>, Stop> {
    let mut suspects = oracle.lab().culprits();
    suspects.truncate(LIKELY_MAX);
    suspects.extend(ranking.iter().take(LIKELY_MAX));
    suspects.retain(|test| *test != oracle.target());
    for batch in suspects.chunks(oracle.lab().width()) {
        let singles: Vec<Group> = batch.iter().map(|test| vec![*test]).collect();
        let answers = oracle.ask_all(&singles).await?;
        let found = singles.into_iter().zip(answers).find(|(_, answer)| *answer == Answer::Yes);
        if let Some((group, _)) = found {
            return Ok(Some(group));
        }
    }
    Ok(None)
}

/// Leaves out the less likely half of the prefix, repeatedly while the effect remains.
async fn drop_unlikely(
    oracle: &Oracle,
    mut prefix: Vec<TestIndex>,
    ranking: &[TestIndex],
) -> Result<Vec<TestIndex>, Stop> {
    let in_prefix: BTreeSet<TestIndex> = prefix.iter().copied().collect();
    let mut likely: Vec<TestIndex> = ranking.to_vec();
    likely.retain(|test| in_prefix.contains(test));
    while LIKELY_MAX < prefix.len() {
        likely.truncate(prefix.len() / 2);
        let kept: BTreeSet<TestIndex> = likely.iter().copied().collect();
        let shorter: Vec<TestIndex> =
            prefix.iter().copied().filter(|test| kept.contains(test)).collect();
        if oracle.ask(&shorter).await? != Answer::Yes {
            break;
        }
        prefix = shorter;
    }
    Ok(prefix)
}

fn other(evidence: Evidence) -> Evidence {
    match evidence {
        Evidence::Pass => Evidence::Fail,
        Evidence::Fail => Evidence::Pass,
    }
}

async fn confirm_alone(oracle: &Oracle) -> Result<(), Stop> {
    oracle.ask_at_least(&[], ALONE_CONFIRMED).await.map(|_| ())
}

/// A prefix after which the target ends differently than alone: one that was seen, or else all
/// other tests, in several arrangements. Tests that end the process are left out.
async fn context_with_effect(
    oracle: &Oracle,
    alone: Evidence,
    is_open: &mut bool,
) -> Result<Option<Vec<TestIndex>>, Stop> {
    let seen = oracle.lab().shortest_prefix(oracle.target(), other(alone));
    if seen.is_some() {
        return Ok(seen);
    }
    let n_enders = || oracle.lab().ledger().process_enders().len();
    loop {
        let n_enders_before = n_enders();
        *is_open = false;
        for universe in arrangements(oracle, &BTreeSet::new()) {
            match oracle.ask(&universe).await? {
                Answer::Yes => return Ok(Some(universe)),
                Answer::No => (),
                Answer::Unsure => *is_open = true,
            }
            if n_enders_before < n_enders() {
                break;
            }
        }
        if n_enders_before == n_enders() {
            return Ok(None);
        }
    }
}

async fn find_roles(oracle: &Oracle, depth: Depth, roles: &mut Roles) -> Result<(), Stop> {
    match depth {
        Depth::Kind => Ok(()),
        Depth::Roles => roles.search(oracle).await,
        Depth::Exhaustive if apart::is_possible(oracle) => apart::complete(oracle, roles).await,
        Depth::Exhaustive | Depth::OneByOne => roles.sweep(oracle).await,
    }
}

/// The search for a target that passes and fails at random: which prefix changes how often?
async fn noisy(lab: &Lab, target: TestIndex, depth: Depth, notes: &mut Notes) -> Result<(), Stop> {
    let error = lab.budget().confidence().error();
    if depth == Depth::Kind {
        return Ok(());
    }
    let Some(influence) = find_influence(lab, target).await? else {
        return Ok(());
    };
    notes.difference = Some(influence.p_value);
    let manner = Manner::Noisy { without: influence.without, with: influence.with };
    notes.roles.effect_is_failing = influence.without < influence.with;
    let oracle = Oracle::new(lab.clone(), target, manner, error);
    let Some(group) = minimal_group(&oracle, &influence.prefix).await? else {
        return Ok(());
    };
    let mut pairs = vec![Pairs::new(lab, target, &group)];
    if first_influence(&mut pairs, GROUP_CONFIRMED, PAIRS_MAX).await?.is_none() {
        return Ok(());
    }
    notes.roles.groups.push(group);
    notes.confirmed = true;
    find_roles(&oracle, depth, &mut notes.roles).await
}

/// A prefix after which the target fails at a different rate than alone. Whether there may be one
/// is judged by runs alone and in company, most of which a campaign has made for other reasons;
/// only then are alternate pairs of runs made to show it.
async fn find_influence(lab: &Lab, target: TestIndex) -> Result<Option<Influence>, Stop> {
    for n_wanted in LOOKS {
        run_both_ways(lab, target, n_wanted).await?;
        match hint(lab, target) {
            Hint::Alike => return Ok(None),
            Hint::Unclear => (),
            Hint::Differ(singles) => {
                let mut prefixes: Vec<Vec<TestIndex>> = singles.into_iter().collect();
                prefixes.extend(universes(lab, target, &BTreeSet::new()));
                let seen = lab.shortest_prefix(target, Evidence::Fail);
                prefixes.extend(seen.filter(|prefix| !prefix.is_empty()));
                let pairs = |prefix: &Vec<TestIndex>| Pairs::new(lab, target, prefix);
                let mut all: Vec<Pairs> = prefixes.iter().map(pairs).collect();
                return first_influence(&mut all, PAIRS_MIN, PAIRS_MAX).await;
            }
        }
    }
    Ok(None)
}

/// Runs the target alone and behind all others, alternately, until there are enough runs of both
/// kinds; the order of the others does not matter.
async fn run_both_ways(
    lab: &Lab,
    target: TestIndex,
    (n_alone, n_company): (u64, u64),
) -> Result<(), Stop> {
    let n_alone = n_alone.saturating_sub(lab.tally_after(&[], target).attempts);
    let company = lab.ledger().tally_in_company(target);
    let n_company = n_company.saturating_sub(company.attempts);
    let both = universes(lab, target, &BTreeSet::new()).map(|prefix| order_of(&prefix, target));
    let alone = order_of(&[], target);
    let runs = (0..n_alone.max(n_company)).flat_map(|turn| {
        let behind = &both[usize::from(turn % 2 == 1)];
        let (is_alone_due, is_company_due) = (turn < n_alone, turn < n_company);
        let alone = is_alone_due.then(|| lab.run(alone.clone()));
        alone.into_iter().chain(is_company_due.then(|| lab.run(behind.clone())))
    });
    stream::iter(runs).buffer_unordered(lab.width() + 1).try_collect::<Vec<_>>().await?;
    Ok(())
}

/// Runs pairs, twice as many at each look, until one of the prefixes shows a difference.
async fn first_influence(
    all: &mut [Pairs],
    n_first: u64,
    n_max: u64,
) -> Result<Option<Influence>, Stop> {
    let mut n = n_first;
    while n <= n_max {
        for pairs in all.iter_mut() {
            pairs.extend(n).await?;
            if pairs.p_value() <= ERROR_OF_A_DIFFERENCE {
                return Ok(Some(pairs.influence()));
            }
        }
        n *= 2;
    }
    Ok(None)
}
