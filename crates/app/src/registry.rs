//! Which runners exist, and which one does a project use?
//!
//! The only place above the adapters that names them. A new runner is one line in [`ADAPTERS`].

use std::ffi::{OsStr, OsString};
use std::path::Path;

use unflake_adapter::{Adapter, OwnOptions};
use unflake_known::junit_xml::Address;
use unflake_known::{Offer, Offered, Origin};
use unflake_model::TestId;

/// All adapters. If several recognise a folder, the first is taken; if none does, the very first.
pub const ADAPTERS: [&dyn Adapter; 3] =
    [&unflake_pytest::Pytest, &unflake_junit::JUnit, &unflake_command::Command];

/// The option of a user-defined runner that says which runner it is.
const KIND: &str = "kind";

/// The adapter of a project: the one whose runner was named, or whose own option was set, or which
/// recognises the folder.
pub fn adapter_for(folder: &Path, runner: Option<&str>, own: &OwnOptions) -> &'static dyn Adapter {
    let all = || ADAPTERS.into_iter();
    let runner = runner.or_else(|| settled_runner(own));
    let is_named = |adapter: &&dyn Adapter| runner.is_some_and(|name| adapter.reaches(name));
    let has_own = |adapter: &&dyn Adapter| {
        adapter.options().iter().any(|option| own.names().any(|name| name == option.name))
    };
    let found = all().find(is_named).or_else(|| all().find(has_own));
    found.or_else(|| all().find(|it| it.recognises(folder))).unwrap_or(ADAPTERS[0])
}

/// The runner that a project names in its settings, if any.
pub fn settled_runner(own: &OwnOptions) -> Option<&str> {
    own.one(KIND).and_then(OsStr::to_str)
}

/// Runs as an agent if these arguments ask this program to be one; returns the exit status.
pub fn as_agent(arguments: impl IntoIterator<Item = OsString>) -> Option<u8> {
    unflake_command::agent::run(arguments)
}

/// The adapter of a runner, named as reports and records spell it.
pub fn adapter_of(runner: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.into_iter().find(|adapter| adapter.reaches(runner))
}

/// What the runner of a campaign calls a test in JUnit XML.
pub fn address(origin: &Origin, id: &TestId) -> Address {
    let adapter = adapter_of(&origin.runner).unwrap_or(ADAPTERS[0]);
    adapter.address(id.as_str(), origin.between.as_deref())
}

/// What our commands can do for the tests of this runner.
pub fn offer(runner: &str) -> Offer {
    let all = || ADAPTERS.into_iter();
    let adapter = adapter_of(runner);
    let shakes = |it: &&dyn Adapter| !it.abilities().factors.is_empty();
    let mended = all().flat_map(|it| it.runners().iter().filter(move |of| it.mends(of.name)));
    Offer {
        fix: match adapter {
            Some(it) if it.mends(runner) => Offered::Yes,
            _ => Offered::OnlyFor(mended.map(|runner| runner.name).collect()),
        },
        shake: match adapter {
            Some(it) if shakes(&it) => Offered::Yes,
            _ => Offered::OnlyFor(all().filter(shakes).map(Adapter::family).collect()),
        },
        hash_seed_variable: adapter.and_then(|it| it.abilities().hash_seed_variable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_follows_from_what_adapters_can_do() {
        let only_for = |names: &[&'static str]| Offered::OnlyFor(names.to_vec());
        let of_pytest = offer("pytest");
        assert_eq!((of_pytest.fix, of_pytest.shake), (Offered::Yes, Offered::Yes));
        assert_eq!(of_pytest.hash_seed_variable, Some("PYTHONHASHSEED"));
        let of_unittest = offer("unittest");
        assert_eq!((of_unittest.fix, of_unittest.shake), (only_for(&["pytest"]), Offered::Yes));
        for runner in ["junit", "command", "unheard-of"] {
            let Offer { fix, shake, hash_seed_variable } = offer(runner);
            assert_eq!((fix, shake), (only_for(&["pytest"]), only_for(&["Python"])), "{runner}");
            assert_eq!(hash_seed_variable, None, "{runner}");
        }
    }

    #[test]
    fn a_project_is_for_whom_its_files_and_what_was_typed_speak() {
        let folder = tempfile::tempdir().unwrap();
        let runner_of = |runner: Option<&str>, own: &OwnOptions| {
            adapter_for(folder.path(), runner, own).runners()[0].name
        };
        let mut own = OwnOptions::default();
        assert_eq!(runner_of(None, &own), "pytest");
        std::fs::write(folder.path().join("pom.xml"), "").unwrap();
        assert_eq!(runner_of(None, &own), "junit");
        assert_eq!(runner_of(Some("unittest"), &own), "pytest");
        own.set("python", vec!["python3".into()]);
        assert_eq!(runner_of(None, &own), "pytest");
        assert_eq!(runner_of(Some("junit"), &own), "junit");
        own.set("kind", vec!["command".into()]);
        assert_eq!(runner_of(None, &own), "command");
        assert_eq!(runner_of(Some("junit"), &own), "junit", "what is typed goes first");
        std::fs::write(folder.path().join("setup.cfg"), "").unwrap();
        assert_eq!(runner_of(None, &OwnOptions::default()), "pytest");
    }

    #[test]
    fn no_two_runners_share_a_name_and_no_two_options() {
        let runners = ADAPTERS.iter().flat_map(|it| it.runners()).map(|it| it.name);
        let options = ADAPTERS.iter().flat_map(|it| it.options()).map(|it| it.name);
        for names in [runners.collect::<Vec<_>>(), options.collect()] {
            let distinct: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{names:?}");
        }
    }
}
