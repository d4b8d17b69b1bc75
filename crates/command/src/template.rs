//! Placeholders: how a command is made of tests, and an id of what a report says.
//!
//! Three small languages with one notation. Text in braces stands for something else, doubled
//! braces are braces, and whatever is not understood is an error when the settings are read, not
//! when the first test runs.
//!
//! | where | placeholders |
//! |---|---|
//! | an argument | `{tests}`, `{tests:SEPARATOR}`, `{regex:SEPARATOR}`, `{list}`, `{report}` |
//! | how an id is made ([`IdPattern`]) | `{classname}`, `{name}`, `{file}` |
//! | a line of output ([`LinePattern`]) | `{id}` |
//!
//! No shell is involved anywhere: a test's name is an argument, a part of one, or a line of a file,
//! and stays what it is whatever characters are in it.

use std::ffi::OsString;
use std::path::Path;

/// Why a text with placeholders makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    /// A brace has no partner.
    #[error("`{text}` has a `{brace}` without its partner")]
    Unbalanced {
        /// The text.
        text: String,
        /// The brace.
        brace: char,
    },
    /// Nobody knows such a placeholder.
    #[error("`{{{name}}}` in `{text}` is no placeholder")]
    Unknown {
        /// The text.
        text: String,
        /// What stands between the braces.
        name: String,
    },
    /// Each argument can be made for each test in one way only.
    #[error("`{text}` names the tests twice")]
    Twice {
        /// The text.
        text: String,
    },
    /// What is to be found has no place in it.
    #[error("`{text}` must have `{{id}}` in it once")]
    NoId {
        /// The text.
        text: String,
    },
}

impl BadTemplate {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unbalanced { .. } | Self::Unknown { .. } => {
                "write `{{` and `}}` for braces that are meant as such"
            }
            Self::Twice { .. } => "use one of `{tests}`, `{tests:…}` and `{regex:…}` an argument",
            Self::NoId { .. } => "write the line as the runner does, with `{id}` for the test",
        }
    }
}

/// A piece of a text: as it is, or what stands between braces.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(String),
}

fn pieces(text: &str) -> Result<Vec<Piece>, BadTemplate> {
    let unbalanced = |brace| BadTemplate::Unbalanced { text: text.to_owned(), brace };
    let mut found = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        if let Some(after) = after.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
        } else if brace == "}" {
            return Err(unbalanced('}'));
        } else {
            let (name, after) = after.split_once('}').ok_or_else(|| unbalanced('{'))?;
            found.push(Piece::Text(std::mem::take(&mut plain)));
            found.push(Piece::Hole(name.to_owned()));
            rest = after;
        }
    }
    plain.push_str(rest);
    found.push(Piece::Text(plain));
    found.retain(|piece| *piece != Piece::Text(String::new()));
    Ok(found)
}

/// One argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The whole argument once for each test, with the test here.
    Each,
    /// All tests, with this between them.
    Joined(String),
    /// The same, with each test as a regular expression that matches its name and nothing else.
    Regex(String),
    /// The path of a file with a test on each line.
    List,
    /// The path at which the report is expected.
    Report,
}

/// What placeholders of a command stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling<'a> {
    pub(crate) tests: &'a [&'a str],
    pub(crate) list: &'a Path,
    pub(crate) report: &'a Path,
}

impl Argument {
    fn parse(text: &str) -> Result<Self, BadTemplate> {
        let part = |piece| match piece {
            Piece::Text(text) => Ok(Part::Text(text)),
            Piece::Hole(name) => hole(&name)
                .ok_or_else(|| BadTemplate::Unknown { text: text.to_owned(), name: name.clone() }),
        };
        let parts: Vec<Part> = pieces(text)?.into_iter().map(part).collect::<Result<_, _>>()?;
        let n_tests = parts.iter().filter(|part| part.names_tests()).count();
        if 1 < n_tests {
            return Err(BadTemplate::Twice { text: text.to_owned() });
        }
        Ok(Self(parts))
    }

    fn fill(&self, filling: Filling<'_>) -> Vec<OsString> {
        if self.0.contains(&Part::Each) {
            filling.tests.iter().map(|test| self.fill_for(test, filling)).collect()
        } else {
            vec![self.fill_for("", filling)]
        }
    }

    fn fill_for(&self, test: &str, filling: Filling<'_>) -> OsString {
        let mut argument = OsString::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => argument.push(text),
                Part::Each => argument.push(test),
                Part::Joined(separator) => argument.push(filling.tests.join(separator)),
                Part::Regex(separator) => {
                    let quoted: Vec<String> =
                        filling.tests.iter().map(|test| regex_of(test)).collect();
                    argument.push(quoted.join(separator));
                }
                Part::List => argument.push(filling.list),
                Part::Report => argument.push(filling.report),
            }
        }
        argument
    }
}

