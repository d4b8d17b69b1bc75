//! For a maintainer: which tests are dirty, and what each leaves behind, one line a place.

use crate::Layout;
use crate::dirt::{Crowd, Shown, crowds, meaning};
use crate::page::{Ink, Page};
use crate::rows::state_in_words;
use crate::visible::{shortened, visible};
use crate::words::{more, plural, span};
use unflake_known::inspection::{Inspection, Leaver, Left, Standing};
use unflake_known::{Ended, State};

/// Tests that are listed.
const TESTS_MAX: usize = 100;
/// Places of one test.
const PLACES_MAX: usize = 8;
/// Things that many tests change, tests nobody could look at, warnings.
const NAMED_MAX: usize = 10;
/// Characters of a value; all of it is in the other formats.
const VALUE_MAX: usize = 60;
/// Lines of the table.
const LINES_MAX: usize = 1000;

/// The whole report.
pub fn render(inspection: &Inspection, shown: Shown, layout: Layout) -> String {
    let mut page = Page::new(layout);
    let crowds = crowds(inspection);
    page.line(&[(Ink::Heading, &headline(inspection))]);
    show_crowds(&mut page, &crowds);
    let is_told = |left: &Left| crowds.iter().any(|crowd| crowd.holds(left));
    list(&mut page, None, inspection, |left| left.standing.is_dirt() && !is_told(left));
    let heading = Some("Put back what another test had left");
    list(&mut page, heading, inspection, |left| {
        matches!(left.standing, Standing::PutsBack { .. }) && !is_told(left)
    });
    let heading = Some("Not counted");
    list(&mut page, heading, inspection, |left| {
        let is_new = !Shown::Dirt.covers(&left.standing);
        is_new && shown.covers(&left.standing)
    });
    unseen(&mut page, inspection);
    warnings(&mut page, inspection);
    page.blank();
    summary(&mut page, inspection, shown);
    page.finish()
}

/// One line a change: the test, and what it did.
pub fn table(inspection: &Inspection, shown: Shown) -> String {
    let places = inspection.places().filter(|(_, left)| shown.covers(&left.standing));
    let mut lines: Vec<String> = places
        .map(|(leaver, left)| format!("{}: {}\n", visible(leaver.test.as_str()), sentence(left)))
        .collect();
    let rest = more(lines.len(), LINES_MAX).map(|more| more + "\n");
    lines.truncate(LINES_MAX);
    lines.extend(rest);
    lines.concat()
}

/// How many are dirty.
pub(crate) fn headline(inspection: &Inspection) -> String {
    let tests = plural(inspection.n_tests as u64, "test", "tests");
    match inspection.n_dirty() as u64 {
        0 => format!("No dirty test among {tests}"),
        n => format!("{} of {}", plural(n, "dirty test", "dirty tests"), inspection.n_tests),
    }
}

