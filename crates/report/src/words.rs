//! Sentences that more than one format uses, so that a number is never told in two ways.

use std::time::Duration;

use unflake_known::{Confirmation, Ended, Exhibit, KnownFactor, View};
use unflake_model::{
    Confidence, Contrast, Dependencies, Environment, Factor, Finding, Tally, Tried, Verdict,
};
use unflake_stats::plan::rate_detectable;
use unflake_stats::rate::interval;

use crate::ranking::Family;
use crate::visible::visible;
pub(crate) use unflake_known::more;
pub use unflake_known::plural;

/// The noun alone.
pub(crate) fn noun<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// What to say about a cut list, with what its items are.
pub(crate) fn more_of(n_items: usize, n_shown: usize, one: &str, many: &str) -> Option<String> {
    Some(format!("{} {}", more(n_items, n_shown)?, noun(n_items - n_shown, one, many)))
}

/// A time span as a person would say it: `0.3 s`, `42 s`, `3 min 20 s`, `2 h 5 min`.
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let tenths = (duration.as_millis() + 50) / 100;
    let both = |(whole, unit): (u64, &str), (rest, small): (u64, &str)| match rest {
        0 => format!("{whole} {unit}"),
        _ => format!("{whole} {unit} {rest} {small}"),
    };
    match seconds {
        0..10 if duration.subsec_nanos() != 0 && tenths < 100 => {
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        9 if duration.subsec_nanos() != 0 => "10 s".to_owned(),
        0..60 => format!("{seconds} s"),
        60..3600 => both((seconds / 60, "min"), (seconds % 60, "s")),
        _ => both((seconds / 3600, "h"), (seconds % 3600 / 60, "min")),
    }
}