impl Part {
    fn names_tests(&self) -> bool {
        matches!(self, Self::Each | Self::Joined(_) | Self::Regex(_))
    }
}

fn hole(name: &str) -> Option<Part> {
    match name.split_once(':') {
        Some(("tests", separator)) => Some(Part::Joined(separator.to_owned())),
        Some(("regex", separator)) => Some(Part::Regex(separator.to_owned())),
        Some(_) => None,
        None => match name {
            "tests" => Some(Part::Each),
            "list" => Some(Part::List),
            "report" => Some(Part::Report),
            _ => None,
        },
    }
}

/// A regular expression for this text alone. Only what has a meaning is escaped: some engines
/// refuse a backslash before a letter, others before any character that needs none.
fn regex_of(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$/".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

/// A command whose arguments may have placeholders. The program itself has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    program: String,
    arguments: Vec<Argument>,
}

impl Template {
    /// Of a program and its arguments; the first of the words must be there.
    pub(crate) fn parse(program: &str, arguments: &[String]) -> Result<Self, BadTemplate> {
        let arguments = arguments.iter().map(|it| Argument::parse(it)).collect::<Result<_, _>>()?;
        Ok(Self { program: program.to_owned(), arguments })
    }

    /// The words of the command.
    pub(crate) fn fill(&self, filling: Filling<'_>) -> Vec<OsString> {
        let arguments = self.arguments.iter().flat_map(|argument| argument.fill(filling));
        std::iter::once(OsString::from(&self.program)).chain(arguments).collect()
    }

    /// Whether tests are named, be it in a file.
    pub(crate) fn names_tests(&self) -> bool {
        self.has(|part| part.names_tests() || *part == Part::List)
    }

    /// Whether a file with the names of tests is needed.
    pub(crate) fn needs_list(&self) -> bool {
        self.has(|part| *part == Part::List)
    }

    /// Whether it is told where to write its report.
    pub(crate) fn names_report(&self) -> bool {
        self.has(|part| *part == Part::Report)
    }

    fn has(&self, is_it: impl Fn(&Part) -> bool) -> bool {
        self.arguments.iter().flat_map(|argument| &argument.0).any(is_it)
    }
}

/// How the id of a test is made of what a report says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdPattern(Vec<Piece>);

impl IdPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, BadTemplate> {
        let pieces = pieces(text)?;
        let is_known = |name: &str| ["classname", "name", "file"].contains(&name);
        for piece in &pieces {
            if let Piece::Hole(name) = piece
                && !is_known(name)
            {
                return Err(BadTemplate::Unknown { text: text.to_owned(), name: name.clone() });
            }
        }
        Ok(Self(pieces))
    }

    /// What stands between class and name, where ids end with these. Blanks do not count: names
    /// have them as well.
    pub(crate) fn between(&self) -> Option<&str> {
        match self.0.as_slice() {
            [.., Piece::Hole(class), Piece::Text(between), Piece::Hole(name)]
                if class == "classname" && name == "name" && !between.trim().is_empty() =>
            {
                Some(between)
            }
            _ => None,
        }
    }

    /// The id of a test with these.
    pub(crate) fn fill(&self, class: &str, name: &str, file: &str) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hole(hole) => match hole.as_str() {
                "classname" => class.to_owned(),
                "file" => file.to_owned(),
                _ => name.to_owned(),
            },
        };
        self.0.iter().map(text).collect()
    }
}

/// A line that names a test: what comes before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinePattern {
    before: String,
    after: String,
}

impl LinePattern {
    pub(crate) fn parse(text: &str) -> Result<Self, BadTemplate> {
        let mut pattern = Self { before: String::new(), after: String::new() };
        let mut n_ids = 0;
        for piece in pieces(text)? {
            match piece {
                Piece::Text(text) if n_ids == 0 => pattern.before = text,
                Piece::Text(text) => pattern.after = text,
                Piece::Hole(name) if name == "id" => n_ids += 1,
                Piece::Hole(name) => {
                    return Err(BadTemplate::Unknown { text: text.to_owned(), name });
                }
            }
        }
        if n_ids == 1 { Ok(pattern) } else { Err(BadTemplate::NoId { text: text.to_owned() }) }
    }

