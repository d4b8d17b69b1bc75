//! The one list of kinds of state that tests share and leave behind.
//!
//! Agents label each change with a kind from this list; the adapter of a runner names those that
//! its agent watches. Tests hold the agents, the adapters and `docs/design/agent-protocol.md` to
//! it.

use std::fmt;
use std::str::FromStr;

/// The sort of place where a piece of state lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateKind {
    /// A global of a module, or an attribute of a function.
    Global,
    /// An attribute of a class.
    ClassAttribute,
    /// A default argument that was changed in place.
    DefaultArgument,
    /// A variable of an enclosing function.
    Closure,
    /// A cache of results.
    Cache,
    /// The table of loaded modules.
    Modules,
    /// The search path for modules, and the arguments the program was called with.
    Path,
    /// An environment variable.
    Environment,
    /// The working directory.
    Cwd,
    /// The permissions that new files are denied.
    Umask,
    /// The locale.
    Locale,
    /// The time zone.
    Timezone,
    /// Loggers: levels, handlers, filters.
    Logging,
    /// Which warnings are shown.
    Warnings,
    /// A generator of random numbers.
    Random,
    /// A signal handler.
    Signal,
    /// The loop that runs asynchronous code.
    EventLoop,
    /// A thread that was left running.
    Thread,
    /// A child process that was left running.
    Process,
    /// A file descriptor, opened and not closed, or closed.
    Descriptor,
    /// A patch that was started and not stopped.
    Mock,
    /// A file of the project or of the user.
    File,
    /// A table of a database that is a single file.
    Sqlite,
    /// A file in the temporary folder.
    Tempfile,
    /// A setting of the interpreter, or of the virtual machine.
    Interpreter,
    /// A static field.
    StaticField,
    /// A system property.
    Property,
    /// An effect of importing a file; found by the plain runner, never reported by an agent.
    Import,
}

impl StateKind {
    /// All kinds.
    pub const ALL: [Self; 28] = [
        Self::Global,
        Self::ClassAttribute,
        Self::DefaultArgument,
        Self::Closure,
        Self::Cache,
        Self::Modules,
        Self::Path,
        Self::Environment,
        Self::Cwd,
        Self::Umask,
        Self::Locale,
        Self::Timezone,
        Self::Logging,
        Self::Warnings,
        Self::Random,
        Self::Signal,
        Self::EventLoop,
        Self::Thread,
        Self::Process,
        Self::Descriptor,
        Self::Mock,
        Self::File,
        Self::Sqlite,
        Self::Tempfile,
        Self::Interpreter,
        Self::StaticField,
        Self::Property,
        Self::Import,
    ];

    /// The name that agents, reports and settings use; never changes.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::ClassAttribute => "class-attribute",
            Self::DefaultArgument => "default-argument",
            Self::Closure => "closure",
            Self::Cache => "cache",
            Self::Modules => "modules",
            Self::Path => "path",
            Self::Environment => "environment",
            Self::Cwd => "cwd",
            Self::Umask => "umask",
            Self::Locale => "locale",
            Self::Timezone => "timezone",
            Self::Logging => "logging",
            Self::Warnings => "warnings",
            Self::Random => "random",
            Self::Signal => "signal",
            Self::EventLoop => "event-loop",
            Self::Thread => "thread",
            Self::Process => "process",
            Self::Descriptor => "descriptor",
            Self::Mock => "mock",
            Self::File => "file",
            Self::Sqlite => "sqlite",
            Self::Tempfile => "tempfile",
            Self::Interpreter => "interpreter",
            Self::StaticField => "static-field",
            Self::Property => "property",
            Self::Import => "import",
        }
    }
}

/// The name is not a kind of state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of state")]
pub struct UnknownStateKind(String);

impl FromStr for StateKind {
    type Err = UnknownStateKind;

    fn from_str(name: &str) -> Result<Self, UnknownStateKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.slug() == name);
        found.ok_or_else(|| UnknownStateKind(name.to_owned()))
    }
}

impl fmt::Display for StateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_has_a_name_of_its_own_and_is_found_by_it() {
        let names: BTreeSet<&str> = StateKind::ALL.iter().map(|kind| kind.slug()).collect();
        assert_eq!(names.len(), StateKind::ALL.len());
        for kind in StateKind::ALL {
            assert_eq!(kind.slug().parse(), Ok(kind));
        }
        assert!("all".parse::<StateKind>().is_err());
    }

    #[test]
    fn the_protocol_of_agents_lists_the_same_kinds() {
        let protocol = include_str!("../../../docs/design/agent-protocol.md");
        let (_, table) =
            protocol.split_once("| kind | what | `where` |").expect("a table of kinds");
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let named = rows.filter_map(|row| row.split('|').nth(1));
        let named: BTreeSet<&str> =
            named.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert_eq!(named, StateKind::ALL.iter().map(|kind| kind.slug()).collect());
    }
}
