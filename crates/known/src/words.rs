//! Counts in words, for messages that adapters and warnings put together.

/// A count with its noun.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What to say about a list of which only so many items are shown; nothing if that is all.
pub fn more(n_items: usize, n_shown: usize) -> Option<String> {
    (n_shown < n_items).then(|| format!("and {} more", n_items - n_shown))
}