    /// The test that a whole line names.
    pub(crate) fn find<'a>(&self, line: &'a str) -> Option<&'a str> {
        let id = line.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        (!id.is_empty()).then_some(id)
    }

    /// The test that a line names of which more may come: `test a ... ` is written before the
    /// test, `ok` after it.
    pub(crate) fn find_begun<'a>(&self, line: &'a str) -> Option<&'a str> {
        if self.after.trim().is_empty() {
            return None;
        }
        let (id, _) = line.strip_prefix(self.before.as_str())?.split_once(self.after.as_str())?;
        (!id.is_empty()).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(run: &[&str], tests: &[&str]) -> Vec<String> {
        let arguments: Vec<String> = run[1..].iter().map(|&word| word.to_owned()).collect();
        let template = Template::parse(run[0], &arguments).unwrap();
        let filling = Filling { tests, list: Path::new("/l"), report: Path::new("/r") };
        let words = template.fill(filling);
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn tests_are_arguments_parts_of_arguments_or_lines_of_a_file() {
        let tests = ["a", "b c", "$(x)"];
        let check = |run: &[&str], expected: &[&str]| assert_eq!(words(run, &tests), expected);
        check(&["t", "{tests}", "-q"], &["t", "a", "b c", "$(x)", "-q"]);
        check(&["t", "--only={tests}"], &["t", "--only=a", "--only=b c", "--only=$(x)"]);
        check(&["t", "--filter={tests::}"], &["t", "--filter=a:b c:$(x)"]);
        check(&["t", "^({regex:|})$"], &["t", r"^(a|b c|\$\(x\))$"]);
        check(&["t", "@{list}", "--out={report}"], &["t", "@/l", "--out=/r"]);
        check(&["{t}", "{{}}", "{{tests}}"], &["{t}", "{}", "{tests}"]);
    }

    #[test]
    fn what_is_not_understood_is_said_before_anything_runs() {
        let check = |argument: &str| Argument::parse(argument).unwrap_err().to_string();
        assert_eq!(check("{test}"), "`{test}` in `{test}` is no placeholder");
        assert_eq!(check("{list:,}"), "`{list:,}` in `{list:,}` is no placeholder");
        assert_eq!(check("a{"), "`a{` has a `{` without its partner");
        assert_eq!(check("a}"), "`a}` has a `}` without its partner");
        assert_eq!(check("{tests}{tests:,}"), "`{tests}{tests:,}` names the tests twice");
        let error = LinePattern::parse("{id}{id}").unwrap_err();
        assert_eq!(error.to_string(), "`{id}{id}` must have `{id}` in it once");
        assert!(IdPattern::parse("{class}").is_err());
    }

    #[test]
    fn what_a_command_needs_is_known_from_its_words() {
        let of = |word: &str| Template::parse("t", &[word.to_owned()]).unwrap();
        assert!(of("{regex:|}").names_tests() && !of("{regex:|}").needs_list());
        assert!(of("{list}").names_tests() && of("{list}").needs_list());
        assert!(of("-o{report}").names_report() && !of("-o{report}").names_tests());
    }

    #[test]
    fn a_regular_expression_stands_for_the_name_alone() {
        assert_eq!(regex_of(r"a/b [1] > c-d_é\"), r"a\/b \[1\] > c-d_é\\");
    }

    #[test]
    fn ids_are_made_as_the_pattern_says() {
        let pattern = IdPattern::parse("{file}: {classname}#{name}{{}}").unwrap();
        assert_eq!(pattern.fill("C", "n", "f.rb"), "f.rb: C#n{}");
    }

    #[test]
    fn a_pattern_says_what_stands_between_class_and_name() {
        let between =
            |pattern: &str| IdPattern::parse(pattern).unwrap().between().map(str::to_owned);
        assert_eq!(between("{file}: {classname} | {name}"), Some(" | ".to_owned()));
        for other in ["{classname} {name}", "{name}", "{name}#{classname}", "{classname}#{name}!"] {
            assert_eq!(between(other), None, "{other}");
        }
    }

    #[test]
    fn lines_name_a_test_whole_or_when_they_are_begun() {
        let list = LinePattern::parse("{id}: test").unwrap();
        assert_eq!(list.find("a::b: test"), Some("a::b"));
        assert_eq!(list.find("a::b: bench"), None);
        assert_eq!(list.find(": test"), None);
        let start = LinePattern::parse("test {id} ... ").unwrap();
        assert_eq!(start.find_begun("test a::b ... "), Some("a::b"));
        assert_eq!(start.find_begun("test a::b ... ok"), Some("a::b"));
        assert_eq!(start.find_begun("test a::b"), None);
        let whole = LinePattern::parse("=== RUN   {id}").unwrap();
        assert_eq!(
            (whole.find("=== RUN   T/x"), whole.find_begun("=== RUN   T")),
            (Some("T/x"), None)
        );
    }
}
