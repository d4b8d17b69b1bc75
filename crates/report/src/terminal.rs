//! What a maintainer wants to know in the first second.
//!
//! How many tests are flaky, and from how many causes; then cause by cause, the most worthwhile
//! first, each finding with its kind in words, its rate, what it depends on, what that rests on,
//! commands to paste, and what to do next. Then what else is worth knowing, what limits the answer,
//! what it cost, and where to begin.
//!
//! Bounded: the first findings are shown in full, further ones on a line each, the rest is counted.
//! Nothing needs colour to be understood.

use std::collections::BTreeSet;

use unflake_model::{Dependencies, OutcomeChange, TestIndex, Verdict};

use crate::next::next_step;
use crate::page::{Ink, Page};
use crate::ranking::{Family, ranked};
use crate::rows::{Caps, choices, factors, id, next, reproduce, roles, state};
use crate::visible::first_line;
use crate::{Detail, Layout, words};
use unflake_known::{Exhibit, Offer, View};

/// Findings of one cause that are shown in full.
const FULL_PER_CAUSE: usize = 3;
/// Findings that are shown in full.
const FULL_MAX: usize = 20;
/// Further findings of one cause that have a line.
const LINES_PER_CAUSE: usize = 10;
/// Further findings that have a line.
const LINES_MAX: usize = 40;
/// Tests, changes or culprits that are named in a list of their own.
const NAMED_MAX: usize = 5;
/// Warnings shown.
const WARNINGS_MAX: usize = 12;
const CAPS: Caps = Caps { items: 4, group: 8 };

/// The whole report.
pub fn render(view: &View<'_>, offer: &Offer, layout: Layout) -> String {
    let families = ranked(view);
    let mut page = Page::new(layout);
    page.prose_in(Ink::Heading, &words::headline(view, &families));
    findings(&mut page, view, &families, offer);
    set_up(&mut page, view);
    changes(&mut page, view);
    warnings(&mut page, view);
    page.blank();
    summary(&mut page, view, &families, offer);
    page.finish()
}

/// What may still be shown.
struct Room {
    full: usize,
    lines: usize,
    full_per_cause: usize,
    /// Whether what stands last takes a blank line after it.
    is_after_block: bool,
    /// What the lines above are about, where these are lines.
    heading: Option<Verdict>,
}

impl Room {
    fn new(detail: Detail) -> Self {
        let (full, full_per_cause) = match detail {
            Detail::Brief | Detail::Usual => (FULL_MAX, FULL_PER_CAUSE),
            Detail::Full => (usize::MAX, usize::MAX),
        };
        Self { full, lines: LINES_MAX, full_per_cause, is_after_block: true, heading: None }
    }
}

fn findings(page: &mut Page, view: &View<'_>, families: &[Family<'_>], offer: &Offer) {
    let mut room = Room::new(page.detail());
    let mut n_shown = 0;
    for family in families {
        if room.full == 0 && room.lines == 0 {
            break;
        }
        n_shown += show(page, view, family, offer, &mut room);
    }
    let n_all: usize = families.iter().map(|family| family.members.len()).sum();
    if let Some(more) = words::more(n_all, n_shown) {
        page.blank();
        page.prose(&format!("{more}; -v shows all, and so does --json"));
    }
}

/// Shows a cause, and says for how many findings that accounts.
fn show(
    page: &mut Page,
    view: &View<'_>,
    family: &Family<'_>,
    offer: &Offer,
    room: &mut Room,
) -> usize {
    let n_full = family.members.len().min(room.full_per_cause).min(room.full);
    let n_lines = (family.members.len() - n_full).min(LINES_PER_CAUSE).min(room.lines);
    let is_block = 0 < n_full || 1 < family.members.len();
    if is_block || room.is_after_block {
        page.blank();
        room.heading = None;
    }
    if 1 < family.members.len() {
        cause(page, view, family);
    }
    for (number, exhibit) in family.members[..n_full].iter().enumerate() {
        if 0 < number || 1 < family.members.len() {
            page.blank();
        }
        let first = &family.members[0].finding.dependencies;
        let is_repeated = 0 < number
            && exhibit.finding.dependencies == *first
            && *first != Dependencies::default();
        finding(page, view, exhibit, if is_repeated { Roles::AsBefore } else { Roles::Told });
        next(page, view, exhibit, offer);
    }
    if 0 < n_full && 0 < n_lines {
        page.blank();
    }
    for exhibit in &family.members[n_full..n_full + n_lines] {
        one_line(page, view, exhibit, &mut room.heading);
    }
    room.full -= n_full;
    room.lines -= n_lines;
    room.is_after_block = is_block;
    let n_shown = n_full + n_lines;
    if let Some(more) = words::more(family.members.len(), n_shown) {
        page.prose(&format!("{more} of this cause"));
    }
    family.members.len()
}

fn cause(page: &mut Page, view: &View<'_>, family: &Family<'_>) {
    let tests = words::plural(family.members.len() as u64, "test", "tests");
    page.line(&[(Ink::Heading, &format!("One cause, {tests}"))]);
    let mut lines: Vec<String> =
        family.culprits.iter().take(NAMED_MAX).map(|test| id(view, *test)).collect();
    lines.extend(words::more(family.culprits.len(), NAMED_MAX));
    page.exact("look at", Ink::Plain, &lines);
}

