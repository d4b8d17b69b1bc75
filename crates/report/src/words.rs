//! Sentences that more than one format uses, so that a number is never told in two ways.

use std::time::Duration;

use unflake_model::{Confidence, Contrast, Dependencies, Tally, Verdict};
use unflake_stats::rate::interval;

use crate::ranking::Family;
use crate::visible::visible;
use crate::{Confirmation, Ended, Exhibit, View};

/// A count with its noun.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The noun alone.
pub(crate) fn noun<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// What to say about a list of which only so many items are shown; nothing if that is all.
pub(crate) fn more(n_items: usize, n_shown: usize) -> Option<String> {
    (n_shown < n_items).then(|| format!("and {} more", n_items - n_shown))
}

/// The same, with what the items are.
pub(crate) fn more_of(n_items: usize, n_shown: usize, one: &str, many: &str) -> Option<String> {
    Some(format!("{} {}", more(n_items, n_shown)?, noun(n_items - n_shown, one, many)))
}

/// A time span for people: `0.3 s`, `42 s`, `3 min 20 s`, `2 h 05 min`.
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 if duration.subsec_nanos() != 0 => format!("{:.1} s", duration.as_secs_f64()),
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
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

/// What the finding rests on beyond its failure rate, sentence by sentence.
pub(crate) fn evidence(view: &View<'_>, exhibit: &Exhibit) -> String {
    let contrast = exhibit.finding.contrast.map(|it| sides(&exhibit.finding.dependencies, it));
    // Open choices are not the plain runner's to make.
    let who = match exhibit.finding.verdict {
        Verdict::Id => "the printed command".to_owned(),
        _ => format!("plain {}", visible(&view.origin.runner)),
    };
    let only = if exhibit.is_contradicted() { "only " } else { "" };
    let cold = exhibit.cold_confirmed.map(|it| cold(&who, it, only));
    // What the plain runner shows each time is true, whatever we have not come to.
    let is_shown = exhibit.cold_confirmed.is_some_and(Confirmation::is_complete);
    let by = if is_shown { " by runs of our own" } else { "" };
    let unconfirmed = (!exhibit.finding.confirmed).then(|| format!("not confirmed{by}"));
    let finding = &exhibit.finding;
    let has_roles =
        finding.verdict.is_order_dependent() || finding.dependencies != Dependencies::default();
    let incomplete = (has_roles && !finding.is_complete)
        .then(|| "the search for roles did not come to its end".to_owned());
    let parts = [contrast, cold, unconfirmed, incomplete];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join("; ")
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
            match exhibit.finding.verdict {
                Verdict::NotFlaky => (),
                Verdict::AlwaysFailing => census.always_failing += 1,
                Verdict::InsufficientEvidence => census.undecided += 1,
                _ => census.flaky += 1,
            }
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
        plural(view.n_orders, "whole order", "whole orders"),
        plural(view.spent.runs, "run", "runs"),
        plural(view.spent.attempts, "execution of a test", "executions of tests"),
        span(view.wall_time),
        span(view.spent.time),
    )
}

/// What would have been seen, had it been there.
pub(crate) fn reach(view: &View<'_>) -> String {
    if view.n_orders == 0 {
        return "No whole order was run: nothing is known about tests not listed".to_owned();
    }
    format!(
        "A test that fails in {} % of all orders would have been seen with {} % confidence",
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

/// What to ask for after a search that came to its end by itself: what ended it is not the budget.
fn deeper(command: &str) -> &'static str {
    // What follows the first `--` is for the runner.
    let mut words = command.split(' ').take_while(|word| *word != "--");
    let kind = words.find_map(|word| match word.split('=').next() {
        Some("--strategy") => Some("ask for more rounds (--rounds)"),
        Some("--reruns") => Some("let finding one cost more (--price)"),
        _ => None,
    });
    kind.unwrap_or("ask for a lower flake rate (--flake-rate)")
}

/// What to do next.
pub(crate) fn next_step(view: &View<'_>, families: &[Family<'_>]) -> String {
    let Some(first) = families.iter().find(|family| family.is_flaky()) else {
        return match view.ended {
            Ended::Confident => format!("To find rarer ones, {}", deeper(&view.origin.command)),
            Ended::OutOfBudget => "Start it again with more time or runs".to_owned(),
            Ended::Interrupted => "Start it again, and let it come to its end".to_owned(),
        };
    };
    let n_flaky = Census::of(view).flaky;
    if first.members.len() < 2 {
        return "`unflake why TEST` tells all that is known about one test".to_owned();
    }
    format!(
        "Look at the first cause first, it explains {} of {n_flaky}; `unflake why TEST` tells all \
         that is known about one test",
        first.n_flaky()
    )
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
    fn rates_are_told_as_in_the_style_rules() {
        // Style rule A14.
        let tally = Tally { failures: 3, attempts: 40 };
        assert_eq!(failed(tally, Confidence::USUAL), "failed 3 of 40 (95 % interval 2 to 20 %)");
    }

    #[test]
    fn spans_are_given_in_the_units_people_use() {
        let spans = [0.25, 9.0, 42.4, 200.0, 7500.0].map(|s| span(Duration::from_secs_f64(s)));
        assert_eq!(spans, ["0.2 s", "9 s", "42 s", "3 min 20 s", "2 h 05 min"]);
    }
}
