//! Why can the tests of a project not be run, and what can be done about it?

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::agent::AgentError;
use crate::jdk::OLDEST;
use crate::module::LeftOut;

/// Why a project cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// Neither a `pom.xml` nor anything else we know.
    #[error("no `pom.xml` and no `build.gradle` in `{}`", .0.display())]
    NoBuild(PathBuf),
    /// Maven could not be started.
    #[error("cannot run `{}`", .program.display())]
    NoMaven {
        /// What was tried.
        program: OsString,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Gradle could not be started.
    #[error("cannot run `{}`", .program.display())]
    NoGradle {
        /// What was tried.
        program: OsString,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Gradle gave up before it looked at the project.
    #[error("Gradle cannot build the project: {0}")]
    NoAnswer(String),
    /// Maven does not say with which Java it runs.
    #[error("Maven does not find a Java: {text}")]
    NoJava {
        /// What it says instead.
        text: String,
    },
    /// A runtime without a compiler.
    #[error("`{}` has no `javac`: it is a Java runtime, not a development kit", .0.display())]
    NoCompiler(PathBuf),
    /// A Java that cannot speak to us.
    #[error("Java {0} is too old: {OLDEST} or newer is needed")]
    OldJava(String),
    /// The build took too long.
    #[error("the build was stopped after {0:?}")]
    TimedOut(Duration),
    /// We were asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The build came to its end, and there is no test.
    #[error("the build has no tests that can be run")]
    NoTests {
        /// Modules that could not be built.
        left_out: Vec<LeftOut>,
        /// The end of the log.
        log: String,
    },
    /// There is no folder for what is recorded.
    #[error("cannot prepare the build")]
    Folder(#[source] io::Error),
    /// There is no agent.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl ProjectError {
    /// What can be done about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoMaven { .. } => Some("install Maven, or put its wrapper `mvnw` there"),
            Self::NoJava { .. } | Self::NoCompiler(_) | Self::OldJava(_) => {
                Some("install a Java development kit and let JAVA_HOME name it")
            }
            Self::NoGradle { .. } => Some("install Gradle, or put its wrapper `gradlew` there"),
            Self::NoTests { .. } => Some("does `mvn test` or `gradle test` find any?"),
            _ => None,
        }
    }
}