/// Where the roles are told.
#[derive(Clone, Copy)]
enum Roles {
    /// Here.
    Told,
    /// By the first finding of the same cause.
    AsBefore,
}

fn finding(page: &mut Page, view: &View<'_>, exhibit: &Exhibit, told: Roles) {
    let verdict = exhibit.finding.verdict;
    page.line(&[(Ink::Heading, &id(view, exhibit.finding.test))]);
    page.row_in("kind", Ink::Verdict(verdict), &verdict.told());
    page.row("rate", &words::rate(&exhibit.finding, view.confidence));
    match told {
        Roles::Told => roles(page, view, exhibit, CAPS),
        Roles::AsBefore => page.row("depends on", "the same tests as the first of this cause"),
    }
    state(page, exhibit, CAPS);
    choices(page, exhibit);
    factors(page, exhibit);
    if let Some(failure) = &exhibit.failure {
        page.exact("failure", Ink::Plain, &[first_line(&failure.message, page.room())]);
    }
    page.row("evidence", &words::evidence(view, exhibit));
    if page.detail() == Detail::Full {
        page.row("runs", &words::seen_in(view, exhibit));
    }
    reproduce(page, view, exhibit, CAPS);
}

/// A further finding, below a heading with its kind.
fn one_line(page: &mut Page, view: &View<'_>, exhibit: &Exhibit, heading: &mut Option<Verdict>) {
    let verdict = exhibit.finding.verdict;
    if *heading != Some(verdict) {
        page.prose_in(Ink::Verdict(verdict), &verdict.told());
        *heading = Some(verdict);
    }
    let rate = format!("  failed {:<12}  ", words::of(exhibit.finding.tally));
    page.line_with_id((Ink::Plain, &rate), (Ink::Plain, &id(view, exhibit.finding.test)));
}

/// Tests that fail as the project runs them, where no finding says so.
fn set_up(page: &mut Page, view: &View<'_>) {
    let listed = with_findings(view);
    let failing: Vec<TestIndex> =
        view.set_up_failing.iter().copied().filter(|test| !listed.contains(test)).collect();
    if failing.is_empty() {
        return;
    }
    page.blank();
    page.line(&[(Ink::Heading, "Failing in the original order")]);
    for test in failing.iter().take(NAMED_MAX) {
        page.line(&[(Ink::Plain, "  "), (Ink::Plain, &id(view, *test))]);
    }
    if let Some(more) = words::more(failing.len(), NAMED_MAX) {
        page.prose(&more);
    }
}

fn with_findings(view: &View<'_>) -> BTreeSet<TestIndex> {
    view.exhibits.iter().map(|exhibit| exhibit.finding.test).collect()
}

/// Changes that no finding tells of: where a test passed once and was skipped another time.
fn changes(page: &mut Page, view: &View<'_>) {
    let listed = with_findings(view);
    let is_news = |change: &&OutcomeChange| {
        let is_evidence = change.first.1.evidence().and(change.later.1.evidence()).is_some();
        !(is_evidence && listed.contains(&change.test))
    };
    let news: Vec<&OutcomeChange> = view.changes.iter().filter(is_news).collect();
    if news.is_empty() {
        return;
    }
    page.blank();
    page.line(&[(Ink::Heading, "Ended differently in another run")]);
    for change in news.iter().take(NAMED_MAX) {
        let ((first_run, first), (later_run, later)) = (change.first, change.later);
        let what = format!(
            "  {} in run {}, {} in run {}  ",
            first.as_str(),
            view.origin.run_name(first_run),
            later.as_str(),
            view.origin.run_name(later_run),
        );
        page.line_with_id((Ink::Plain, &what), (Ink::Plain, &id(view, change.test)));
    }
    if let Some(more) = words::more(news.len(), NAMED_MAX) {
        page.prose(&more);
    }
}

/// What stood in the way.
pub(crate) fn warnings(page: &mut Page, view: &View<'_>) {
    for warning in view.warnings.iter().take(WARNINGS_MAX) {
        page.warning(warning);
    }
    if let Some(more) = words::more_of(view.warnings.len(), WARNINGS_MAX, "warning", "warnings") {
        page.prose(&more);
    }
}

fn summary(page: &mut Page, view: &View<'_>, families: &[Family<'_>], offer: &Offer) {
    page.prose(&format!("{}.", words::effort(view)));
    page.prose(&format!("{}.", words::reach(view)));
    if let Some(seed) = view.origin.hash_seed {
        let variable = offer.hash_seed_variable.unwrap_or("The hash seed");
        page.prose(&format!("{variable} was not set; it was {seed} where it was not varied."));
    }
    if let Some(ending) = words::ending(view) {
        page.prose(&format!("{ending}."));
    }
    if page.detail() != Detail::Brief {
        page.prose(&format!("{}.", next_step(view, families)));
    }
}
