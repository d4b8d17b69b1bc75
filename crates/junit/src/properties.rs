//! Java's `.properties` files, as Surefire writes them.
//!
//! `Properties.store` writes one entry a line; `:`, `=`, `#`, `!`, blanks at the beginning and
//! backslashes are escaped, and what is not Latin-1 is written as `\u20AC`.

use std::collections::BTreeMap;

/// The entries of a file.
pub(crate) fn parse(bytes: &[u8]) -> BTreeMap<String, String> {
    // Latin-1: each byte is the character of that number.
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
    lines.map(entry).collect()
}

fn entry(line: &str) -> (String, String) {
    let mut is_escaped = false;
    let end = line.find(|c: char| {
        let is_end = !is_escaped && (c == '=' || c == ':');
        is_escaped = !is_escaped && c == '\\';
        is_end
    });
    let (name, value) = match end {
        Some(end) => (&line[..end], &line[end + 1..]),
        None => (line, ""),
    };
    (unescaped(name), unescaped(value))
}

fn unescaped(text: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        let meant = if c == '\\' { characters.next().unwrap_or('\\') } else { c };
        let mut buffer = [0; 2];
        match (c, meant) {
            ('\\', 'u') => {
                let digits: String = characters.by_ref().take(4).collect();
                // Half of a pair is put together with its other half below.
                units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xfffd));
            }
            ('\\', 'n') => units.push(u16::from(b'\n')),
            ('\\', 't') => units.push(u16::from(b'\t')),
            ('\\', 'r') => units.push(u16::from(b'\r')),
            ('\\', 'f') => units.push(0x0c),
            _ => units.extend_from_slice(meant.encode_utf16(&mut buffer)),
        }
    }
    String::from_utf16_lossy(&units)
}

/// The values of `prefix0`, `prefix1` and so on.
pub(crate) fn numbered(properties: &BTreeMap<String, String>, prefix: &str) -> Vec<String> {
    (0..).map_while(|number| properties.get(&format!("{prefix}{number}")).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_java_writes_is_read_as_it_was_meant() {
        let bytes = b"#surefire\n#Mon Nov 16\na\\ b\\=c=x\\:\\=y z\\\\\nempty=\n\
            text=\\u00FC \\uD83D\\uDE00\\nline\nlatin=\xfc\ntc.0=A\ntc.1=B\ntc.3=D\n";
        let properties = parse(bytes);
        assert_eq!(properties["a b=c"], "x:=y z\\");
        assert_eq!(properties["empty"], "");
        assert_eq!(properties["text"], "ü 😀\nline");
        assert_eq!(properties["latin"], "ü");
        assert_eq!(numbered(&properties, "tc."), ["A", "B"]);
    }
}
