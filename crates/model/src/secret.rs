//! What must not be shown: values that look like secrets.
//!
//! Changed state is reported with its old and new values, and failures quote what tests print: both
//! may contain a token of the person who runs the tests. What is a secret is decided here and
//! nowhere else, by the name of the place (`os.environ['GITHUB_TOKEN']`), by the looks of the value
//! (`ghp_…`, a private key, a password in an address), or because it is the value of a variable of
//! our own environment with such a name.
//!
//! This is a guess. Where a name suggests a secret it hides too much rather than too little, and it
//! misses a secret that neither looks nor is named like one.

use std::borrow::Cow;

/// Shown in place of a secret.
pub const MASK: &str = "***";

/// Shorter values of variables are too common to hide: `1`, `true`, `test`.
const VALUE_CHARS_MIN: usize = 6;

/// Words that mark a name as that of a secret.
const WORDS: [&str; 15] = [
    "token",
    "tokens",
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "apikey",
    "credential",
    "credentials",
    "authorization",
    "auth",
    "cookie",
    "pat",
];

/// Pairs of words that mark a name as that of a secret.
const PAIRS: [(&str, &str); 7] = [
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("pass", "word"),
];

/// Last words of names that speak *about* a secret and hold none.
const ABOUT: [&str; 16] = [
    "sock", "file", "path", "dir", "home", "name", "type", "id", "count", "n", "ttl", "expiry",
    "lifetime", "header", "url", "enabled",
];

/// How tokens of widely used services begin, and how many characters follow at least.
const BEGINNINGS: [(&str, usize); 20] = [
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxs-", 10),
    ("sk-", 20),
    ("sk_live_", 10),
    ("rk_live_", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 30),
];

/// Hides secrets in texts and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    values: Vec<String>,
}

impl Secrets {
    /// Also hides the values of those variables that are named like a secret.
    pub fn among(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let is_secret = |(name, value): &(String, String)| {
            is_secret_name(name) && VALUE_CHARS_MIN <= value.chars().count()
        };
        let secret = variables.into_iter().filter(is_secret);
        let mut values: Vec<String> = secret.map(|(_, value)| value).collect();
        // The longest come first, because one value may contain another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self { values }
    }

    /// The text with its secrets masked.
    pub fn text(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for value in self.values.iter().filter(|value| !value.is_empty()) {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MASK).into();
            }
        }
        without_tokens(&without_passwords(&without_private_keys(&without_secret_items(&text))))
    }

    /// The value found at a place, masked if it is a secret; both are in the notation of the
    /// language.
    pub fn value(&self, place: &str, value: &str) -> String {
        if is_secret_place(place) && !is_nothing(value) {
            return masked(value);
        }
        self.text(value)
    }
}

/// Whether a variable, an attribute or a key of this name holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let is_pair = |pair: &[String]| PAIRS.contains(&(pair[0].as_str(), pair[1].as_str()));
    let has_word = words.iter().any(|word| WORDS.contains(&word.as_str()));
    let is_about = words.last().is_some_and(|last| ABOUT.contains(&last.as_str()));
    (has_word || words.windows(2).any(is_pair)) && !is_about
}

/// Decides by the last part; if that is a key, by what it is a key of: `SECRETS['db']`.
fn is_secret_place(place: &str) -> bool {
    let is_boundary = |c: char| matches!(c, '.' | '[' | ']' | '\'' | '"' | '(' | ')');
    let mut parts = place.split(is_boundary).filter(|part| !part.is_empty()).rev();
    let is_last_secret = parts.next().is_some_and(is_secret_name);
    is_last_secret || (place.ends_with(']') && parts.next().is_some_and(is_secret_name))
}

