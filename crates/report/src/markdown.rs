//! A comment on a pull request: a table, then the findings one by one to unfold.
//!
//! Names and texts from tests must not become markup, mentions or links. An id is a code span; one
//! with a backtick or a table bar is a `<code>` element with every such character as an entity.
//! Texts are fenced, with a fence longer than any in the text.
//!
//! Bounded in bytes, because hosts refuse long comments: pieces are added while they fit, whole or
//! not at all, and what does not fit is counted.

use unflake_model::TestIndex;

use crate::next::{Next, next, next_step};
use crate::ranking::{Family, ranked};
use crate::visible::{last_lines, visible};
use crate::words::{self, more};
use unflake_known::{Exhibit, Offer, View};

/// GitHub refuses comments of more than 65,536 characters; this leaves room for a caller's words.
pub const BYTES_MAX: usize = 60_000;
/// Where the table ends at the latest, and where the details do; the rest is for the summary.
const TABLE_BYTES: usize = 25_000;
const DETAILS_BYTES: usize = 52_000;
/// No warning may take the place of the summary.
const WARNINGS_BYTES: usize = 57_000;
/// Rows of the table.
const ROWS_MAX: usize = 100;
/// Tests named in a list.
const NAMED_MAX: usize = 5;
/// Lines and columns of a failure's text.
const LINES_MAX: usize = 20;
const COLUMNS_MAX: usize = 200;

/// The whole comment, at most [`BYTES_MAX`] bytes.
pub fn render(view: &View<'_>, offer: &Offer) -> String {
    let families = ranked(view);
    let exhibits: Vec<&Exhibit> =
        families.iter().flat_map(|family| family.members.iter().copied()).collect();
    let mut comment = Comment::default();
    comment.add(&format!("### unflake: {}\n\n", words::headline(view, &families)));
    table(&mut comment, view, &exhibits);
    causes(&mut comment, view, &families);
    details(&mut comment, view, &exhibits, offer);
    warnings(&mut comment, view);
    comment.add(&summary(view, &families));
    comment.text
}

#[derive(Default)]
pub(crate) struct Comment {
    pub(crate) text: String,
}

impl Comment {
    /// Adds what is short and must be there.
    pub(crate) fn add(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Adds those pieces that fit, and says how many did.
    pub(crate) fn add_within(
        &mut self,
        bytes_max: usize,
        pieces: impl Iterator<Item = String>,
    ) -> usize {
        let mut n_added = 0;
        for piece in pieces {
            if self.text.len() + piece.len() <= bytes_max {
                self.add(&piece);
                n_added += 1;
            }
        }
        n_added
    }
}

fn table(comment: &mut Comment, view: &View<'_>, exhibits: &[&Exhibit]) {
    if exhibits.is_empty() {
        return;
    }
    let sure = words::percent(view.confidence.get(), 1);
    comment.add(&format!("| kind | test | failed | {sure} % interval | depends on |\n"));
    comment.add("|---|---|---|---|---|\n");
    let rows = exhibits.iter().take(ROWS_MAX).map(|exhibit| row(view, exhibit));
    let n_rows = comment.add_within(TABLE_BYTES, rows);
    comment.add("\n");
    if let Some(more) = more(exhibits.len(), n_rows) {
        comment.add(&format!("{more} in the full report.\n\n"));
    }
}

fn row(view: &View<'_>, exhibit: &Exhibit) -> String {
    let finding = &exhibit.finding;
    let role = |name: &str, groups: &[Vec<TestIndex>]| match groups {
        [] => None,
        [only] => Some(format!("{name} {}", group(view, only))),
        [first, ..] => Some(format!("{name} {} and {} more", group(view, first), groups.len() - 1)),
    };
    let roles = [
        role("polluter", &finding.dependencies.polluters),
        role("state-setter", &finding.dependencies.state_setters),
    ];
    let roles: Vec<String> = roles.into_iter().flatten().collect();
    format!(
        "| {}{} | {} | {} | {} | {} |\n",
        finding.verdict.told(),
        if exhibit.is_confirmed() { "" } else { " (not confirmed)" },
        name(view, finding.test),
        words::of(finding.tally),
        words::limits(finding.tally, view.confidence),
        roles.join(", "),
    )
}

fn causes(comment: &mut Comment, view: &View<'_>, families: &[Family<'_>]) {
    let shared: Vec<&Family<'_>> =
        families.iter().filter(|family| 1 < family.members.len()).collect();
    if shared.is_empty() {
        return;
    }
    let items = shared.iter().take(NAMED_MAX).map(|family| {
        let tests = words::plural(family.members.len() as u64, "test", "tests");
        format!("- One cause, {tests}: look at {}\n", names(view, family.culprits))
    });
    let n_shown = comment.add_within(DETAILS_BYTES, items);
    if let Some(more) = words::more_of(shared.len(), n_shown, "cause", "causes") {
        comment.add(&format!("- {more} of more than one test\n"));
    }
    comment.add("\n");
}

