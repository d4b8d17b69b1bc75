//! From rows to order-dependent tests with what they depend on.
//!
//! A row names a test, one test it depends on (a polluter of a victim, a state-setter of a brittle)
//! and, for victims, at most one cleaner of that polluter. A polluter without cleaners has one row
//! with that column empty; one with several has a row for each. The same name may occur in several
//! modules, and then means different tests.
//!
//! A value that we cannot parse is an error. A row or a whole test that is well-formed but unusable
//! is counted with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use unflake_model::{Suite, SuiteBuilder, TestId, TestIndex};
use unflake_stats::flake_rate::{Brittle, InvalidRole, Polluter, Victim};

use crate::quality::read::{DataFile, Row};

mod column {
    pub(super) const PROJECT: &str = "Project URL";
    pub(super) const SHA: &str = "SHA Detected";
    pub(super) const MODULE: &str = "Module Path";
    pub(super) const TEST: &str = "OD-test";
    pub(super) const DEPENDS_ON: &str = "Relevant-test(if it is VP/BSS)";
    pub(super) const CLEANER: &str = "Relevant-test(if it is VPC)";
    pub(super) const ROLE: &str = "OD-test-type";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Victim,
    Brittle,
}

/// Where a test is, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) project: String,
    pub(super) sha: String,
    pub(super) module: String,
    pub(super) test: TestId,
}

/// Everything that is listed about one test.
struct Rows {
    kind: Kind,
    is_contradicted: bool,
    /// The cleaners of each polluter; for a brittle, its setters, without any.
    depends_on: BTreeMap<TestId, BTreeSet<TestId>>,
}

/// What an order-dependent test depends on.
pub(super) enum Role {
    Victim(Victim),
    Brittle(Brittle),
}

/// An order-dependent test among the tests that matter to it.
pub(super) struct Listed {
    pub(super) place: Place,
    pub(super) suite: Suite,
    pub(super) role: Role,
    /// Assumption A1 of the closed forms: all polluters have the same cleaners.
    pub(super) shares_cleaners: bool,
}

/// The tests of a file, and for each reason how many rows or tests were left out.
pub(super) struct Listing {
    pub(super) tests: Vec<Listed>,
    pub(super) n_rows: usize,
    pub(super) left_out: BTreeMap<&'static str, usize>,
}

impl Listing {
    pub(super) fn read(file: &DataFile) -> Result<Self, String> {
        let mut by_place: BTreeMap<Place, Rows> = BTreeMap::new();
        let mut left_out = BTreeMap::new();
        let mut n_rows = 0;
        for row in file.rows() {
            n_rows += 1;
            if let Some(reason) = collect(row, &mut by_place)? {
                *left_out.entry(reason).or_default() += 1;
            }
        }
        let mut tests = Vec::new();
        for (place, rows) in by_place {
            match listed(place, &rows) {
                Ok(test) => tests.push(test),
                Err(reason) => *left_out.entry(reason).or_default() += 1,
            }
        }
        Ok(Self { tests, n_rows, left_out })
    }
}

/// Adds a row; returns the reason if it is of no use.
fn collect(row: Row, by_place: &mut BTreeMap<Place, Rows>) -> Result<Option<&'static str>, String> {
    let kind = match row.text(column::ROLE)? {
        "victim" => Kind::Victim,
        "brittle" => Kind::Brittle,
        _ => return Err(row.fault(column::ROLE, "is neither `victim` nor `brittle`")),
    };
    let place = Place {
        project: row.name(column::PROJECT)?.into(),
        sha: row.name(column::SHA)?.into(),
        module: row.name(column::MODULE)?.into(),
        test: test(row, column::TEST)?,
    };
    let cleaner = test_if_given(row, column::CLEANER)?;
    let Some(depends_on) = test_if_given(row, column::DEPENDS_ON)? else {
        return Ok(Some("rows without a polluter or state-setter"));
    };
    if kind == Kind::Brittle && cleaner.is_some() {
        return Ok(Some("rows with a cleaner for a brittle"));
    }
    let rows = by_place.entry(place).or_insert_with(|| Rows {
        kind,
        is_contradicted: false,
        depends_on: BTreeMap::new(),
    });
    rows.is_contradicted |= rows.kind != kind;
    rows.depends_on.entry(depends_on).or_default().extend(cleaner);
    Ok(None)
}

/// A test whose class is part of its name.
fn test(row: Row, column: &str) -> Result<TestId, String> {
    let id: Option<TestId> = row.name(column)?.parse().ok();
    id.filter(|id| class_of(id).is_some())
        .ok_or_else(|| row.fault(column, "is not of the form `package.Class.method`"))
}

fn test_if_given(row: Row, column: &str) -> Result<Option<TestId>, String> {
    if row.text(column)?.is_empty() { Ok(None) } else { test(row, column).map(Some) }
}

/// The name without the method. Dots in the arguments of a parameterised test do not count.
fn class_of(test: &TestId) -> Option<&str> {
    let name = test.as_str();
    let end = name.find(['[', '(']).unwrap_or(name.len());
    let (class, method) = name[..end].rsplit_once('.')?;
    (!class.is_empty() && !method.is_empty()).then_some(class)
}