/// The words of a name, in lower case: `dbPassword`, `DB_PASSWORD` and `db-password` have two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && was_lower;
        if !c.is_alphanumeric() || begins {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is a first").push(c.to_ascii_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Values that reveal nothing, and whose change is worth showing.
fn is_nothing(value: &str) -> bool {
    ["None", "null", "''", "\"\"", "b''", "True", "False", "{}", "[]", "()"].contains(&value)
}

/// The mask, in quotes if the value was.
fn masked(value: &str) -> String {
    match value.chars().next() {
        Some(quote @ ('\'' | '"')) => format!("{quote}{MASK}{quote}"),
        _ => MASK.to_owned(),
    }
}

/// Masks the values of keys that are named like a secret: the `x` of `{'user': 'ada', 'password':
/// 'x'}`. Quotes are not paired from the beginning, because people write apostrophes.
fn without_secret_items(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(colon) = rest.find(':') {
        let (before, after) = rest.split_at(colon + 1);
        shown.push_str(before);
        rest = after;
        let value = after.trim_start_matches(' ');
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            continue;
        };
        if key_before(&before[..colon]).is_some_and(is_secret_name) {
            let gap = after.len() - value.len();
            let end = end_of_quoted(&value[1..], quote);
            shown.push_str(&after[..=gap]);
            shown.push_str(MASK);
            rest = &value[1 + end..];
        }
    }
    shown.push_str(rest);
    shown
}

fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '"')
}

/// The quoted key at the end of a text, if there is one.
fn key_before(text: &str) -> Option<&str> {
    let quote = text.chars().next_back().filter(|c| is_quote(*c))?;
    let text = &text[..text.len() - 1];
    let key = &text[text.rfind(quote)? + 1..];
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    key.chars().all(is_part).then_some(key)
}