fn details(comment: &mut Comment, view: &View<'_>, exhibits: &[&Exhibit], offer: &Offer) {
    let pieces = exhibits.iter().map(|exhibit| detail(view, exhibit, offer));
    let n_shown = comment.add_within(DETAILS_BYTES, pieces);
    if n_shown < exhibits.len() {
        let n_more = exhibits.len() - n_shown;
        comment.add(&format!("Details of {n_more} more are in the full report.\n\n"));
    }
}

fn detail(view: &View<'_>, exhibit: &Exhibit, offer: &Offer) -> String {
    let finding = &exhibit.finding;
    let id = html(&visible(view.suite.id(finding.test).as_str()));
    let mut parts = vec![format!(
        "<details><summary><code>{id}</code> {}</summary>\n\n",
        finding.verdict.told()
    )];
    let rate = words::rate(finding, view.confidence);
    parts.push(format!("- {}\n- {rate}\n", finding.verdict.meaning()));
    parts.extend(roles(view, exhibit));
    let state = exhibit.state.iter().take(NAMED_MAX);
    parts.extend(
        state.map(|it| format!("- state: {} ({})\n", code(&it.place), code(it.kind.slug()))),
    );
    let choices = exhibit.choices.iter();
    parts.extend(
        choices.map(|it| format!("- choice: {} asks {}\n", code(&it.place), code(&it.api))),
    );
    let evidence = words::evidence(view, exhibit);
    if !evidence.is_empty() {
        parts.push(format!("- {evidence}\n"));
    }
    parts.push(match next(view, exhibit, offer) {
        Next::Command(command) => format!("- next: {}\n", code(&command)),
        Next::Advice(advice) => format!("- next: {advice}\n"),
    });
    parts.push("\n".to_owned());
    if !exhibit.reproduce.is_empty() {
        let commands: Vec<_> =
            exhibit.reproduce.iter().take(NAMED_MAX).map(|command| visible(command)).collect();
        parts.push(fenced("sh", &commands.join("\n")));
    }
    if let Some(failure) = &exhibit.failure {
        let shown = if failure.text.trim().is_empty() { &failure.message } else { &failure.text };
        parts.push(fenced("text", &last_lines(shown, LINES_MAX, COLUMNS_MAX).join("\n")));
    }
    parts.push("</details>\n\n".to_owned());
    parts.concat()
}

fn roles(view: &View<'_>, exhibit: &Exhibit) -> Vec<String> {
    let dependencies = &exhibit.finding.dependencies;
    let mut items = Vec::new();
    let roles =
        [("polluters", &dependencies.polluters), ("state-setters", &dependencies.state_setters)];
    for (role, groups) in roles.into_iter().filter(|(_, groups)| !groups.is_empty()) {
        let mut shown: Vec<String> =
            groups.iter().take(NAMED_MAX).map(|it| group(view, it)).collect();
        shown.extend(more(groups.len(), NAMED_MAX));
        items.push(format!("- {role}: {}\n", shown.join(", ")));
    }
    let cleaned = dependencies.cleaners.iter().filter(|of| !of.cleaners.is_empty());
    items.extend(cleaned.take(NAMED_MAX).map(|of| {
        let after = group(view, &of.polluters);
        format!("- cleaners after {after}: {}\n", names(view, &of.cleaners))
    }));
    items
}

