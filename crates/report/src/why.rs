//! All that is known about one test, and what is not.
//!
//! The full form of what [`crate::terminal`] shows in a few lines: the kind with a sentence on what
//! it means for the reader, every role, the end of the failure's text, what the verdict cost and
//! how sure it is. What is not known is said, because the absence of a polluter from a list must
//! not be taken for its innocence. It ends with what to do next.

use unflake_model::Verdict;

use crate::page::{Ink, Page};
use crate::ranking::ranked;
use crate::rows::{Caps, choices, factors, id, next, reproduce, roles, state};
use crate::visible::{last_lines, visible};
use crate::{Detail, Layout, terminal, words};
use unflake_known::{Ended, Exhibit, Offer, PlainAnswer, View};

const CAPS: Caps = Caps { items: 100, group: 100 };
/// Lines of a failure's text.
const LINES_MAX: usize = 40;
/// Columns of a failure's text where everything is told: what is cut off beyond is rarely read.
const COLUMNS_MAX: usize = 200;
/// Tests named that share the cause.
const SHARED_MAX: usize = 10;

/// The whole story of one finding.
pub fn render(view: &View<'_>, exhibit: &Exhibit, offer: &Offer, layout: Layout) -> String {
    let finding = &exhibit.finding;
    let mut page = Page::new(layout);
    page.line(&[(Ink::Heading, &id(view, finding.test))]);
    page.prose_in(Ink::Verdict(finding.verdict), &finding.verdict.told());
    page.prose(advice(finding.verdict));
    page.blank();
    page.row("rate", &words::rate(finding, view.confidence));
    tried(&mut page, view, exhibit);
    page.row("evidence", &words::evidence(view, exhibit));
    page.row("runs", &words::seen_in(view, exhibit));
    roles(&mut page, view, exhibit, CAPS);
    state(&mut page, exhibit, CAPS);
    choices(&mut page, exhibit);
    factors(&mut page, exhibit);
    shared(&mut page, view, exhibit);
    failure(&mut page, exhibit);
    reproduce(&mut page, view, exhibit, CAPS);
    page.row("confidence", &confidence(exhibit));
    page.row("cost", &cost(exhibit));
    page.exact("seed", Ink::Plain, &[view.origin.seed.to_string()]);
    if let Some(seed) = view.origin.hash_seed {
        let variable = offer.hash_seed_variable.map(|variable| format!("{variable}="));
        let set = variable.unwrap_or_default();
        page.row("hash seed", &format!("{set}{seed} where it was not varied; none was set"));
    }
    let runner = format!("{} {}", view.origin.runner, view.origin.runner_version);
    page.row("runner", &visible(&runner));
    for (number, gap) in unknown(view, exhibit).into_iter().enumerate() {
        page.row(if number == 0 { "not known" } else { "" }, &gap);
    }
    next(&mut page, view, exhibit, offer);
    page.finish()
}

/// What stood in the way, whatever test was asked about.
pub fn warnings(view: &View<'_>, layout: Layout) -> String {
    let mut page = Page::new(layout);
    terminal::warnings(&mut page, view);
    page.finish()
}

/// What the verdict means for whoever has to fix it.
fn advice(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotFlaky => {
            "It passed whatever was tried. What that bounds, and what was not tried, is below."
        }
        Verdict::OdVictim => {
            "It relies on state that a polluter leaves changed. Let the polluter put it back, or \
             let this test set up what it needs; what a cleaner does shows how."
        }
        Verdict::OdBrittle => {
            "It relies on state that another test happens to set up. Let it set that up itself, as \
             the state-setter does."
        }
        Verdict::OdUnknownRole => {
            "It ends the same way every time in the same order, and differently in another."
        }
        Verdict::Ndod => {
            "It fails at random, and what ran before it changes how often. Look for what both \
             share: time, threads, caches, ports."
        }
        Verdict::Ndoi => {
            "It fails at random by itself. Look for time, threads, random numbers and the network \
             in the test and in what it tests."
        }
        Verdict::NodUndecided => {
            "It fails at random: the same order was seen to pass and to fail. More runs would show \
             whether the order has a say."
        }
        Verdict::Id => {
            "It relies on a choice that may fall differently on another machine or version, such \
             as the order of a set. Sort, or compare without order."
        }
        Verdict::Env => {
            "It relies on what is true here and now, such as the date, the time zone or how threads \
             take turns."
        }
        Verdict::Nio => {
            "It leaves something behind that it stumbles over itself. Let it clean up after itself."
        }
        Verdict::Ud => "It passed and failed, and nothing that was tried decides which.",
        Verdict::AlwaysFailing => {
            "It is broken rather than flaky: no order and no repetition made it pass."
        }
        Verdict::InsufficientEvidence => {
            "What was seen is too little to say more; more runs or time would tell."
        }
    }
}

/// Other findings of the same cause.
fn shared(page: &mut Page, view: &View<'_>, exhibit: &Exhibit) {
    let test = exhibit.finding.test;
    let families = ranked(view);
    let is_mine = |family: &&crate::ranking::Family<'_>| {
        family.members.iter().any(|member| member.finding.test == test)
    };
    let Some(family) = families.iter().find(is_mine) else { return };
    let others: Vec<&&Exhibit> =
        family.members.iter().filter(|member| member.finding.test != test).collect();
    let mut lines: Vec<String> =
        others.iter().take(SHARED_MAX).map(|member| id(view, member.finding.test)).collect();
    lines.extend(words::more(others.len(), SHARED_MAX));
    page.exact("same cause", Ink::Plain, &lines);
}

