//! Which build tool builds a project?

use crate::gradle::Gradle;
use crate::maven::Maven;
use crate::shell;

/// Who builds a project.
#[derive(Clone, Debug)]
pub enum BuildTool {
    /// Where there is a `pom.xml`.
    Maven(Maven),
    /// Where there is a `build.gradle` or `settings.gradle`, or one of them in Kotlin.
    Gradle(Gradle),
}

impl BuildTool {
    /// As it is typed in the folder of the project.
    pub fn command(&self) -> String {
        let words = match self {
            Self::Maven(maven) => maven.typed(),
            Self::Gradle(gradle) => gradle.typed(),
        };
        shell::line(words.iter().map(String::as_str))
    }
}
