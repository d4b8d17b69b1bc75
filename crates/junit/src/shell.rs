//! Text that a shell reads back as what was meant.

/// One word, quoted for a POSIX shell where it has to be.
pub(crate) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+#".contains(c);
    if !word.is_empty() && !word.starts_with('#') && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Words, as one line to paste.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// One word of a file that `java @file` reads.
pub(crate) fn java_word(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_touch_is_quoted() {
        let words = ["mvn", "-Dtest=a.B#c+d,e.F#g", "-Dtest=a.B$In#c[0]", "#x", ""];
        assert_eq!(line(words), "mvn -Dtest=a.B#c+d,e.F#g '-Dtest=a.B$In#c[0]' '#x' ''");
    }
}
