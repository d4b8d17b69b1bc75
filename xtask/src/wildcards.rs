//! Finds arms of a `match` on a verdict that stand for "all others".
//!
//! A verdict that is added must be considered wherever verdicts are distinguished. The compiler
//! sees to that, unless an arm says `_`. This reads the text and knows no types: a match is about
//! verdicts if one of its patterns names a variant (`Verdict::Id`), directly or in a part of it,
//! and an arm is at fault if it takes any value in that position and has no guard.

/// The beginning of every verdict in a pattern.
const NAMED: &str = "Verdict::";

/// The lines, from 1, of each `match` with such an arm.
pub(crate) fn lines(text: &str) -> Vec<usize> {
    if !text.contains(NAMED) {
        return Vec::new();
    }
    let code = without_texts(text);
    let begins = words(&code, "match");
    let is_at_fault = |at: &usize| block(&code[*at..]).is_some_and(has_wildcard);
    begins.filter(is_at_fault).map(|at| code[..at].matches('\n').count() + 1).collect()
}

fn has_wildcard(block: &str) -> bool {
    let patterns = patterns(block);
    let alternatives: Vec<&str> = patterns.iter().flat_map(|it| split(it.0, '|')).collect();
    let unguarded = patterns.iter().filter(|(_, is_guarded)| !is_guarded);
    unguarded.flat_map(|it| split(it.0, '|')).any(|it| is_open(it, &alternatives))
}

/// Whether a pattern takes any verdict where one of the samples names a variant.
fn is_open(pattern: &str, samples: &[&str]) -> bool {
    let pattern = bound(pattern);
    if !samples.iter().any(|sample| sample.contains(NAMED)) {
        return false;
    }
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if pattern == ".." || pattern.chars().all(is_name) {
        return true;
    }
    let Some((head, inner)) = parts(pattern) else { return false };
    let elements = split(inner, ',');
    if head.is_empty() && elements.len() == 1 {
        return split(inner, '|').iter().any(|it| is_open(it, samples));
    }
    let alike = samples.iter().filter_map(|it| parts(bound(it))).filter(|it| it.0 == head);
    let alike: Vec<Vec<&str>> = alike.map(|(_, inner)| split(inner, ',')).collect();
    elements.iter().enumerate().any(|(place, element)| {
        let there = alike.iter().filter_map(|it| it.get(place)).flat_map(|it| split(it, '|'));
        is_open(element, &there.collect::<Vec<_>>())
    })
}

/// The pattern that is bound to a name: `A | B` of `it @ (A | B)`.
fn bound(pattern: &str) -> &str {
    split(pattern, '@').last().copied().unwrap_or_default()
}

/// The name and the parts of a pattern: `Some` and `_` of `Some(_)`; nothing and `a, b` of `(a,
/// b)`.
fn parts(pattern: &str) -> Option<(&str, &str)> {
    let (head, inner) = pattern.strip_suffix(')')?.split_once('(')?;
    Some((head.trim(), inner))
}

/// The pieces between these characters, except those within brackets.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut depth = 0;
    let mut pieces = text.split(|c: char| {
        depth += depth_of(c);
        depth == 0 && c == at
    });
    let pieces: Vec<&str> = pieces.by_ref().map(str::trim).collect();
    pieces.into_iter().filter(|piece| !piece.is_empty()).collect()
}

fn depth_of(c: char) -> i32 {
    match c {
        '(' | '[' | '{' => 1,
        ')' | ']' | '}' => -1,
        _ => 0,
    }
}

/// The positions at which a word begins.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let (before, after) = (&code[..*at], &code[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part) && !after.starts_with('!')
    })
}

/// The text between the braces of a `match`.
fn block(code: &str) -> Option<&str> {
    let mut depth = 0;
    let open = code.char_indices().find(|(_, c)| {
        if *c == '{' && depth == 0 {
            return true;
        }
        depth += depth_of(*c);
        false
    });
    let inside = &code[open?.0 + 1..];
    Some(&inside[..end(inside, |_, depth| depth < 0)])
}

/// The position at which something is found, or the end of the text.
fn end(code: &str, mut is_it: impl FnMut(&str, i32) -> bool) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        depth += depth_of(c);
        if is_it(&code[at..], depth) {
            return at;
        }
    }
    code.len()
}