fn listed(place: Place, rows: &Rows) -> Result<Listed, &'static str> {
    if rows.is_contradicted {
        return Err("tests listed both as victim and as brittle");
    }
    let suite = suite(&place.test, &rows.depends_on);
    let index = |id: &TestId| suite.find(id).expect("the suite is made of all tests listed");
    let test = index(&place.test);
    let role = match rows.kind {
        Kind::Victim => {
            let polluters = rows.depends_on.iter().map(|(polluter, cleaners)| Polluter {
                test: index(polluter),
                cleaners: cleaners.iter().map(index).collect(),
            });
            let polluters: Vec<Polluter> = polluters.collect();
            Role::Victim(Victim::new(&suite, test, &polluters).map_err(reason)?)
        }
        Kind::Brittle => {
            let setters: Vec<TestIndex> = rows.depends_on.keys().map(index).collect();
            Role::Brittle(Brittle::new(&suite, test, &setters).map_err(reason)?)
        }
    };
    let sets: BTreeSet<&BTreeSet<TestId>> = rows.depends_on.values().collect();
    Ok(Listed { place, suite, role, shares_cleaners: sets.len() == 1 })
}

fn reason(error: InvalidRole) -> &'static str {
    match error {
        InvalidRole::DependsOnItself { .. } => "tests that depend on themselves",
        InvalidRole::Repeated { .. } => "tests with a polluter given twice",
        InvalidRole::CleansItself { .. } => "tests with a polluter that is its own cleaner",
    }
}

/// The test and all tests that matter to it, in their classes.
fn suite(test: &TestId, depends_on: &BTreeMap<TestId, BTreeSet<TestId>>) -> Suite {
    let mut tests: BTreeSet<&TestId> = depends_on.values().flatten().collect();
    tests.extend(depends_on.keys());
    tests.insert(test);
    let mut builder = SuiteBuilder::default();
    for test in tests {
        let class = class_of(test).expect("only names with a class are read");
        builder.push(class, test.clone(), Duration::ZERO);
    }
    builder.build().expect("a set of tests, one of them at least, is a suite")
}

#[cfg(test)]
mod tests {
    use unflake_stats::flake_rate::OrderSpace;

    use super::*;

    const HEAD: &str = "Project URL,SHA Detected,Module Path,OD-test,\
        Relevant-test(if it is VP/BSS),Relevant-test(if it is VPC),OD-test-type\n";

    fn listing(rows: &str) -> Result<Listing, String> {
        Listing::read(&DataFile::parse("x.csv", &format!("{HEAD}{rows}"))?)
    }

    fn rates(listing: &Listing) -> Vec<f64> {
        let rate = |listed: &Listed| match &listed.role {
            Role::Victim(victim) => victim.flake_rate(OrderSpace::All, 1, 1),
            Role::Brittle(brittle) => brittle.flake_rate(OrderSpace::All),
        };
        listing.tests.iter().map(|listed| rate(listed).fails.to_f64()).collect()
    }

    #[test]
    fn rows_of_one_polluter_are_its_cleaners_and_an_empty_column_is_none() {
        // SC1: pi / (pi + gamma + 1), here 1/4 with two cleaners and 1/2 without.
        let listing =
            listing("u,s,m,C.v,C.p,C.c,victim\nu,s,m,C.v,C.p,C.d,victim\nu,s,m,D.v,C.p,,victim\n")
                .unwrap();
        assert_eq!(rates(&listing), [0.25, 0.5]);
        assert_eq!(listing.n_rows, 3);
        assert!(listing.left_out.is_empty());
    }

    #[test]
    fn polluters_with_different_cleaners_are_told_apart() {
        let listing = listing("u,s,m,C.v,C.p,C.c,victim\nu,s,m,C.v,D.q,C.d,victim\n").unwrap();
        assert!(!listing.tests[0].shares_cleaners);
        assert_eq!(listing.tests[0].suite.n_classes(), 2);
    }

    #[test]
    fn a_brittle_fails_before_all_its_setters_and_modules_are_apart() {
        // f_A = 1 / (s + 1): two setters in module m, one in module n.
        let listing =
            listing("u,s,m,C.b,C.s,,brittle\nu,s,m,C.b,C.t,,brittle\nu,s,n,C.b,C.s,,brittle\n")
                .unwrap();
        let expected = [1.0 / 3.0, 0.5];
        assert!(rates(&listing).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
    }

    #[test]
    fn what_cannot_be_used_is_counted_with_the_reason() {
        let listing = listing(
            "u,s,m,C.a,,,victim\nu,s,m,C.b,C.b,,victim\nu,s,m,C.d,C.p,C.p,victim\n\
             u,s,m,C.e,C.p,C.c,brittle\nu,s,m,C.f,C.p,,victim\nu,s,m,C.f,C.p,,brittle\n",
        )
        .unwrap();
        assert!(listing.tests.is_empty());
        let reasons: Vec<(&str, usize)> = listing.left_out.into_iter().collect();
        assert_eq!(
            reasons,
            [
                ("rows with a cleaner for a brittle", 1),
                ("rows without a polluter or state-setter", 1),
                ("tests listed both as victim and as brittle", 1),
                ("tests that depend on themselves", 1),
                ("tests with a polluter that is its own cleaner", 1),
            ]
        );
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        let refusal = |rows: &str| listing(rows).map(|_| ()).unwrap_err();
        assert_eq!(
            refusal("u,s,m,C.v,C.p,,witness\n"),
            "`x.csv` line 2: `witness` in column `OD-test-type` is neither `victim` nor `brittle`"
        );
        assert_eq!(
            refusal("u,s,m,C.v,p,,victim\n"),
            "`x.csv` line 2: `p` in column `Relevant-test(if it is VP/BSS)` is not of the form \
             `package.Class.method`"
        );
    }

    #[test]
    fn dots_in_arguments_do_not_end_the_class() {
        let class = |name: &str| class_of(&name.parse().unwrap()).map(str::to_owned);
        assert_eq!(class("a.b.C.m[x=0.5]").as_deref(), Some("a.b.C"));
        assert_eq!(class("a.b.C.m").as_deref(), Some("a.b.C"));
        assert_eq!(class("m"), None);
    }
}
