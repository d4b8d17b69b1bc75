//! Text that a shell reads back as what was meant.

pub(crate) use unflake_known::quote;

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
