//! For a maintainer: what makes the test fail, how often, why, and how to see it.

use unflake_model::{Confidence, Decides, Factor, RootCause, Tally};
use unflake_stats::rate::upper_bound;

use crate::next::advice_for;
use crate::page::{Ink, Page};
use crate::visible::visible;
use crate::words::{is_script, limits, of, percent, plural, span};
use crate::{Detail, Layout};
use unflake_known::shaking::{Shaking, Shook};
use unflake_known::{Confirmation, Ended, quote};

/// The whole report.
pub fn render(shaking: &Shaking, layout: Layout) -> String {
    let mut page = Page::new(layout);
    page.line(&[(Ink::Heading, &visible(shaking.test.as_str()))]);
    page.prose(&headline(shaking));
    for shook in &shaking.exhibits {
        page.blank();
        show(&mut page, shook, shaking);
    }
    for warning in &shaking.warnings {
        page.warning(warning);
    }
    page.blank();
    for sentence in sentences(shaking) {
        page.prose(&format!("{sentence}."));
    }
    if shaking.exhibits.is_empty() && page.detail() != Detail::Brief {
        let test = quote(&visible(shaking.test.as_str()));
        page.row("next", "to see whether it depends on other tests:");
        page.commands("", &[format!("unflake why {test}")]);
    }
    page.finish()
}

fn headline(shaking: &Shaking) -> String {
    let fixed = format!("with everything held fixed it failed {}", of(shaking.fixed));
    match (shaking.exhibits.len() as u64, shaking.ended) {
        (0, Ended::Confident) => format!("No factor was found; {fixed}."),
        (0, Ended::OutOfBudget | Ended::Interrupted) => {
            format!("Not enough evidence: no factor was found so far; {fixed}.")
        }
        (n, _) => {
            let factors = plural(n, "factor changes", "factors change");
            format!("{factors} how it ends; {fixed}.")
        }
    }
}

fn show(page: &mut Page, shook: &Shook, shaking: &Shaking) {
    let confidence = shaking.confidence;
    let factors = shook.factors.to_string();
    let cause = shook.cause.map_or("", RootCause::title);
    page.line(&[(Ink::Heading, &factors), (Ink::Plain, "  "), (Ink::Plain, cause)]);
    let descriptions: Vec<&str> = shook.factors.iter().map(Factor::description).collect();
    page.row("factor", &descriptions.join("; "));
    let (description, here) = (descriptions.join("; "), shook.how.join("; "));
    if here != description {
        page.row("here", &visible(&here));
    }
    page.row("without", &failed(shook.without, confidence));
    page.row("with", &failed(shook.with, confidence));
    page.row(
        "this seed",
        &format!("{}: seed {}", failed(shook.under_seed, confidence), shook.seed),
    );
    page.row("difference", &difference(shook));
    page.row("decided by", decided(shook));
    if let Some(verdict) = shook.verdict() {
        page.row("kind", &verdict.told());
    }
    if shook.fails_late() {
        page.row("", "It takes much longer when it fails: it waits until its patience ends.");
    }
    if let Some(failure) = &shook.failure {
        page.row("failure", &visible(&failure.message));
    }
    reproduce(page, shook);
    if page.detail() != Detail::Brief {
        page.row("next", shook.cause.map_or("look at what the failure says", advice_for));
    }
}

fn failed(tally: Tally, confidence: Confidence) -> String {
    if tally.attempts == 0 {
        return "no run".to_owned();
    }
    let sure = percent(confidence.get(), 1);
    format!("failed {} ({sure} % interval {})", of(tally), limits(tally, confidence))
}

fn difference(shook: &Shook) -> String {
    let pretty = |p: f64| if p < 0.0001 { "< 0.0001".to_owned() } else { format!("= {p:.4}") };
    let side = if shook.makes_it_fail { "makes it fail" } else { "makes it pass" };
    format!("{side}; p {} (exact test, runs made in turn)", pretty(shook.p_value))
}

fn decided(shook: &Shook) -> &'static str {
    match shook.decides {
        Decides::Nothing => "nothing: under this factor it always ends so, whatever the seed",
        Decides::Seed => "the seed: under one and the same it always ends the same",
        Decides::Chance => "chance: even under one seed it ends both ways",
    }
}

/// The command for the plain runner, if one can read it; else the short one first.
fn reproduce(page: &mut Page, shook: &Shook) {
    let ends = if shook.makes_it_fail { "fails" } else { "passes" };
    let shown =
        |it: Confirmation| format!("it {ends} with that {} of {} times", it.as_predicted, it.tries);
    let replay = shook.run.as_ref().map(|run| (format!("unflake replay {run}"), shook.replayed));
    let plain =
        shook.plain.as_ref().map(|plain| (visible(&plain.command).into_owned(), plain.tried));
    let is_long = replay.is_some() && plain.as_ref().is_some_and(|(it, _)| is_script(it));
    let is_left_out = is_long && page.detail() < Detail::Full;
    let both = if is_long { [replay, plain] } else { [plain, replay] };
    let commands = both.into_iter().flatten().filter(|(it, _)| !(is_left_out && is_script(it)));
    for (number, (command, tried)) in commands.enumerate() {
        page.commands(if number == 0 { "reproduce" } else { "or" }, &[command]);
        if 0 < tried.tries {
            page.row("", &shown(tried));
        }
    }
    if is_left_out && page.detail() == Detail::Usual {
        page.row("", "-v shows the long command for the plain runner");
    }
}

/// What was tried without success, what could not be, and what it cost.
fn sentences(shaking: &Shaking) -> Vec<String> {
    let mut told = Vec::new();
    let n_least = shaking.screened.iter().map(|(_, tally)| tally.attempts).min().unwrap_or(0);
    let quiet: Vec<&str> = shaking
        .screened
        .iter()
        .filter(|(_, tally)| tally.failures == 0 || tally.passes() == 0)
        .map(|(factor, _)| factor.slug())
        .collect();
    if 0 < n_least && !quiet.is_empty() {
        let bound = upper_bound(Tally { failures: 0, attempts: n_least }, shaking.confidence);
        let runs = plural(n_least, "run", "runs");
        let rate = percent(bound, 2);
        told.push(format!(
            "No difference under {}: each was on in at least {runs}, so it matters under at most \
             {rate} % of all seeds",
            quiet.join(", ")
        ));
    }
    for (factor, why) in &shaking.refused {
        told.push(format!("Not tried: {factor}, because {}", visible(why)));
    }
    let runs = plural(shaking.spent.runs, "run", "runs");
    told.push(format!("{runs} in {}, seed {}", span(shaking.wall_time), shaking.origin.seed));
    told.extend(match shaking.ended {
        Ended::Confident => None,
        Ended::OutOfBudget => {
            Some("The budget ended first; a larger one (--time, --runs) looks further".to_owned())
        }
        Ended::Interrupted => Some("Interrupted: this is what was known by then".to_owned()),
    });
    told
}
