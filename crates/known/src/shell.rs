//! Text that a shell reads back as what was meant.

/// One word, quoted for a POSIX shell where it has to be.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+#".contains(c);
    if !word.is_empty() && !word.starts_with('#') && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
