//! Groups findings by root cause: fewer fixes are needed than tests are flaky.
//!
//! Two findings share a cause if they depend on a test in common, or if one depends on the other (a
//! brittle that fails and thereby pollutes its neighbours). The transitive closure of that relation
//! divides the findings into causes: twenty-seven victims of the same twenty polluters are one.

use std::collections::BTreeMap;

use unflake_model::{Cause, Finding, TestIndex};

/// Divides the findings into causes, the one that explains most tests first.
pub fn causes(findings: &[Finding]) -> Vec<Cause> {
    let mut parent = BTreeMap::new();
    for finding in findings {
        find(&mut parent, finding.test);
        for culprit in culprits_of(finding) {
            let (a, b) = (find(&mut parent, finding.test), find(&mut parent, culprit));
            parent.insert(a.max(b), a.min(b));
        }
    }
    let mut members: BTreeMap<TestIndex, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        members.entry(find(&mut parent, finding.test)).or_default().push(finding);
    }
    let mut causes: Vec<Cause> = members.into_values().map(|m| cause_of(&m)).collect();
    causes.sort_by_key(|cause| (usize::MAX - cause.tests.len(), cause.tests.clone()));
    causes
}

fn culprits_of(finding: &Finding) -> impl Iterator<Item = TestIndex> {
    let dependencies = &finding.dependencies;
    dependencies.polluters.iter().chain(&dependencies.state_setters).flatten().copied()
}

fn cause_of(findings: &[&Finding]) -> Cause {
    let mut shares: BTreeMap<TestIndex, usize> = BTreeMap::new();
    for culprit in findings.iter().flat_map(|finding| culprits_of(finding)) {
        *shares.entry(culprit).or_default() += 1;
    }
    let mut culprits: Vec<TestIndex> = shares.keys().copied().collect();
    culprits.sort_by_key(|test| (usize::MAX - shares[test], *test));
    let mut tests: Vec<TestIndex> = findings.iter().map(|finding| finding.test).collect();
    tests.sort_unstable();
    if culprits.is_empty() {
        culprits.clone_from(&tests);
    }
    Cause { culprits, tests }
}

/// The representative of a test's set; a test without a set gets one of its own.
fn find(parent: &mut BTreeMap<TestIndex, TestIndex>, test: TestIndex) -> TestIndex {
    let mut root = test;
    while let Some(up) = parent.get(&root).filter(|up| **up != root) {
        root = *up;
    }
    parent.insert(root, root);
    parent.insert(test, root);
    root
}