/// The position of the closing quote; the end of the line if the text was cut off before it.
fn end_of_quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if c == '\n' || (c == quote && !is_escaped) {
            return at;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

fn without_private_keys(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "-----BEGIN ";
    const KEY: &str = "PRIVATE KEY-----";
    const END: &str = "-----END ";
    let mut shown = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(BEGIN) {
        let (before, key) = rest.split_at(begin);
        let Some(head) = key.find(KEY).filter(|head| *head < 64) else {
            let (same, after) = rest.split_at(begin + BEGIN.len());
            shown.push_str(same);
            rest = after;
            continue;
        };
        let body = &key[head + KEY.len()..];
        shown.push_str(before);
        shown.push_str(&key[..head + KEY.len()]);
        shown.push_str(MASK);
        // If the key is cut off, the whole rest may belong to it.
        rest = body.find(END).map_or("", |end| &body[end..]);
    }
    if shown.is_empty() && rest.len() == text.len() {
        return text.into();
    }
    shown.push_str(rest);
    shown.into()
}

/// Masks passwords in addresses: the `x` of `postgres://ada:x@host`.
fn without_passwords(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(scheme) = rest.find("://") {
        let (before, after) = rest.split_at(scheme + "://".len());
        shown.push_str(before);
        rest = after;
        let is_end = |c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"' | '?' | '#' | '<');
        let authority = &after[..after.find(is_end).unwrap_or(after.len())];
        let Some((user, _)) = authority.rsplit_once('@') else { continue };
        let Some((name, password)) = user.split_once(':') else { continue };
        if !password.is_empty() {
            let _ = std::fmt::Write::write_fmt(&mut shown, format_args!("{name}:{MASK}"));
            rest = &after[user.len()..];
        }
    }
    shown.push_str(rest);
    shown
}

fn without_tokens(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut shown = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(is_part) {
        let (before, word) = rest.split_at(begin);
        let end = word.find(|c: char| !is_part(c)).unwrap_or(word.len());
        shown.push_str(before);
        shown.push_str(if is_token(&word[..end]) { MASK } else { &word[..end] });
        rest = &word[end..];
    }
    shown.push_str(rest);
    shown
}

fn is_token(word: &str) -> bool {
    let begins = |&(beginning, n): &(&str, usize)| {
        word.strip_prefix(beginning).is_some_and(|rest| {
            let is_random = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let rest = rest.trim_end_matches('.');
            n <= rest.len() && rest.chars().all(is_random) && rest.chars().any(is_digit_or_upper)
        })
    };
    BEGINNINGS.iter().any(begins) || is_web_token(word)
}

fn is_digit_or_upper(c: char) -> bool {
    c.is_ascii_digit() || c.is_ascii_uppercase()
}

/// Whether the word has three parts, the first two of which are JSON objects in base 64.
fn is_web_token(word: &str) -> bool {
    let parts: Vec<&str> = word.trim_end_matches('.').split('.').collect();
    matches!(parts[..], [head, body, _] if head.starts_with("eyJ") && body.starts_with("eyJ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "GITHUB_TOKEN",
            "token",
            "apiKey",
            "API_KEY",
            "db-password",
            "PGPASSWORD_SECRET",
            "AWS_SECRET_ACCESS_KEY",
            "SSH_PRIVATE_KEY",
            "credentials",
            "HTTP_AUTH",
            "client_secret",
            "npm_config__auth",
            "Passwd",
            "SECRET_KEY",
            "userPassword",
            "Authorization",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "",
            "author",
            "AUTHORS",
            "tokenizer",
            "TOKEN_TYPE",
            "SSH_AUTH_SOCK",
            "secretary",
            "KEY",
            "monkey",
            "PWD",
            "OLDPWD",
            "PATH",
            "AWS_ACCESS_KEY_ID",
            "passed",
            "currency",
            "TOKEN_FILE",
            "authenticate_count",
            "key_count",
            "API_URL",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_value_is_hidden_by_the_name_of_its_place() {
        let secrets = Secrets::default();
        for (place, value, shown) in [
            ("os.environ['GITHUB_TOKEN']", "'abc'", "'***'"),
            ("shop.config.SETTINGS['db']['password']", "\"x\"", "\"***\""),
            ("shop.SECRETS['db']", "b'x'", "***"),
            ("com.acme.Login.apiKey", "k3y", "***"),
            ("os.environ['GITHUB_TOKEN']", "None", "None"),
            ("os.environ['GITHUB_TOKEN']", "''", "''"),
            ("shop.config.SETTINGS['currency']", "'USD'", "'USD'"),
            ("auth.users.COUNT", "3", "3"),
            ("shop.tokens.LEXER", "'while'", "'while'"),
            ("shop.SETTINGS", "{'user': 'a', 'password': 'x'}", "{'user': 'a', 'password': '***'}"),
            ("shop.S", r#"{"apiKey":"it\"s","b":"c"}"#, r#"{"apiKey":"***","b":"c"}"#),
            ("shop.S", "{'token': 3, 'a': \"it's\"}", "{'token': 3, 'a': \"it's\"}"),
            ("shop.S", "{'token': 'cut o…", "{'token': '***"),
            ("shop.S", "'never closed", "'never closed"),
        ] {
            assert_eq!(secrets.value(place, value), shown, "{place}");
        }
    }

    #[test]
    fn a_value_is_hidden_by_its_looks() {
        let secrets = Secrets::default();
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----";
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        for (text, shown) in [
            ("got ghp_0123456789abcdefABCDEF!", "got ***!"),
            ("AKIAIOSFODNN7EXAMPLE, or so", "***, or so"),
            (key, "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"),
            ("-----BEGIN PRIVATE KEY-----\nMI", "-----BEGIN PRIVATE KEY-----***"),
            ("-----BEGIN CERTIFICATE-----\nMI", "-----BEGIN CERTIFICATE-----\nMI"),
            (&format!("Bearer {jwt}"), "Bearer ***"),
            ("postgres://ada:x1@db/a?b=c@d", "postgres://ada:***@db/a?b=c@d"),
            ("'http://a:b:c@h' 'ftp://u:p@h'", "'http://a:***@h' 'ftp://u:***@h'"),
            ("http://host:80/a@b", "http://host:80/a@b"),
            ("sk-learn-is-a-name-with-dashes", "sk-learn-is-a-name-with-dashes"),
            ("é ghp_ AKIA eyJ.eyJ", "é ghp_ AKIA eyJ.eyJ"),
            ("assert 1 == 2", "assert 1 == 2"),
            ("don't: environ({'A_TOKEN': 'x'})\ny", "don't: environ({'A_TOKEN': '***'})\ny"),
        ] {
            assert_eq!(secrets.text(text), shown);
            assert_eq!(secrets.text(shown), shown, "again");
        }
    }

    #[test]
    fn values_of_variables_are_hidden_wherever_they_stand() {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let secrets = Secrets::among([
            variable("MY_TOKEN", "hunter2"),
            variable("MY_PASSWORD", "hunter2-long"),
            variable("A_TOKEN", "1"),
            variable("HOME", "/home/ada"),
        ]);
        assert_eq!(
            secrets.text("assert 'hunter2' in 'hunter2-long 1 /home/ada'"),
            "assert '***' in '*** 1 /home/ada'"
        );
        assert_eq!(secrets.value("a.b", "'hunter2'"), "'***'");
    }
}
