//! Which Java does the build use?
//!
//! The one Maven says it runs on: it is the one Surefire starts tests with, unless a project names
//! another. A runtime without a compiler is not enough, because the agent is carried as source.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The oldest Java that the agent is written for.
pub(crate) const OLDEST: u32 = 8;

/// A Java development kit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    /// Its folder.
    pub home: PathBuf,
    /// Its version, as it spells it: `17.0.15`, `1.8.0_392`.
    pub version: String,
}

impl Jdk {
    /// From what `mvn -version` prints.
    pub(crate) fn named_by(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.split_once("Java version: "))?.1;
        let version = line.split([',', ' ']).next()?.to_owned();
        // Older Mavens have a line of its own for it.
        let home = line
            .split_once("runtime: ")
            .or_else(|| text.lines().find_map(|line| line.split_once("Java home: ")))?
            .1;
        let home = Path::new(home.trim());
        let home = if home.ends_with("jre") { home.parent()? } else { home };
        Some(Self { home: home.to_owned(), version })
    }

    /// The number people call it by: 8, 17.
    pub fn feature(&self) -> u32 {
        let mut numbers = self.version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(1)), Some(Ok(second))) => second,
            (Some(Ok(first)), _) => first,
            _ => 0,
        }
    }

    /// One of its programs.
    pub(crate) fn program(&self, name: &str) -> OsString {
        self.home.join("bin").join(name).into()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.home.join("bin").join(name).is_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maven_says_which_java_it_runs_on() {
        let new = "\u{1b}[1mApache Maven 3.8.7\u{1b}[m\nMaven home: /usr/share/maven\n\
            Java version: 17.0.15, vendor: Debian, runtime: /usr/lib/jvm/java 17\nOS name: x\n";
        let jdk = Jdk::named_by(new).unwrap();
        assert_eq!((jdk.home.to_str(), jdk.feature()), (Some("/usr/lib/jvm/java 17"), 17));
        let old = "Apache Maven 3.3.9\nMaven home: /m\nJava version: 1.8.0_392, vendor: X\n\
            Java home: /usr/lib/jvm/java-8/jre\n";
        let jdk = Jdk::named_by(old).unwrap();
        assert_eq!((jdk.home.to_str(), jdk.feature()), (Some("/usr/lib/jvm/java-8"), 8));
        assert_eq!(Jdk::named_by("mvn: command not found"), None);
    }

    #[test]
    fn versions_of_all_ages_have_a_number() {
        let feature = |version: &str| Jdk { home: "/".into(), version: version.into() }.feature();
        assert_eq!(["21", "17.0.1", "1.8.0_392", "24-ea", "x"].map(feature), [21, 17, 8, 24, 0]);
    }
}