/// A share in percent, without the sign: whole numbers, and as many decimals as it takes to tell a
/// small share from none and a large one from all.
pub fn percent(share: f64, n_digits: u32) -> String {
    const DECIMALS_MAX: usize = 6;
    let percent = 100.0 * share;
    let from_the_end = percent.min(100.0 - percent);
    if from_the_end <= 0.0 {
        return if percent <= 0.0 { "0".to_owned() } else { "100".to_owned() };
    }
    let least = 10.0_f64.powi(n_digits.cast_signed() - 1);
    let is_told = |decimals: &usize| {
        let scale = 10.0_f64.powi(i32::try_from(*decimals).unwrap_or(i32::MAX));
        // A hair below, for shares such as 1 - 0.999, which miss the round number by one bit.
        least <= from_the_end * scale * (1.0 + 1e-9)
    };
    let decimals = (0..DECIMALS_MAX).find(is_told).unwrap_or(DECIMALS_MAX);
    let text = format!("{percent:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// How often a test failed, of what.
pub(crate) fn rate(finding: &Finding, confidence: Confidence) -> String {
    let is_by_hash = matches!(finding.fails_under, None | Some(Environment::Hashed { .. }));
    if finding.verdict == Verdict::Id && is_by_hash && finding.tally.failures != 0 {
        let sure = percent(confidence.get(), 1);
        let (of, limits) = (of(finding.tally), limits(finding.tally, confidence));
        return format!("failed under {of} hash seeds ({sure} % interval {limits})");
    }
    failed(finding.tally, confidence)
}

/// How far a test was tried, and what follows: what would have been seen, and what was not tried.
pub(crate) fn tried(tried: Tried, view: &View<'_>) -> Vec<String> {
    let confidence = view.confidence;
    let sure = percent(confidence.get(), 1);
    let bound = |n: u64| percent(rate_detectable(n, confidence), 2);
    let (order, orders) = if view.suite.keeps_order() {
        ("run of all tests, in the only order", "runs of all tests, in the only order")
    } else {
        ("order", "orders")
    };
    let ways = [
        (tried.runs, "run alone", "runs alone"),
        (tried.orders, order, orders),
        (tried.seeds, "hash seed", "hash seeds"),
        (tried.changed, "run in other circumstances", "runs in other circumstances"),
    ];
    let ways = ways.into_iter().filter(|(n, ..)| 1 < *n);
    let mut lines: Vec<String> = ways
        .map(|(n, one, many)| {
            let at_most = format!("fails in at most {} % of them ({sure} % sure)", bound(n));
            format!("{}: {at_most}", plural(n, one, many))
        })
        .collect();
    if 0 < tried.neighbours {
        let tests = plural(tried.neighbours, "other test", "other tests");
        lines.push(format!("directly behind {tests}"));
    }
    lines
}

/// What was not tried of what makes tests flaky.
pub(crate) fn not_tried(tried: Tried) -> String {
    let has = |factor| tried.factors.contains(factor);
    let ways = [
        (1 < tried.seeds, "hash seeds"),
        (has(Factor::Date), "dates"),
        (has(Factor::TimeZone), "time zones"),
        (has(Factor::Switches), "turns of threads"),
        (false, "load"),
        (false, "slow disks and networks"),
    ];
    let missing = ways.iter().filter(|(is_tried, _)| !is_tried).map(|(_, what)| *what);
    missing.collect::<Vec<_>>().join(", ")
}

/// `failed 3 of 40 (95 % interval 2 to 20 %)`.
pub fn failed(tally: Tally, confidence: Confidence) -> String {
    if tally.attempts == 0 {
        return "no plain run of it passed or failed".to_owned();
    }
    let sure = percent(confidence.get(), 1);
    // Whoever fails in other environments or when repeated only must not look innocent here.
    let plain = if tally.failures == 0 { " plain runs" } else { "" };
    format!("failed {}{plain} ({sure} % interval {})", of(tally), limits(tally, confidence))
}

/// `3 of 40`.
pub(crate) fn of(tally: Tally) -> String {
    format!("{} of {}", tally.failures, tally.attempts)
}

/// `2 to 20 %`.
pub(crate) fn limits(tally: Tally, confidence: Confidence) -> String {
    let limits = interval(tally, confidence);
    format!("{} to {} %", percent(limits.lower, 1), percent(limits.upper, 1))
}

/// "`hash-seed` makes it fail (…): failed 9 of 10 with it, 0 of 10 without; shaken in 3f2a91".
pub fn factor_in_words(known: &KnownFactor) -> String {
    let side = if known.makes_it_fail { "makes it fail" } else { "makes it pass" };
    let how = match known.how.join("; ") {
        how if how.is_empty() => String::new(),
        how => format!(" ({})", visible(&how)),
    };
    let older = if known.is_of_older_code { ", of older code" } else { "" };
    format!(
        "{} {side}{how}: failed {} with it, {} without; shaken in {}{older}",
        known.factors,
        of(known.with),
        of(known.without),
        known.campaign,
    )
}

/// What the finding rests on beyond its failure rate, sentence by sentence.
pub(crate) fn evidence(view: &View<'_>, exhibit: &Exhibit) -> String {
    let contrast = exhibit.finding.contrast.map(|it| sides(&exhibit.finding.dependencies, it));
    // Open choices are not the plain runner's to make.
    let who = if exhibit.finding.verdict == Verdict::Id {
        "the printed command".to_owned()
    } else {
        format!("plain {}", visible(&view.origin.runner))
    };
    let only = if exhibit.is_contradicted() { "only " } else { "" };
    let is_random = exhibit.finding.verdict.is_non_deterministic();
    let cold = exhibit.plain.said().map(|it| match it {
        // Of what is left to chance no run shows it: some fail, and others do not.
        Confirmation { as_predicted, tries, .. } if is_random => {
            format!("{who} failed {as_predicted} of {tries} times")
        }
        _ => cold(&who, it, only),
    });
    // What the plain runner shows each time is true, whatever we have not come to.
    let by = if exhibit.plain.is_shown() { " by runs of our own" } else { "" };
    // That it passes and fails was seen; and what says what was not seen says how far it was tried.
    let claims = !is_random && !matches!(exhibit.finding.verdict, Verdict::NotFlaky | Verdict::Ud);
    let unconfirmed = (claims && !exhibit.finding.confirmed).then(|| format!("not confirmed{by}"));
    let finding = &exhibit.finding;
    let has_roles =
        finding.verdict.is_order_dependent() || finding.dependencies != Dependencies::default();
    let incomplete = (has_roles && !finding.is_complete)
        .then(|| "the search for roles did not come to its end".to_owned());
    let parts = [contrast, cold, unconfirmed, incomplete];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join("; ")
}

/// How often the printed command of a test that fails at random can be expected to show it.
pub(crate) fn how_often(exhibit: &Exhibit) -> Option<String> {
    let finding = &exhibit.finding;
    let is_left_to_chance =
        finding.verdict.is_non_deterministic() && finding.dependencies.polluters.is_empty();
    let is_certain = exhibit.factors.iter().any(|known| known.makes_it_fail);
    if !is_left_to_chance || is_certain || finding.tally.failures == 0 {
        return None;
    }
    Some(frequency(finding.tally))
}

/// As a person would say it: "about once in 3 times" for a third, "about 7 of 10 times".
fn frequency(Tally { failures, attempts }: Tally) -> String {
    let (failures, attempts) = (failures as f64, attempts as f64);
    let of_ten = (10.0 * failures / attempts).round();
    match (attempts / failures).round() {
        _ if 10.0 <= of_ten => "fails nearly every time".to_owned(),
        n if n < 2.0 => format!("fails about {of_ten} of 10 times"),
        n => format!("fails about once in {n} times"),
    }
}

/// In which runs it was seen to pass and to fail.
pub(crate) fn seen_in(view: &View<'_>, exhibit: &Exhibit) -> String {
    let name = |run| view.origin.run_name(run);
    let passed = exhibit.finding.passed_in.map(|run| format!("passed in run {}", name(run)));
    let failed = exhibit.finding.failed_in.map(|run| format!("failed in run {}", name(run)));
    let parts: Vec<String> = passed.into_iter().chain(failed).collect();
    parts.join(", ")
}

fn sides(dependencies: &Dependencies, Contrast { alone, after_group }: Contrast) -> String {
    let (groups, one, many) = if dependencies.polluters.is_empty() {
        (&dependencies.state_setters, "state-setter", "state-setters")
    } else {
        (&dependencies.polluters, "polluter", "polluters")
    };
    let first = if 1 < groups.len() { "first " } else { "" };
    let who = noun(groups.first().map_or(1, Vec::len), one, many);
    if dependencies.polluters.is_empty() && !groups.is_empty() {
        let passed = |tally: Tally| format!("{} of {}", tally.passes(), tally.attempts);
        format!("passed {} after the {first}{who}, {} alone", passed(after_group), passed(alone))
    } else {
        format!("failed {} after the {first}{who}, {} alone", of(after_group), of(alone))
    }
}

fn cold(
    who: &str,
    Confirmation { as_predicted, tries, others }: Confirmation,
    only: &str,
) -> String {
    let shown = format!("{who} shows it {only}{as_predicted} of {tries} times");
    if others == 0 {
        return shown;
    }
    let victims = noun(others as usize, "other victim", "other victims");
    format!("{shown}, in runs with {others} {victims}")
}

/// Findings counted by what they mean for a reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Census {
    pub(crate) flaky: u64,
    pub(crate) always_failing: u64,
    pub(crate) undecided: u64,
}

impl Census {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let mut census = Self::default();
        for exhibit in view.exhibits {
            let verdict = exhibit.finding.verdict;
            census.flaky += u64::from(verdict.is_flaky());
            census.always_failing += u64::from(verdict == Verdict::AlwaysFailing);
            census.undecided += u64::from(verdict == Verdict::InsufficientEvidence);
        }
        census
    }
}

