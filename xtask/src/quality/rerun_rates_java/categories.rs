//! The category of every test by the rules of the study and by ours, with reasons for differences.
//!
//! The study's rules (root-cause spec 2.3, step 5): a test whose rate is 0 or 100 % in every order
//! is OD; with fewer than three orders it is left out; with p < 0.05 in the chi-square test it is
//! likely NDOD; else it is undecided. Ours decide by the exact test, and add NDOI where the order
//! can move the rate by at most a tenth.

use std::collections::BTreeMap;

use unflake_model::Verdict;

use super::{ALPHA, Compared, MARGINS};
use crate::quality::summary::{p_value, percent};
use crate::table::{render, row};

/// The index of the margin that decides NDOI.
const MARGIN: usize = 1;

/// A category by the rules of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Category {
    Od,
    Ndod,
    Undecided,
    LeftOut,
}

impl Category {
    fn of(compared: &Compared) -> Self {
        if !compared.test.orders.iter().any(|tally| tally.is_mixed()) {
            Self::Od
        } else if compared.by_margin[MARGIN].has_few_orders() {
            Self::LeftOut
        } else if compared.test.is_below {
            Self::Ndod
        } else {
            Self::Undecided
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Od => "OD: 0 or 100 % in every order",
            Self::Ndod => "NDOD: p < 0.05",
            Self::Undecided => "undecided: p is greater",
            Self::LeftOut => "left out: fewer than three orders",
        }
    }

    fn is_same(self, verdict: Verdict) -> bool {
        match self {
            Self::Od => verdict.is_order_dependent(),
            Self::Ndod => verdict == Verdict::Ndod,
            Self::Undecided | Self::LeftOut => verdict == Verdict::NodUndecided,
        }
    }
}

/// Why our category differs.
fn reason(compared: &Compared) -> String {
    let classified = &compared.by_margin[MARGIN];
    let exact = p_value(compared.exact.p_value);
    let influence = percent(classified.influence);
    match (Category::of(compared), classified.verdict) {
        (Category::Ndod, Verdict::NodUndecided) => format!(
            "too few failures for chi-square (p {}); exactly, p {exact}",
            p_value(compared.ours)
        ),
        (_, Verdict::Ndoi) => format!(
            "no order moves the rate by more than {influence} (exact p {exact}): NDOI has a rule"
        ),
        (_, Verdict::Ndod) => format!("exact p {exact}"),
        (
            _,
            verdict @ (Verdict::OdVictim
            | Verdict::OdBrittle
            | Verdict::OdUnknownRole
            | Verdict::NodUndecided
            | Verdict::Id
            | Verdict::Env
            | Verdict::Nio
            | Verdict::Ud
            | Verdict::AlwaysFailing
            | Verdict::InsufficientEvidence
            | Verdict::NotFlaky),
        ) => format!("{} (exact p {exact})", verdict.meaning()),
    }
}

/// Prints all tests by both categories, and each difference with its reason.
pub(super) fn report(compared: &[Compared]) {
    let margin = percent(MARGINS[MARGIN]);
    println!("\nCategories by the rules of the study and by ours (exact test, margin {margin})\n");
    let mut counts: BTreeMap<(Category, Verdict), usize> = BTreeMap::new();
    for compared in compared {
        let key = (Category::of(compared), compared.by_margin[MARGIN].verdict);
        *counts.entry(key).or_default() += 1;
    }
    let mut rows = vec![row!["study", "ours", "tests"]];
    rows.extend(counts.iter().map(|((category, verdict), n)| row![category.name(), verdict, n]));
    rows.push(row!["all", "", compared.len()]);
    print!("{}", render(&rows));
    let differ = |c: &&Compared| !Category::of(c).is_same(c.by_margin[MARGIN].verdict);
    let mut rows = vec![row!["test", "study", "ours", "because"]];
    for compared in compared.iter().filter(differ) {
        let category = Category::of(compared).name().split(':').next().unwrap_or_default();
        let verdict = compared.by_margin[MARGIN].verdict;
        rows.push(row![short(&compared.test.name), category, verdict, reason(compared)]);
    }
    println!("\nWhere they differ ({} of {} at {ALPHA})\n", rows.len() - 1, compared.len());
    print!("{}", render(&rows));
}

/// The class and the method of a test.
fn short(name: &str) -> &str {
    let mut dots = name.rmatch_indices('.');
    let _method = dots.next();
    dots.next().map_or(name, |(place, _)| &name[place + 1..])
}
