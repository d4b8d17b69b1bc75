//! One line per finding, for a glance or a `grep`.
//!
//! The id stands last and is never shortened, so no name can push a column out of line.

use crate::ranking::ranked;
use crate::rows::id;
use crate::words::{limits, more, noun, percent};
use unflake_known::{Exhibit, View};

/// Lines shown.
const LINES_MAX: usize = 1000;

/// The table, with a line of titles; empty without findings.
pub fn render(view: &View<'_>) -> String {
    let exhibits: Vec<&Exhibit> =
        ranked(view).into_iter().flat_map(|family| family.members).collect();
    if exhibits.is_empty() {
        return String::new();
    }
    let interval = format!("{} % INTERVAL", percent(view.confidence.get(), 1));
    let titles = ["KIND", "CONFIRMED", "FAILED", &interval, "DEPENDS ON", "TEST"];
    let mut lines = vec![titles.map(str::to_owned)];
    lines.extend(exhibits.iter().take(LINES_MAX).map(|exhibit| cells(view, exhibit)));
    let more = more(exhibits.len(), LINES_MAX).map(|more| more + "\n");
    aligned(&lines) + &more.unwrap_or_default()
}

fn cells(view: &View<'_>, exhibit: &Exhibit) -> [String; 6] {
    let tally = exhibit.finding.tally;
    [
        exhibit.finding.verdict.told(),
        if exhibit.is_confirmed() { "yes" } else { "no" }.to_owned(),
        format!("{}/{}", tally.failures, tally.attempts),
        limits(tally, view.confidence),
        depends_on(exhibit),
        id(view, exhibit.finding.test),
    ]
}

fn depends_on(exhibit: &Exhibit) -> String {
    let dependencies = &exhibit.finding.dependencies;
    let n_cleaners: usize = dependencies.cleaners.iter().map(|of| of.cleaners.len()).sum();
    let counts = [
        (dependencies.polluters.len(), "polluter", "polluters"),
        (n_cleaners, "cleaner", "cleaners"),
        (dependencies.state_setters.len(), "state-setter", "state-setters"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(n, _, _)| 0 < *n)
        .map(|(n, one, many)| format!("{n} {}", noun(*n, one, many)))
        .collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

fn aligned(lines: &[[String; 6]]) -> String {
    let width = |column: usize| lines.iter().map(|cells| cells[column].len()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |cells: &[String; 6]| {
        let pad = |(cell, width): (&String, usize)| format!("{cell:<width$}");
        let mut padded: Vec<String> = cells.iter().zip(widths).map(pad).collect();
        padded.push(cells[5].clone() + "\n");
        padded.join("  ")
    };
    lines.iter().map(line).collect()
}