/// `shop.X (global): 1 became 2; put back by …`.
fn sentence(left: &Left) -> String {
    let parts = [Some(state_in_words(&left.state)), remark(left)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Who did it, if not the test, and what to make of it, if not dirt for good.
fn remark(left: &Left) -> Option<String> {
    let by = left.by.as_ref().map(|by| format!("by {}", visible(by)));
    let standing = match &left.standing {
        Standing::Dirt { put_back_by: None } => None,
        Standing::Dirt { put_back_by: Some(test) } => {
            Some(format!("put back by {}", visible(test.as_str())))
        }
        Standing::PutsBack { left_by } => Some(format!("left by {}", visible(left_by.as_str()))),
        Standing::Harmless(why) => Some(format!("harmless: {}", meaning(*why))),
        Standing::Allowed { entry } => Some(format!("allowed by `{}`", visible(entry))),
    };
    let parts: Vec<String> = [by, standing].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The same in words, with values that fit on a line.
fn short(state: &State) -> String {
    let clip = |text: &Option<String>| text.as_ref().map(|text| shortened(text, VALUE_MAX));
    let (before, after) = (clip(&state.before), clip(&state.after));
    let is_same = before == after && state.before != state.after;
    let (place, kind) = (state.place.clone(), state.kind);
    // What differs was cut off.
    let after = if is_same { Some("something else".to_owned()) } else { after };
    state_in_words(&State { place, kind, before, after })
}

fn show_crowds(page: &mut Page, crowds: &[Crowd<'_>]) {
    if crowds.is_empty() {
        return;
    }
    page.blank();
    page.line(&[(Ink::Heading, "What many tests change")]);
    for crowd in crowds.iter().take(NAMED_MAX) {
        page.line(&[(Ink::Plain, "  "), (Ink::Plain, &crowd_in_words(crowd))]);
        let first = format!("    first by {}", visible(crowd.leaver.test.as_str()));
        page.line(&[(Ink::Faint, &first)]);
    }
    if let Some(more) = more(crowds.len(), NAMED_MAX) {
        page.prose(&format!("  {more}"));
    }
}

/// `shop.LOG: changed by 480 tests; at first shop.LOG[3] (global): added, 'x'`.
pub(crate) fn crowd_in_words(crowd: &Crowd<'_>) -> String {
    let tests = plural(crowd.tests.len() as u64, "test", "tests");
    let first = short(&crowd.first.state);
    format!("{}: changed by {tests}; at first {first}", visible(crowd.thing))
}

fn list(
    page: &mut Page,
    heading: Option<&str>,
    inspection: &Inspection,
    is_listed: impl Fn(&Left) -> bool,
) {
    let of = |leaver: &Leaver| leaver.places.iter().any(&is_listed);
    let leavers: Vec<&Leaver> = inspection.tests.iter().filter(|leaver| of(leaver)).collect();
    if let (Some(heading), false) = (heading, leavers.is_empty()) {
        page.blank();
        page.line(&[(Ink::Heading, heading)]);
    }
    for leaver in leavers.iter().take(TESTS_MAX) {
        page.blank();
        title(page, leaver);
        let places: Vec<&Left> = leaver.places.iter().filter(|left| is_listed(left)).collect();
        for left in places.iter().take(PLACES_MAX) {
            page.line(&[(Ink::Plain, "  "), (Ink::Plain, &short(&left.state))]);
            if let Some(remark) = remark(left) {
                page.line(&[(Ink::Plain, "    "), (Ink::Faint, &remark)]);
            }
        }
        if let Some(more) = more(places.len(), PLACES_MAX) {
            page.line(&[(Ink::Plain, "  "), (Ink::Plain, &more)]);
        }
    }
    if let Some(more) = more(leavers.len(), TESTS_MAX) {
        page.blank();
        page.prose(&format!("{more}; all are in the JSON report"));
    }
}

fn title(page: &mut Page, leaver: &Leaver) {
    let id = visible(leaver.test.as_str());
    let outcome = match leaver.outcome.evidence() {
        Some(unflake_model::Evidence::Fail) => format!(" ({})", leaver.outcome.as_str()),
        _ => String::new(),
    };
    let unnamed = match leaver.n_more {
        0 => String::new(),
        n => format!(", and {} not named", plural(n, "place", "places")),
    };
    page.line(&[(Ink::Heading, &id), (Ink::Faint, &outcome), (Ink::Faint, &unnamed)]);
}

fn unseen(page: &mut Page, inspection: &Inspection) {
    if inspection.unseen.is_empty() {
        return;
    }
    page.blank();
    page.line(&[(Ink::Heading, "Took the process with them, so nobody could look")]);
    for unseen in inspection.unseen.iter().take(NAMED_MAX) {
        let (test, outcome) = (visible(unseen.test.as_str()), unseen.outcome.as_str());
        page.line(&[
            (Ink::Plain, "  "),
            (Ink::Plain, &test),
            (Ink::Faint, &format!(" ({outcome})")),
        ]);
    }
    if let Some(more) = more(inspection.unseen.len(), NAMED_MAX) {
        page.prose(&format!("  {more}"));
    }
}

fn warnings(page: &mut Page, inspection: &Inspection) {
    for warning in inspection.warnings.iter().take(NAMED_MAX) {
        page.warning(warning);
    }
    for entry in inspection.unused.iter().take(NAMED_MAX) {
        page.blank();
        page.line(&[(Ink::Warning, "warning"), (Ink::Plain, "  "), (Ink::Heading, "unused-entry")]);
        page.row("what", &format!("nothing matches `{}` of the allow-list", visible(entry)));
        page.row("advice", "remove it, or see whether it is spelled as places are here");
    }
}

fn summary(page: &mut Page, inspection: &Inspection, shown: Shown) {
    for sentence in sentences(inspection, shown) {
        page.prose(&format!("{sentence}."));
    }
}

/// What was done, what is not shown, and what to do next.
pub(crate) fn sentences(inspection: &Inspection, shown: Shown) -> Vec<String> {
    let n_run = inspection.n_tests - inspection.n_not_run;
    let tests = plural(n_run as u64, "test", "tests");
    let took = span(inspection.wall_time);
    let mut told = vec![format!("{tests} ran once in their original order, watched, in {took}")];
    if 0 < inspection.n_failed {
        let failed = plural(inspection.n_failed as u64, "of them failed", "of them failed");
        told.push(format!("{failed}; a test that fails half-way may not come to its cleaning"));
    }
    told.extend(not_counted(inspection, shown));
    if 0 < inspection.n_not_run {
        let why = match inspection.ended {
            Ended::Interrupted => "Interrupted: this is what was known by then; ",
            Ended::Confident | Ended::OutOfBudget => "",
        };
        let tests = plural(inspection.n_not_run as u64, "test was", "tests were");
        told.push(format!("{why}{tests} not run"));
    }
    if 0 < inspection.n_dirty() {
        told.push(
            "`unflake detect` says whether a test stumbles over it; what is meant to stay goes \
             into the allow-list, `[lint] allow` in unflake.toml"
                .to_owned(),
        );
    }
    told
}

fn not_counted(inspection: &Inspection, shown: Shown) -> Option<String> {
    let mut parts: Vec<String> = inspection
        .n_harmless()
        .into_iter()
        .map(|(why, count)| {
            format!("{} where {}", plural(count, "change", "changes"), meaning(why))
        })
        .collect();
    let n_allowed = inspection.n_allowed();
    if 0 < n_allowed {
        parts
            .push(format!("{} that the allow-list allows", plural(n_allowed, "change", "changes")));
    }
    let hint = if shown == Shown::All { "" } else { " (--all lists them)" };
    (!parts.is_empty()).then(|| format!("Not counted: {}{hint}", parts.join(", ")))
}
