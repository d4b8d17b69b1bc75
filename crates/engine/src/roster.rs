//! Makes a suite from what an agent collected, and translates numbers between the two.
//!
//! A runner may collect tests that cannot be part of a suite: with a line break in the name, or two
//! with the same name. They are set aside and reported, never dropped in silence; the others are
//! renumbered, and the roster keeps both numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use unflake_model::{Suite, SuiteBuilder, TestId, TestIndex};
use unflake_wire::Collected;

/// A collected test that cannot be part of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its name, as the runner spells it.
    pub id: String,
    /// The reason, for people.
    pub why: String,
}

/// The tests that are part of the suite, with their positions among the collected ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roster {
    tests: Vec<(TestId, usize)>,
    set_aside: Vec<SetAside>,
}

impl Roster {
    pub(crate) fn new(collected: &Collected) -> Self {
        let mut roster = Self::default();
        let mut seen = BTreeSet::new();
        for (place, test) in collected.tests.iter().enumerate() {
            let id = match test.id.parse::<TestId>() {
                Ok(id) => id,
                Err(error) => {
                    roster.set_aside(&test.id, error.to_string());
                    continue;
                }
            };
            if seen.insert(test.id.as_str()) {
                roster.tests.push((id, place));
            } else {
                let why = "another test has the same name, only the first is run";
                roster.set_aside(&test.id, why.to_owned());
            }
        }
        roster
    }

    fn set_aside(&mut self, id: &str, why: String) {
        self.set_aside.push(SetAside { id: id.to_owned(), why });
    }

    pub(crate) fn n_tests(&self) -> usize {
        self.tests.len()
    }

    pub(crate) fn tests_set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    /// The position of a test among the collected ones.
    pub(crate) fn place(&self, test: TestIndex) -> Option<usize> {
        self.tests.get(test.get()).map(|(_, place)| *place)
    }

    /// The name of a test.
    pub(crate) fn id(&self, test: TestIndex) -> Option<&TestId> {
        self.tests.get(test.get()).map(|(id, _)| id)
    }

    pub(crate) fn suite(
        &self,
        collected: &Collected,
        mut duration_of: impl FnMut(&TestId) -> Duration,
    ) -> Suite {
        let mut builder = SuiteBuilder::default();
        for (id, place) in &self.tests {
            builder.push(&collected.tests[*place].class, id.clone(), duration_of(id));
        }
        builder.build().expect("a roster is not empty, and its names are distinct")
    }
}

/// The position of each test among the collected ones, by name.
pub(crate) fn places(collected: &Collected) -> BTreeMap<String, usize> {
    let tests = collected.tests.iter().enumerate().rev();
    tests.map(|(place, test)| (test.id.clone(), place)).collect()
}

/// The first test in which two collections differ, in words.
pub(crate) fn difference(before: &Collected, after: &Collected) -> Option<String> {
    let id = |collected: &Collected, place: usize| collected.tests.get(place).map(|t| t.id.clone());
    let n_tests = before.tests.len().max(after.tests.len());
    let place = (0..n_tests).find(|place| id(before, *place) != id(after, *place))?;
    Some(match (id(before, place), id(after, place)) {
        (Some(was), Some(is)) => format!("test {place} was `{was}` and is now `{is}`"),
        (Some(was), None) => format!("`{was}` is missing"),
        (_, is) => format!("`{}` is new", is.unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_wire::CollectedTest;

    fn collected(ids: &[&str]) -> Collected {
        let test = |id: &&str| CollectedTest {
            id: (*id).to_owned(),
            class: id.split("::").next().unwrap().to_owned(),
            file: "t.py".to_owned(),
            once: false,
        };
        Collected {
            tests: ids.iter().map(test).collect(),
            errors: Vec::new(),
            fork: None,
            rootdir: "/".to_owned(),
            runner: "fake".to_owned(),
            plugins: Vec::new(),
        }
    }

    #[test]
    fn names_we_cannot_speak_of_are_set_aside_and_the_rest_keeps_its_places() {
        let collected = collected(&["a::1", "a::\n", "", "b::1", "a::1", "a::2"]);
        let roster = Roster::new(&collected);
        let set_aside: Vec<_> = roster.tests_set_aside().iter().map(|t| t.id.as_str()).collect();
        assert_eq!(set_aside, ["a::\n", "", "a::1"]);
        let places: Vec<_> = (0..4).map(|test| roster.place(TestIndex::new(test))).collect();
        assert_eq!(places, [Some(0), Some(3), Some(5), None]);
        let suite = roster.suite(&collected, |id| Duration::from_secs(id.as_str().len() as u64));
        assert_eq!(suite.n_classes(), 2);
        assert_eq!(suite.id(TestIndex::new(1)).as_str(), "b::1");
        assert_eq!(suite.duration(TestIndex::new(1)), Duration::from_secs(4));
    }

    #[test]
    fn the_first_difference_is_named() {
        let check = |after: &[&str]| difference(&collected(&["a", "b"]), &collected(after));
        assert_eq!(check(&["a", "b"]), None);
        assert_eq!(check(&["a", "c"]).unwrap(), "test 1 was `b` and is now `c`");
        assert_eq!(check(&["a"]).unwrap(), "`b` is missing");
        assert_eq!(check(&["a", "b", "c"]).unwrap(), "`c` is new");
    }
}
