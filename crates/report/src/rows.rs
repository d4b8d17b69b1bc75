//! The rows that `terminal` and `why` share: what a finding depends on, and how to see it.

use unflake_model::{CleanersOf, Group, TestIndex};

use crate::Detail;
use crate::next::{Next, next as next_of};
use crate::page::{Ink, Page};
use crate::visible::visible;
use crate::words::{self, is_script, more, noun};
use unflake_known::{Choice, Exhibit, Offer, State, View};

/// What stands before the polluters that cleaners clean up after.
const AFTER: &str = "after ";

/// How much of each list is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    /// Groups, cleaners of a group, commands, places.
    pub(crate) items: usize,
    /// Tests of one group.
    pub(crate) group: usize,
}

/// The name of a test, safe to show.
pub(crate) fn id(view: &View<'_>, test: TestIndex) -> String {
    visible(view.suite.id(test).as_str()).into_owned()
}

/// Polluters, cleaners and state-setters.
pub(crate) fn roles(page: &mut Page, view: &View<'_>, exhibit: &Exhibit, caps: Caps) {
    let dependencies = &exhibit.finding.dependencies;
    groups(page, view, ("polluter", "polluters"), &dependencies.polluters, caps);
    cleaners(page, view, exhibit, caps);
    groups(page, view, ("state-setter", "state-setters"), &dependencies.state_setters, caps);
}

fn groups(
    page: &mut Page,
    view: &View<'_>,
    (one, many): (&str, &str),
    groups: &[Group],
    caps: Caps,
) {
    let n_tests: usize = groups.iter().map(Vec::len).sum();
    let mut lines: Vec<String> = groups
        .iter()
        .take(caps.items)
        .flat_map(|group| group_lines(view, group, page.room(), caps))
        .collect();
    lines.extend(more(groups.len(), caps.items));
    page.exact(noun(n_tests, one, many), Ink::Plain, &lines);
}

/// `a`, or `a then b` where they act together: on one line if that fits, else one line each.
fn group_lines(view: &View<'_>, group: &Group, room: usize, caps: Caps) -> Vec<String> {
    let names = group_names(view, group, caps);
    let joined = names.join(" then ");
    if joined.chars().count() <= room {
        return vec![joined];
    }
    let (first, later) = names.split_at(1);
    let later = later.iter().map(|name| format!("  then {name}"));
    first.iter().cloned().chain(later).collect()
}

fn group_names(view: &View<'_>, group: &Group, caps: Caps) -> Vec<String> {
    let mut names: Vec<String> =
        group.iter().take(caps.group).map(|test| id(view, *test)).collect();
    names.extend(more(group.len(), caps.group));
    names
}

fn cleaners(page: &mut Page, view: &View<'_>, exhibit: &Exhibit, caps: Caps) {
    let dependencies = &exhibit.finding.dependencies;
    let known: Vec<&CleanersOf> =
        dependencies.cleaners.iter().filter(|of| !of.cleaners.is_empty()).collect();
    let n_cleaners: usize = known.iter().map(|of| of.cleaners.len()).sum();
    let has_one_group = dependencies.polluters.len() < 2;
    let mut lines = Vec::new();
    for of in known.iter().take(caps.items) {
        let indent = if has_one_group { "" } else { "  " };
        if !has_one_group {
            let mut group = group_lines(view, &of.polluters, page.room() - AFTER.len(), caps);
            if let Some(first) = group.first_mut() {
                first.insert_str(0, AFTER);
            }
            lines.extend(group);
        }
        let names = of.cleaners.iter().take(caps.items).map(|test| id(view, *test));
        let rest = more(of.cleaners.len(), caps.items);
        lines.extend(names.chain(rest).map(|name| format!("{indent}{name}")));
    }
    lines.extend(more(known.len(), caps.items).map(|more| format!("{more} polluters have some")));
    page.exact(noun(n_cleaners, "cleaner", "cleaners"), Ink::Plain, &lines);
}