/// The first line of every report: how many, of how many, from how many causes.
pub(crate) fn headline(view: &View<'_>, families: &[Family<'_>]) -> String {
    let census = Census::of(view);
    let n_causes = families.iter().filter(|family| family.is_flaky()).count() as u64;
    let n_tests = view.suite.n_tests();
    let flaky = match census.flaky {
        0 => format!("No flaky test found among {n_tests}"),
        n => format!("{} of {n_tests}", plural(n, "flaky test", "flaky tests")),
    };
    let from = (n_causes < census.flaky)
        .then(|| format!(", from {}", plural(n_causes, "cause", "causes")));
    let failing = (0 < census.always_failing)
        .then(|| format!("; {} every time", plural(census.always_failing, "fails", "fail")));
    let undecided = (0 < census.undecided).then(|| format!("; {} undecided", census.undecided));
    [Some(flaky), from, failing, undecided].into_iter().flatten().collect()
}

/// What was done.
pub(crate) fn effort(view: &View<'_>) -> String {
    let recalled = match view.n_recalled {
        0 => String::new(),
        n => format!("; before that, {} in an earlier start", plural(n, "run", "runs")),
    };
    format!(
        "{}, {}, {} with {} in {} ({} over all workers){recalled}",
        plural(view.suite.n_tests() as u64, "test", "tests"),
        whole(view),
        plural(view.spent.runs, "run", "runs"),
        plural(view.spent.attempts, "execution of a test", "executions of tests"),
        span(view.wall_time),
        span(view.spent.time),
    )
}

