//! Text that a shell reads back as what was meant.

pub(crate) use unflake_known::quote;

/// Words, as one line to paste.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;
    use unflake_engine::Interrupt;
    use unflake_engine::process::{CommandLine, run_to_end};

    /// The words that a shell reads in a line.
    fn read_back(line: &str) -> Vec<String> {
        let command = CommandLine {
            program: "sh".into(),
            arguments: vec!["-c".into(), format!("printf '%s\\n' {line}").into()],
            current_dir: "/".into(),
            env: Vec::new(),
        };
        let finished = run_to_end(&command, Duration::from_mins(1), &Interrupt::default()).unwrap();
        assert_eq!(finished.exit.code, Some(0), "{}", finished.stderr);
        finished.stdout.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_needs_no_quotes_has_none() {
        assert_eq!(
            line(["pytest", "a/b.py::T::x", "a[1 2]", ""]),
            "pytest a/b.py::T::x 'a[1 2]' ''"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 40,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_shell_reads_back_every_word(
            words in proptest::collection::vec("[^\\p{Cc}\\u{2028}\\u{2029}]{1,12}", 1..4),
            nasty in proptest::collection::vec("[ '\"\\\\$`*?~#&|;<>(){}\\[\\]!^a]{1,8}", 1..4),
        ) {
            let words: Vec<&str> = words.iter().chain(&nasty).map(String::as_str).collect();
            prop_assert_eq!(read_back(&line(words.iter().copied())), words);
        }
    }
}