/// Shared places.
pub(crate) fn state(page: &mut Page, exhibit: &Exhibit, caps: Caps) {
    for (number, state) in exhibit.state.iter().take(caps.items).enumerate() {
        page.row(if number == 0 { "state" } else { "" }, &state_in_words(state));
    }
    let rest = more(exhibit.state.len(), caps.items);
    page.exact("", Ink::Plain, rest.as_slice());
}

/// "`shop.config.SETTINGS['currency']` (global): 'EUR' became 'USD'".
pub(crate) fn state_in_words(state: &State) -> String {
    let place = format!("{} ({})", visible(&state.place), state.kind);
    match (&state.before, &state.after) {
        (None, None) => place,
        (Some(before), Some(after)) if before == after => {
            format!("{place}: became another {}", visible(after))
        }
        (Some(before), Some(after)) => {
            format!("{place}: {} became {}", visible(before), visible(after))
        }
        (None, Some(after)) => format!("{place}: added, {}", visible(after)),
        (Some(before), None) => format!("{place}: removed, was {}", visible(before)),
    }
}

/// Open choices that decide how it ends.
pub(crate) fn choices(page: &mut Page, exhibit: &Exhibit) {
    let lines: Vec<String> = exhibit.choices.iter().flat_map(choice_in_words).collect();
    let label = noun(exhibit.choices.len(), "choice", "choices");
    page.exact(label, Ink::Plain, &lines);
}

/// "`com.acme.Receipt.text(Receipt.java:28)` asks `java.util.HashMap$KeySet.iterator`".
pub(crate) fn choice_in_words(choice: &Choice) -> Vec<String> {
    let Choice { api, place, test, number, n } = choice;
    let asks = format!("{} asks {}", visible(place), visible(api));
    let from = test.iter().map(|test| format!("  called from {}", visible(test)));
    let which = format!("  choice {number} of {n}");
    std::iter::once(asks).chain(from).chain([which]).collect()
}

/// What an earlier `shake` found.
pub(crate) fn factors(page: &mut Page, exhibit: &Exhibit) {
    for (number, factor) in exhibit.factors.iter().enumerate() {
        page.row(if number == 0 { "factor" } else { "" }, &words::factor_in_words(factor));
    }
}

/// Commands, each on a line of its own: what one can read, unless everything is asked for.
pub(crate) fn reproduce(page: &mut Page, view: &View<'_>, exhibit: &Exhibit, caps: Caps) {
    let all = &exhibit.reproduce;
    let replay = words::replay(view, exhibit);
    let replay = replay.filter(|_| all.iter().any(|command| is_script(command)));
    let is_left_out =
        |command: &&String| replay.is_some() && page.detail() < Detail::Full && is_script(command);
    let (left_out, shown): (Vec<_>, Vec<_>) = all.iter().partition(is_left_out);
    let commands = replay.iter().chain(shown.iter().copied()).take(caps.items);
    let commands: Vec<_> = commands.map(|command| visible(command)).collect();
    page.commands("reproduce", &commands);
    let rest = more(shown.len() + replay.iter().len(), caps.items);
    page.exact("", Ink::Plain, rest.as_slice());
    if let Some(often) = words::how_often(exhibit).filter(|_| !commands.is_empty()) {
        page.row("", &often);
    }
    if !left_out.is_empty() && page.detail() == Detail::Usual {
        let runner = visible(&view.origin.runner);
        page.row("", &format!("-v shows the long command for plain {runner}"));
    }
}

/// What to do next.
pub(crate) fn next(page: &mut Page, view: &View<'_>, exhibit: &Exhibit, offer: &Offer) {
    if page.detail() == Detail::Brief {
        return;
    }
    match next_of(view, exhibit, offer) {
        Next::Command(command) => page.commands("next", &[command]),
        Next::Advice(advice) => page.row("next", &advice),
    }
}