/// How far it was tried, where nothing was seen.
fn tried(page: &mut Page, view: &View<'_>, exhibit: &Exhibit) {
    let finding = &exhibit.finding;
    let is_open =
        matches!(finding.verdict, Verdict::NotFlaky | Verdict::InsufficientEvidence | Verdict::Ud);
    if !is_open || finding.tried.runs == 0 {
        return;
    }
    let lines = words::tried(finding.tried, view);
    for (number, line) in lines.into_iter().enumerate() {
        page.row(if number == 0 { "tried" } else { "" }, &line);
    }
    page.row("not tried", &words::not_tried(finding.tried));
}

fn failure(page: &mut Page, exhibit: &Exhibit) {
    let Some(failure) = &exhibit.failure else { return };
    let columns = match page.detail() {
        Detail::Brief | Detail::Usual => page.room_below(),
        Detail::Full => COLUMNS_MAX,
    };
    let mut lines = last_lines(&failure.message, LINES_MAX, columns);
    if failure.text.trim() != failure.message.trim() {
        lines.extend(last_lines(&failure.text, LINES_MAX, columns));
    }
    page.exact("failure", Ink::Plain, &lines);
}

fn confidence(exhibit: &Exhibit) -> String {
    if exhibit.finding.verdict == Verdict::NotFlaky {
        return bounds(exhibit);
    }
    match exhibit.finding.confidence {
        Some(confidence) => {
            let wrong = words::percent(confidence.error(), 1);
            let sure = words::percent(confidence.get(), 1);
            // Beyond this, other errors than those of chance are likelier.
            if wrong == "0" {
                return "wrong with a probability below 0.000001 %".to_owned();
            }
            format!("{sure} %: wrong with a probability of at most {wrong} %")
        }
        None => "the evidence does not bound the probability of being wrong".to_owned(),
    }
}

/// What "not flaky" means: no more than was tried.
fn bounds(exhibit: &Exhibit) -> String {
    match exhibit.finding.confidence {
        Some(confidence) => {
            let sure = words::percent(confidence.get(), 1);
            format!("{sure} % for each of the ways it was tried, and none for others")
        }
        None => "none: it was not tried far enough".to_owned(),
    }
}

fn cost(exhibit: &Exhibit) -> String {
    let spent = exhibit.finding.spent;
    format!(
        "{}: {} with {}, {}",
        words::plural(exhibit.finding.questions, "question", "questions"),
        words::plural(spent.runs, "run", "runs"),
        words::plural(spent.attempts, "execution of a test", "executions of tests"),
        words::span(spent.time),
    )
}

/// What the finding leaves open.
fn unknown(view: &View<'_>, exhibit: &Exhibit) -> Vec<String> {
    let finding = &exhibit.finding;
    let dependencies = &finding.dependencies;
    let verdict = finding.verdict;
    let has_role = !dependencies.polluters.is_empty() || !dependencies.state_setters.is_empty();
    let has_cleaner = dependencies.cleaners.iter().any(|of| !of.cleaners.is_empty());
    let runner = visible(&view.origin.runner);
    let not_asked = match &exhibit.plain {
        PlainAnswer::Refused(reason) => format!("it could not be asked: {}", visible(reason)),
        PlainAnswer::NotAsked | PlainAnswer::Said(_) => "the commands were not tried".to_owned(),
    };
    let claims =
        !matches!(verdict, Verdict::NotFlaky | Verdict::InsufficientEvidence | Verdict::Ndoi);
    let gaps = [
        (
            !finding.confirmed && claims,
            "whether it holds: it was not put to the test again".to_owned(),
        ),
        (verdict == Verdict::OdVictim && !has_role, "which tests pollute it".to_owned()),
        (verdict == Verdict::OdBrittle && !has_role, "which tests set up its state".to_owned()),
        (verdict == Verdict::OdUnknownRole, "on which tests it depends".to_owned()),
        (
            !finding.is_complete && (has_role || verdict.is_order_dependent()),
            "whether there are more: the search for them did not come to its end".to_owned(),
        ),
        (
            !dependencies.polluters.is_empty() && !has_cleaner,
            "a cleaner: none was found".to_owned(),
        ),
        (verdict == Verdict::NodUndecided, "whether the order changes how often".to_owned()),
        (
            verdict.is_non_deterministic() && exhibit.factors.is_empty(),
            "what makes it random".to_owned(),
        ),
        (verdict == Verdict::Ud, "what it depends on".to_owned()),
        (
            verdict == Verdict::Id && exhibit.choices.is_empty(),
            "which choice it depends on".to_owned(),
        ),
        (has_role && exhibit.state.is_empty(), "which state the tests share".to_owned()),
        (
            !exhibit.reproduce.is_empty() && exhibit.plain.said().is_none(),
            format!("whether plain {runner} shows the same: {not_asked}"),
        ),
        (
            view.ended != Ended::Confident,
            "what more runs would have shown: the campaign ended early".to_owned(),
        ),
    ];
    gaps.into_iter().filter(|(is_open, _)| *is_open).map(|(_, gap)| gap).collect()
}
