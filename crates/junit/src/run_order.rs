//! Which of Surefire's orders puts these tests one after the other?

use serde::Deserialize;

/// A collected test, as far as Surefire's order depends on it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Collected {
    pub(crate) id: String,
    /// The class that is asked for.
    #[serde(rename = "class")]
    pub(crate) top: String,
    /// Who runs it. Surefire lets one engine finish before the next begins.
    pub(crate) engine: String,
}

/// The run order of Surefire in which these tests, and no others, come in this order.
pub(crate) fn of(tests: &[Collected], ids: &[&str], known: &str) -> Option<&'static str> {
    let place = |id: &&str| tests.iter().position(|test| test.id == **id);
    let places: Vec<usize> = ids.iter().map(place).collect::<Option<_>>()?;
    let is_ordered = |in_order: &dyn Fn(usize, usize) -> bool| {
        places.windows(2).all(|pair| in_order(pair[0], pair[1]))
    };
    // Within a class, the runner decides.
    let with = |classes: &dyn Fn(&Collected, &Collected) -> bool| {
        is_ordered(&|one, other| {
            let (first, second) = (&tests[one], &tests[other]);
            let is_of_one_engine = first.engine == second.engine;
            if first.top == second.top || !is_of_one_engine {
                one < other
            } else {
                classes(first, second)
            }
        }) && is_contiguous(tests, &places)
    };
    let is_free = known.is_empty() || known == "filesystem";
    if is_ordered(&|one, other| one < other) {
        Some("filesystem")
    } else if is_free && with(&|first, second| first.top < second.top) {
        Some("alphabetical")
    } else if is_free && with(&|first, second| second.top < first.top) {
        Some("reversealphabetical")
    } else {
        None
    }
}

fn is_contiguous(tests: &[Collected], places: &[usize]) -> bool {
    let mut tops: Vec<&str> = places.iter().map(|place| tests[*place].top.as_str()).collect();
    tops.dedup();
    let n_stretches = tops.len();
    tops.sort_unstable();
    tops.dedup();
    tops.len() == n_stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ids: &[&str]) -> Option<&'static str> {
        let test = |text: &str| {
            let (engine, id) = text.split_once(' ').unwrap();
            let top = id.split('#').next().unwrap().to_owned();
            Collected { id: id.to_owned(), top, engine: engine.to_owned() }
        };
        let tests = ["j B#y", "j B#x", "j A#z", "j C#q", "v D#r", "v A2#s"].map(test);
        of(&tests, ids, "filesystem")
    }

    #[test]
    fn an_order_is_expressed_if_one_of_surefires_contains_it() {
        assert_eq!(order(&["B#y", "A#z", "C#q"]), Some("filesystem"));
        assert_eq!(order(&["A#z", "B#y", "B#x"]), Some("alphabetical"));
        assert_eq!(order(&["C#q", "A#z"]), Some("reversealphabetical"));
        assert_eq!(order(&["A#z", "C#q", "B#x"]), None);
        assert_eq!(order(&["B#x", "B#y"]), None, "the runner decides within a class");
        assert_eq!(order(&["A#z", "B#y", "A2#s"]), Some("alphabetical"));
        assert_eq!(order(&["A2#s", "B#y"]), None, "engines are run one after the other");
        assert_eq!(order(&["B#y", "A#z", "B#x"]), None, "no class is run twice");
        assert_eq!(order(&["no#such"]), None);
    }

    #[test]
    fn an_order_set_in_the_build_file_is_the_only_one() {
        let test = |id: &str| Collected { id: id.into(), top: id.into(), engine: "j".into() };
        let tests = [test("A"), test("B")];
        assert_eq!(of(&tests, &["B", "A"], "alphabetical"), None);
        assert_eq!(of(&tests, &["A", "B"], "alphabetical"), Some("filesystem"));
    }
}
