//! One test under suspicion: of what kind is it, and on what does it depend?
//!
//! The test is first taken for deterministic, which is cheap: run it alone, find a prefix after
//! which it ends otherwise, shrink that prefix to a minimal group, then confirm both sides many
//! times. One contradiction anywhere, the same prefix with both outcomes, proves it
//! non-deterministic for good; then the same search is made on failure rates, with every run so
//! far as evidence and with a bound on its error (see [`crate::oracle`]).
//!
//! What was found when the budget ends is kept, and says so by not being confirmed.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use unflake_model::random::Random;
use unflake_model::{CleanersOf, Dependencies, Evidence, Finding, Group, TestIndex};

use crate::classify::{ERROR_OF_A_DIFFERENCE, Facts, classify};
use crate::contrast::{Contrast, Pairs};
use crate::hunch::ranking;
use crate::lab::Lab;
use crate::oracle::{Answer, Manner, Oracle, Stop, order_of};
use crate::search::{GROUPS_MAX, all_cleaners, all_groups, minimal_group};

/// How much to find out about a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Its kind, and one group it depends on where that is what proves the kind.
    Kind,
    /// All groups it depends on and all cleaners, by a search that asks few questions. A polluter
    /// with cleaners of its own on both sides of it may be missed.
    Roles,
    /// The same by asking about every single test (Lam et al.): `n - 1` pairs, and `n - 2` triples
    /// for each polluter. Misses no single polluter, cleaner or state-setter.
    Exhaustive,
}

/// Runs alone before a first opinion.
const ALONE_FIRST: u64 = 3;

/// Runs alone behind a confirmed verdict ("run it 10 times", spec 2.3).
pub const ALONE_CONFIRMED: u64 = 10;

/// Runs with the group behind a confirmed verdict. A test that fails after it in 60 % of the runs
/// only, and is thus non-deterministic, passes for deterministic with probability 0.6^25 = 3e-6.
pub const GROUP_CONFIRMED: u64 = 25;

/// How many likely suspects are asked about one by one before the search: two executions each.
const LIKELY_MAX: usize = 8;

/// How many random arrangements of all other tests are searched for further groups.
const N_SHUFFLED: u64 = 4;

/// Runs of one prefix after which a difference between two rates that does not show is given up.
const CONTRAST_MAX: u64 = 100;

/// Runs of each prefix at the first look.
const CONTRAST_MIN: u64 = 10;

/// What an investigation has found out so far.
#[derive(Clone, Debug, Default)]
struct Notes {
    groups: Vec<Group>,
    cleaners: Vec<CleanersOf>,
    confirmed: bool,
    effect_is_failing: bool,
    difference: Option<f64>,
}

impl Notes {
    /// Whether the groups and cleaners known predict the effect after this prefix: a group stands
    /// in it, and none of its cleaners behind it.
    fn explain(&self, prefix: &[TestIndex]) -> bool {
        self.groups.iter().any(|group| {
            let mut wanted = group.iter();
            let mut next = wanted.next();
            let mut is_polluted = false;
            for test in prefix {
                if next == Some(test) {
                    next = wanted.next();
                    is_polluted |= next.is_none();
                } else if is_polluted && self.is_cleaner(group, *test) {
                    is_polluted = false;
                }
            }
            is_polluted
        })
    }

    fn is_cleaner(&self, group: &Group, test: TestIndex) -> bool {
        self.cleaners.iter().any(|c| c.polluters == *group && c.cleaners.contains(&test))
    }
}

/// Finds out about one test. Never fails: what the budget does not cover is missing or not
/// confirmed in the finding.
pub async fn explain(lab: Lab, target: TestIndex, depth: Depth) -> Finding {
    lab.watch(target);
    let mut notes = Notes::default();
    if deterministic(&lab, target, depth, &mut notes).await == Err(Stop::Contradiction) {
        notes = Notes::default();
        // Out of budget or not: the verdict below rests on what the ledger holds.
        let _ = noisy(&lab, target, depth, &mut notes).await;
    }
    finding(&lab, target, notes)
}