/// The pattern of each arm, and whether it has a guard.
fn patterns(mut block: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    loop {
        let arrow = end(block, |rest, depth| depth == 0 && rest.starts_with("=>"));
        let Some(body) = block.get(arrow + 2..) else { return found };
        let pattern = block[..arrow].trim_start_matches([',', ' ', '\n']);
        let guard = end(pattern, |rest, depth| depth == 0 && rest.starts_with(" if "));
        found.push((pattern[..guard].trim(), guard < pattern.len()));
        let is_block = body.trim_start().starts_with('{');
        let past = end(body, |rest, depth| {
            depth == 0 && (rest.starts_with(',') || is_block && rest.starts_with('}'))
        });
        block = body.get(past + 1..).unwrap_or_default();
    }
}

/// The code with comments, strings and characters blanked out, because their contents are not code.
fn without_texts(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = text_length(rest).unwrap_or(0);
        if length == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[length..];
    }
    code
}

/// The length of the comment, string or character that begins here, if one does.
fn text_length(code: &str) -> Option<usize> {
    if code.starts_with("//") {
        return Some(code.find('\n').unwrap_or(code.len()));
    }
    if let Some(rest) = code.strip_prefix("r#\"") {
        return Some(rest.find("\"#").map_or(code.len(), |at| at + 5));
    }
    let quote = code.chars().next().filter(|c| ['"', '\''].contains(c))?;
    let mut is_escaped = false;
    let closing = code.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    let (at, _) = closing?;
    // A lifetime has no closing quote: after `'a` the next quote is far away.
    let is_character = code[1..at].chars().count() == 1 || code[1..at].starts_with('\\');
    (quote == '"' || is_character).then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_fault(arms: &str) -> bool {
        let text = format!("fn f() {{\n    match it {{\n{arms}\n    }}\n}}\n");
        match lines(&text).as_slice() {
            [] => false,
            [2] => true,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arms_that_stand_for_all_others_are_found() {
        for arms in [
            "Verdict::Id => 1,\n_ => 2,",
            "Verdict::Id => { f(); }\nother => other,",
            "Verdict::Id | Verdict::Ud if a => \"}\",\n// {\n_ => 2",
            "Some(Verdict::Id) => 1,\nSome(_) => 2,\nNone => 3,",
            "(A::B, Verdict::Id) => '{',\n(_, it) => 2,",
            "Self::Plain => 1,\nSelf::Verdict(Verdict::Id) => 2,\nSelf::Verdict(_) | Self::W => 3,",
            "Verdict::Id => match x { Some(y) => y, None => 0 },\n_ => 2,",
            "it @ (Verdict::Id | _) => it,",
        ] {
            assert!(is_fault(arms), "{arms}");
        }
    }

    #[test]
    fn arms_that_name_what_they_stand_for_are_none() {
        for arms in [
            "Verdict::Id => 1,\nVerdict::Ud | Verdict::Nio => 2,",
            "Some(Verdict::Id) => 1,\nSome(Verdict::Ud) => 2,\nNone => 3,",
            "(_, Verdict::Id) => 1,\n(Some(_), Verdict::Ud) => 2,",
            "(_, Verdict::Id) => 1,\n(\n_,\nit @ (Verdict::Ud | Verdict::Nio),\n) => 2,",
            "Verdict::Id => 1,\nit @ (Verdict::Ud | Verdict::Nio) => it,",
            "Verdict::Id => match x { Some(y) => y, _ => 0 },\nVerdict::Ud => 2,",
            "it if it.is_flaky() => 1,\nVerdict::Id => 2,",
            "Some(x) => Verdict::Id,\n_ => Verdict::Ud,",
            "1 => \"Verdict::Id\",\n_ => \"\",",
        ] {
            assert!(!is_fault(arms), "{arms}");
        }
        assert!(
            lines("let x = matches!(it, Verdict::Id) && match y { 1 => a, _ => b };").is_empty()
        );
    }

    #[test]
    fn lifetimes_are_no_characters() {
        let text =
            "fn f<'a>(it: &'a str) -> &'a str {\n match v { Verdict::Id => it, _ => '}' }\n}";
        assert_eq!(lines(text), [2]);
    }
}
