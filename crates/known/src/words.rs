//! Counts in words, for the messages of adapters and warnings.

/// A count with its noun in singular or plural.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What to say about a list that is not shown completely; `None` if it is.
pub fn more(n_items: usize, n_shown: usize) -> Option<String> {
    (n_shown < n_items).then(|| format!("and {} more", n_items - n_shown))
}