/// The words from outside are code, lest they mention or link.
fn warnings(comment: &mut Comment, view: &View<'_>) {
    if view.warnings.is_empty() {
        return;
    }
    let items = view.warnings.iter().map(|warning| {
        format!("- **warning:** {}; {}\n", code(&warning.message()), warning.advice())
    });
    let n_shown = comment.add_within(WARNINGS_BYTES, items);
    if let Some(more) = words::more_of(view.warnings.len(), n_shown, "warning", "warnings") {
        comment.add(&format!("- {more}\n"));
    }
    comment.add("\n");
}

fn summary(view: &View<'_>, families: &[Family<'_>]) -> String {
    let sentences = [
        Some(words::effort(view)),
        Some(words::reach(view)),
        words::ending(view),
        Some(next_step(view, families)),
    ];
    let sentences: Vec<String> =
        sentences.into_iter().flatten().map(|sentence| sentence + ".").collect();
    sentences.join(" ") + "\n"
}

fn group(view: &View<'_>, tests: &[TestIndex]) -> String {
    let names: Vec<String> = tests.iter().take(NAMED_MAX).map(|test| name(view, *test)).collect();
    let more = more(tests.len(), NAMED_MAX).map(|more| format!(" {more}"));
    names.join(" then ") + &more.unwrap_or_default()
}

fn names(view: &View<'_>, tests: &[TestIndex]) -> String {
    let mut names: Vec<String> =
        tests.iter().take(NAMED_MAX).map(|test| name(view, *test)).collect();
    names.extend(more(tests.len(), NAMED_MAX));
    names.join(", ")
}

fn name(view: &View<'_>, test: TestIndex) -> String {
    code(view.suite.id(test).as_str())
}

/// The text as code, in a table or elsewhere.
pub(crate) fn code(text: &str) -> String {
    let text = visible(text);
    let is_simple = !text.contains(['`', '|', '\\']) && text.trim() == text && !text.is_empty();
    if is_simple { format!("`{text}`") } else { format!("<code>{}</code>", entities(&text)) }
}

/// Every character that Markdown or HTML might take for markup, as an entity.
fn entities(text: &str) -> String {
    let is_markup = |c: char| c.is_ascii_punctuation() && !"/.,:;-=()".contains(c);
    escaped(text, is_markup)
}

/// For within an HTML block, which Markdown does not look into.
fn html(text: &str) -> String {
    escaped(text, |c| matches!(c, '&' | '<' | '>' | '"' | '\''))
}

fn escaped(text: &str, is_markup: impl Fn(char) -> bool) -> String {
    let escape = |c: char| {
        if is_markup(c) { format!("&#{};", u32::from(c)) } else { c.to_string() }
    };
    text.chars().map(escape).collect()
}

fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_code_whatever_they_hold() {
        assert_eq!(code("a.py::t[x y]"), "`a.py::t[x y]`");
        assert_eq!(code("t[a|b]"), "<code>t&#91;a&#124;b&#93;</code>");
        assert_eq!(code("t[`<b>`]"), "<code>t&#91;&#96;&#60;b&#62;&#96;&#93;</code>");
        assert_eq!(entities("@me #1 <!-- *x*"), "&#64;me &#35;1 &#60;&#33;-- &#42;x&#42;");
    }

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        assert_eq!(fenced("sh", "ls"), "```sh\nls\n```\n\n");
        assert_eq!(fenced("text", "a ```` b"), "`````text\na ```` b\n`````\n\n");
    }
}