fn finding(lab: &Lab, target: TestIndex, notes: Notes) -> Finding {
    let ledger = lab.ledger();
    let record = ledger.of(target);
    let after = |universe: &Vec<TestIndex>| ledger.tally_after(universe, target);
    let facts = Facts {
        alone: ledger.tally_after(&[], target),
        contexts: ledger.tallies(target),
        group: notes.groups.first().map(|group| ledger.tally_after(group, target)),
        after_all: universes(lab, target, &BTreeSet::new()).iter().map(after).collect(),
        group_confirmed: notes.confirmed,
        difference: notes.difference,
    };
    let conclusion = classify(&facts);
    let (polluters, state_setters) = if notes.effect_is_failing {
        (notes.groups, Vec::new())
    } else {
        (Vec::new(), notes.groups)
    };
    Finding {
        test: target,
        verdict: conclusion.verdict,
        confirmed: conclusion.confirmed,
        confidence: conclusion.confidence,
        tally: record.tally,
        passed_in: record.passed_in,
        failed_in: record.failed_in,
        dependencies: Dependencies { polluters, cleaners: notes.cleaners, state_setters },
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
    notes.effect_is_failing = alone == Evidence::Pass;
    let Some(context) = context_with_effect(&oracle, alone).await? else {
        return confirm_alone(&oracle).await;
    };
    let ranking = ranking(&lab.ledger(), target, other(alone));
    let mut group = likely_single(&oracle, &ranking).await?;
    if group.is_none() {
        let context = drop_unlikely(&oracle, context, &ranking).await?;
        group = minimal_group(&oracle, &context).await?;
    }
    let Some(group) = group else {
        return Ok(());
    };
    notes.groups.push(group.clone());
    confirm(&oracle, &group).await?;
    notes.confirmed = true;
    for culprit in group {
        lab.add_culprit(culprit);
    }
    roles(&oracle, depth, notes).await
}

/// Runs alone and after the group in turn, as often as a confirmed verdict asks for. In turn,
/// because failures may come in bursts: runs made one after the other then agree with each other
/// and prove nothing, while a burst that catches both kinds of run contradicts itself.
async fn confirm(oracle: &Oracle, group: &[TestIndex]) -> Result<(), Stop> {
    for _ in 0..ALONE_CONFIRMED {
        let lab = oracle.lab();
        let order = order_of(group, oracle.target());
        let alone = order_of(&[], oracle.target());
        let runs = [order.clone(), alone, order];
        try_join_all(runs.into_iter().map(|order| lab.run(order))).await?;
        // Both must still answer as before; a contradiction ends the confirmation.
        oracle.ask(&[]).await?;
        oracle.ask(group).await?;
    }
    oracle.ask_at_least(group, GROUP_CONFIRMED).await.map(|_| ())
}

/// How the test ends alone, if always the same; `None` if it cannot be brought to speak.
async fn outcome_alone(lab: &Lab, target: TestIndex) -> Result<Option<Evidence>, Stop> {
    // The manner is not known yet; only the runs matter here.
    let manner = Manner::Deterministic { alone: Evidence::Pass };
    let probe = Oracle::new(lab.clone(), target, manner, 0.5);
    Ok(match probe.ask_at_least(&[], ALONE_FIRST).await? {
        Answer::No => Some(Evidence::Pass),
        Answer::Yes => Some(Evidence::Fail),
        Answer::Unsure => None,
    })
}

/// A single test that has the effect, if one of the likeliest has, or one of those that other
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

/// Leaves out the less likely half of the prefix, again and again while the effect stays.
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

/// A prefix after which the target ends otherwise than alone: one that was seen, or else all other
/// tests, forwards or backwards. In one of the two any single test comes after any other.
async fn context_with_effect(
    oracle: &Oracle,
    alone: Evidence,
) -> Result<Option<Vec<TestIndex>>, Stop> {
    let seen = oracle.lab().ledger().shortest_prefix(oracle.target(), other(alone));
    if seen.is_some() {
        return Ok(seen);
    }
    for universe in universes(oracle.lab(), oracle.target(), &BTreeSet::new()) {
        if oracle.ask(&universe).await? == Answer::Yes {
            return Ok(Some(universe));
        }
    }
    Ok(None)
}

/// All other tests in their original order, and reversed; without those that were seen to end the
/// process, since nothing would be learnt behind them.
fn universes(lab: &Lab, target: TestIndex, left_out: &BTreeSet<TestIndex>) -> [Vec<TestIndex>; 2] {
    let ledger = lab.ledger();
    let enders = ledger.process_enders();
    let is_wanted =
        |test: &TestIndex| *test != target && !left_out.contains(test) && !enders.contains(test);
    let forwards: Vec<TestIndex> = lab.suite().tests().filter(is_wanted).collect();
    let backwards = forwards.iter().rev().copied().collect();
    [forwards, backwards]
}

async fn roles(oracle: &Oracle, depth: Depth, notes: &mut Notes) -> Result<(), Stop> {
    match depth {
        Depth::Kind => Ok(()),
        Depth::Roles => search_roles(oracle, notes).await,
        Depth::Exhaustive => sweep_roles(oracle, notes).await,
    }
}

/// Groups, as far as cleaners do not hide them; cleaners, between known polluters only; then, with
/// all these cleaners left out, groups again; until nothing new turns up.
async fn search_roles(oracle: &Oracle, notes: &mut Notes) -> Result<(), Stop> {
    loop {
        let n_groups = notes.groups.len();
        groups_of_past_runs(oracle, notes).await?;
        let cleaners = notes.cleaners.iter().flat_map(|c| c.cleaners.iter().copied()).collect();
        for universe in arrangements(oracle, &cleaners) {
            all_groups(oracle, &universe, &mut notes.groups).await?;
        }
        let is_new = n_groups < notes.groups.len();
        if !notes.effect_is_failing || !is_new && n_groups == notes.cleaners.len() {
            return Ok(());
        }
        find_cleaners(oracle, notes).await?;
    }
}

/// Past runs that showed the effect although no known group explains it hold another group.
async fn groups_of_past_runs(oracle: &Oracle, notes: &mut Notes) -> Result<(), Stop> {
    let effect = if notes.effect_is_failing { Evidence::Fail } else { Evidence::Pass };
    while notes.groups.len() < GROUPS_MAX {
        let riddle = {
            let ledger = oracle.lab().ledger();
            let mut effects = ledger.attempts(oracle.target()).filter(|a| a.evidence == effect);
            effects.find(|a| !notes.explain(a.prefix())).map(|a| a.prefix().to_vec())
        };
        let Some(prefix) = riddle else {
            return Ok(());
        };
        match minimal_group(oracle, &prefix).await? {
            Some(group) if !notes.groups.contains(&group) => notes.groups.push(group),
            // Chance, or more than groups and cleaners can describe.
            _ => return Ok(()),
        }
    }
    Ok(())
}

/// Everything but some tests, in several arrangements: a polluter that a cleaner hides in one of
/// them is unlikely to be hidden in all.
fn arrangements(oracle: &Oracle, left_out: &BTreeSet<TestIndex>) -> Vec<Vec<TestIndex>> {
    let [forwards, backwards] = universes(oracle.lab(), oracle.target(), left_out);
    let shuffled = |number| {
        let mut tests = forwards.clone();
        Random::labelled(oracle.target().get() as u64, &[number]).shuffle(&mut tests);
        tests
    };
    let shuffled: Vec<Vec<TestIndex>> = (0..N_SHUFFLED).map(shuffled).collect();
    [vec![forwards, backwards], shuffled].concat()
}

/// The cleaners of every group, searched among all tests that are not known to pollute.
async fn find_cleaners(oracle: &Oracle, notes: &mut Notes) -> Result<(), Stop> {
    let polluters: BTreeSet<TestIndex> = notes.groups.iter().flatten().copied().collect();
    let [candidates, _] = universes(oracle.lab(), oracle.target(), &polluters);
    notes.cleaners.clear();
    for group in &notes.groups {
        let cleaners = all_cleaners(oracle, group, &candidates).await?;
        notes.cleaners.push(CleanersOf { polluters: group.clone(), cleaners });
    }
    Ok(())
}

/// The one-by-one procedure of spec 2.3: every single test as polluter or state-setter, then, for
/// each polluter, every other test as its cleaner.
async fn sweep_roles(oracle: &Oracle, notes: &mut Notes) -> Result<(), Stop> {
    let [others, _] = universes(oracle.lab(), oracle.target(), &BTreeSet::new());
    let pairs: Vec<Group> = others.iter().map(|test| vec![*test]).collect();
    let answers = oracle.ask_all(&pairs).await?;
    for (pair, answer) in pairs.into_iter().zip(answers) {
        if answer == Answer::Yes && !notes.groups.contains(&pair) {
            notes.groups.push(pair);
        }
    }
    if !notes.effect_is_failing {
        return Ok(());
    }
    for group in notes.groups.clone() {
        let between = others.iter().filter(|test| !group.contains(test));
        let triples: Vec<Vec<TestIndex>> =
            between.map(|test| [group.as_slice(), &[*test]].concat()).collect();
        let answers = oracle.ask_all(&triples).await?;
        let cleaners = triples.iter().zip(answers).filter(|(_, answer)| *answer == Answer::No);
        let cleaners = cleaners.filter_map(|(triple, _)| triple.last().copied()).collect();
        notes.cleaners.push(CleanersOf { polluters: group, cleaners });
    }
    Ok(())
}

/// The search for a target that passes and fails at random: which prefix changes how often?
async fn noisy(lab: &Lab, target: TestIndex, depth: Depth, notes: &mut Notes) -> Result<(), Stop> {
    let error = lab.budget().confidence().error();
    if depth == Depth::Kind {
        return Ok(());
    }
    let Some(contrast) = find_contrast(lab, target).await? else {
        return Ok(());
    };
    notes.difference = Some(contrast.p_value);
    let manner = Manner::Noisy { without: contrast.without, with: contrast.with };
    notes.effect_is_failing = contrast.without < contrast.with;
    let oracle = Oracle::new(lab.clone(), target, manner, error);
    let Some(group) = minimal_group(&oracle, &contrast.prefix).await? else {
        return Ok(());
    };
    let mut pairs = vec![Pairs::new(lab, target, group.clone())];
    if first_contrast(&mut pairs, GROUP_CONFIRMED).await?.is_none() {
        return Ok(());
    }
    notes.groups.push(group);
    notes.confirmed = true;
    roles(&oracle, depth, notes).await
}

/// A prefix after which the target fails at another rate than alone: all other tests, forwards or
/// backwards, or one after which it was seen to fail.
async fn find_contrast(lab: &Lab, target: TestIndex) -> Result<Option<Contrast>, Stop> {
    let mut prefixes = Vec::from(universes(lab, target, &BTreeSet::new()));
    let seen = lab.ledger().shortest_prefix(target, Evidence::Fail);
    prefixes.extend(seen.filter(|prefix| !prefix.is_empty()));
    let mut all: Vec<Pairs> = prefixes.into_iter().map(|p| Pairs::new(lab, target, p)).collect();
    first_contrast(&mut all, CONTRAST_MIN).await
}

/// Runs pairs, twice as many at each look, until one of the prefixes shows a difference.
async fn first_contrast(all: &mut [Pairs], n_first: u64) -> Result<Option<Contrast>, Stop> {
    let mut n = n_first;
    while n <= CONTRAST_MAX {
        for pairs in &mut *all {
            pairs.extend(n).await?;
            if pairs.p_value() <= ERROR_OF_A_DIFFERENCE {
                return Ok(Some(pairs.contrast()));
            }
        }
        n *= 2;
    }
    Ok(None)
}
