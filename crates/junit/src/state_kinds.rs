//! Which state the agent watches.

use unflake_model::StateKind;

/// The kinds of state that our agent in Java watches.
pub const STATE_KINDS: [StateKind; 6] = [
    StateKind::StaticField,
    StateKind::Property,
    StateKind::Locale,
    StateKind::Timezone,
    StateKind::Thread,
    StateKind::Interpreter,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::PathBuf;

    const PROTOCOL: &str = include_str!("../../../docs/design/agent-protocol.md");

    fn listed() -> BTreeSet<&'static str> {
        STATE_KINDS.iter().map(|kind| kind.slug()).collect()
    }

    /// All sources of the agent, as one text.
    fn sources() -> String {
        let mut open =
            vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../agents/java"))];
        let mut text = String::new();
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                text += &fs::read_to_string(path).unwrap();
            }
        }
        text
    }

    #[test]
    fn the_agent_watches_what_is_listed_here() {
        let sources = sources();
        // How the agent says of which kind a place is.
        let said = ["new Item(\"", "new Difference(\"", "String KIND = \""];
        let after = said.iter().flat_map(|said| sources.split(said).skip(1));
        let told = after.map(|rest| rest.split('"').next().unwrap());
        assert_eq!(told.collect::<BTreeSet<_>>(), listed());
    }

    #[test]
    fn the_protocol_says_the_same() {
        let rows = PROTOCOL.lines().filter(|line| line.contains("` | Java: "));
        let here = PROTOCOL.lines().find(|line| line.starts_with("In Java, `")).unwrap();
        let named = StateKind::ALL.into_iter().map(StateKind::slug);
        let named = named.filter(|slug| here.contains(&format!("`{slug}` is ")));
        let rows = rows.map(|row| row.trim_start_matches("| `").split('`').next().unwrap());
        assert_eq!(rows.chain(named).collect::<BTreeSet<_>>(), listed());
    }
}