/// How often all tests were run. Where the runner keeps an order of its own, that were no orders.
fn whole(view: &View<'_>) -> String {
    if !view.suite.keeps_order() {
        return plural(view.n_orders, "whole order", "whole orders");
    }
    let times = plural(view.n_orders, "time", "times");
    format!("all run {times} in the runner's own order")
}

/// What would have been seen, had it been there.
pub(crate) fn reach(view: &View<'_>) -> String {
    if view.n_orders == 0 {
        return "No whole order was run: nothing is known about tests not listed".to_owned();
    }
    let seeds = match view.n_seeds {
        0 | 1 => String::new(),
        n => {
            let rate = percent(rate_detectable(n, view.confidence), 2);
            format!(", or under {rate} % of hash seeds,")
        }
    };
    let (of_what, beyond) = if view.suite.keeps_order() {
        ("runs in that order", "; other orders cannot be had from the runner")
    } else {
        ("all orders", "")
    };
    format!(
        "A test that fails in {} % of {of_what}{seeds} would have been seen with {} % \
         confidence{beyond}",
        percent(view.flake_rate_detectable, 2),
        percent(view.confidence.get(), 1),
    )
}

/// Why it ended, where that matters to a reader, and how it goes on.
pub(crate) fn ending(view: &View<'_>) -> Option<String> {
    let why = match view.ended {
        Ended::Confident => return None,
        Ended::OutOfBudget => "The budget ended first; a larger one (--time, --runs) looks further",
        Ended::Interrupted => "Interrupted: this is what was known by then",
    };
    let resume =
        view.origin.campaign.as_ref().map_or("", |_| "; the same command goes on from here");
    Some(format!("{why}{resume}"))
}

/// Whether a command is a program in itself, which nobody reads.
pub fn is_script(command: &str) -> bool {
    command.contains(" -c '") || command.contains(" -c \"")
}

/// The run in which it failed, to be run again by a short command, if it is on record.
pub(crate) fn replay(view: &View<'_>, exhibit: &Exhibit) -> Option<String> {
    view.origin.campaign.as_ref()?;
    Some(format!("unflake replay {}", view.origin.run_name(exhibit.finding.failed_in?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_keep_what_tells_them_from_none_and_all() {
        let cases = [
            (0.0, "0"),
            (0.0007, "0.07"),
            (0.0096, "1"),
            (0.0157, "2"),
            (0.2, "20"),
            (0.95, "95"),
            (0.99, "99"),
            (0.999, "99.9"),
            (1.0 - 3e-6, "99.9997"),
            (1.0, "100"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share, 1), text, "{share}");
        }
        assert_eq!(percent(0.072_16, 2), "7.2");
        assert_eq!(percent(1e-12, 1), "0");
    }

    #[test]
    fn how_often_it_fails_is_said_as_a_person_would() {
        let cases = [
            (71, 215, "fails about once in 3 times"),
            (1, 2, "fails about once in 2 times"),
            (60, 100, "fails about once in 2 times"),
            (70, 100, "fails about 7 of 10 times"),
            (94, 100, "fails about 9 of 10 times"),
            (99, 100, "fails nearly every time"),
            (2, 100, "fails about once in 50 times"),
        ];
        for (failures, attempts, text) in cases {
            assert_eq!(frequency(Tally { failures, attempts }), text);
        }
    }

    #[test]
    fn rates_are_told_as_in_the_style_rules() {
        // Style rule A14.
        let tally = Tally { failures: 3, attempts: 40 };
        assert_eq!(failed(tally, Confidence::USUAL), "failed 3 of 40 (95 % interval 2 to 20 %)");
    }

    #[test]
    fn spans_are_given_in_the_units_people_use() {
        let spans = [0.24, 3.0421, 9.0, 9.97, 42.4, 120.0, 200.0, 7500.0];
        let told = ["0.2 s", "3.0 s", "9 s", "10 s", "42 s", "2 min", "3 min 20 s", "2 h 5 min"];
        assert_eq!(spans.map(|s| span(Duration::from_secs_f64(s))), told);
        assert_eq!(span(Duration::from_secs(7230)), "2 h");
    }
}
