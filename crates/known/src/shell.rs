//! Quotes text for a shell.

/// One word, quoted for a POSIX shell if it needs quotes.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+#".contains(c);
    if !word.is_empty() && !word.starts_with('#') && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
