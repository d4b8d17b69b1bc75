//! How much of the truth was found.

use std::collections::BTreeSet;

/// Things planted, and things claimed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Score {
    pub(crate) planted: u64,
    pub(crate) found: u64,
    pub(crate) wrong: u64,
}

impl Score {
    pub(crate) fn add<T: Ord>(&mut self, truth: &BTreeSet<T>, claimed: &BTreeSet<T>) {
        self.merge(Self {
            planted: truth.len() as u64,
            found: claimed.intersection(truth).count() as u64,
            wrong: claimed.difference(truth).count() as u64,
        });
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.planted += other.planted;
        self.found += other.found;
        self.wrong += other.wrong;
    }

    /// Cells: planted, found, recall, wrong, precision.
    pub(crate) fn cells(self) -> Vec<String> {
        vec![
            self.planted.to_string(),
            self.found.to_string(),
            percent(self.found, self.planted),
            self.wrong.to_string(),
            percent(self.found, self.found + self.wrong),
        ]
    }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * part as f64 / whole as f64) }
}
