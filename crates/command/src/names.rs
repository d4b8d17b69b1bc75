//! Which test is a case about?
//!
//! A report has its own way to call a test: a name and a class around it. An id is compared with
//! what can be made of the two, the most telling first; or, if the settings have a pattern, with
//! what that makes and nothing else.

use std::collections::BTreeMap;

use crate::report::Case;
use crate::template::IdPattern;

/// What stands between class and name in an id, the most telling first.
const BETWEEN: [&str; 4] = ["::", ".", " > ", " "];

/// The ids that a case may be about, the most telling first.
pub(crate) fn candidates(case: &Case, pattern: Option<&IdPattern>) -> Vec<String> {
    if let Some(pattern) = pattern {
        return vec![pattern.fill(&case.class, &case.name, &case.file)];
    }
    let mut ids = Vec::new();
    if !case.class.is_empty() {
        ids.extend(BETWEEN.iter().map(|between| [&case.class, *between, &case.name].concat()));
    }
    ids.push(case.name.clone());
    ids
}

/// For each test of an order, the cases about it, in the order of the report. A test that comes
/// twice in the order has all its cases at each of its places.
pub(crate) fn assign<'a>(
    order: &[&str],
    cases: &'a [Case],
    pattern: Option<&IdPattern>,
) -> Vec<Vec<&'a Case>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, id) in order.iter().enumerate() {
        places.entry(id).or_default().push(place);
    }
    let mut assigned = vec![Vec::new(); order.len()];
    for case in cases {
        let ids = candidates(case, pattern);
        for place in ids.iter().find_map(|id| places.get(id.as_str())).into_iter().flatten() {
            assigned[*place].push(case);
        }
    }
    assigned
}

/// Class and name of a test: what stands before and behind the last separator in its id.
pub(crate) fn split<'a>(id: &'a str, separator: Option<&str>) -> Option<(&'a str, &'a str)> {
    let known: &[&str] = match &separator {
        Some(separator) => std::slice::from_ref(separator),
        None => &["::", "#", " > ", "/", "."],
    };
    let split = |separator: &&str| id.rsplit_once(separator).filter(|(class, _)| !class.is_empty());
    known.iter().find_map(split)
}

/// The class of a test; the runner as a whole for one without.
pub(crate) fn class_of<'a>(id: &'a str, separator: Option<&str>) -> &'a str {
    split(id, separator).map_or("tests", |(class, _)| class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report;
    use crate::settings::Format;

    fn cases(names: &[(&str, &str)]) -> Vec<Case> {
        let case = |(class, name): &(&str, &str)| {
            format!("<testcase classname='{class}' name='{name}' file='f'/>")
        };
        let xml: String = names.iter().map(case).collect();
        let text = format!("<testsuite>{xml}</testsuite>");
        report::read(Format::Junit, &[text]).unwrap().cases
    }

    fn found(order: &[&str], names: &[(&str, &str)], pattern: Option<&str>) -> Vec<usize> {
        let pattern = pattern.map(|pattern| IdPattern::parse(pattern).unwrap());
        let cases = cases(names);
        assign(order, &cases, pattern.as_ref()).iter().map(Vec::len).collect()
    }

    #[test]
    fn an_id_is_a_name_with_or_without_its_class() {
        for id in ["n", "C.n", "C::n", "C > n", "C n"] {
            assert_eq!(found(&[id], &[("C", "n")], None), [1], "{id}");
        }
        assert_eq!(found(&["other"], &[("C", "n")], None), [0]);
        assert_eq!(found(&["n"], &[("", "n")], None), [1]);
    }

    #[test]
    fn the_most_telling_id_has_the_case() {
        assert_eq!(found(&["n", "C::n"], &[("C", "n")], None), [0, 1]);
        assert_eq!(found(&["n"], &[("C", "n"), ("D", "n")], None), [2], "named twice");
    }

    #[test]
    fn a_pattern_is_the_only_way() {
        assert_eq!(found(&["C#n", "n"], &[("C", "n")], Some("{classname}#{name}")), [1, 0]);
        assert_eq!(found(&["f:n"], &[("C", "n")], Some("{file}:{name}")), [1]);
    }

    #[test]
    fn classes_are_what_stands_before_the_last_separator() {
        assert_eq!(class_of("a::b::c", None), "a::b");
        assert_eq!(class_of("x.js > suite > test 1.5", None), "x.js > suite");
        assert_eq!(class_of("Suite.Test", None), "Suite");
        assert_eq!(class_of("alone", None), "tests");
        assert_eq!(class_of("a.b/c.d", Some("/")), "a.b");
        assert_eq!(class_of("/root", None), "tests");
    }
}
