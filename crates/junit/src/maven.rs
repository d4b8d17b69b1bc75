//! How is Maven called?

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::Interrupt;
use unflake_engine::process::Finished;

use crate::build_program;

/// The wrapper that many projects bring along.
const WRAPPER: &str = "mvnw";

/// Maven, for one project.
#[derive(Clone, Debug)]
pub struct Maven {
    /// The project's wrapper, or the one on `PATH`.
    pub program: OsString,
    /// Where it is called: the topmost folder of the project.
    pub folder: PathBuf,
    /// What it is always given, such as `-Pprofile`.
    pub options: Vec<OsString>,
}

impl Maven {
    /// That of the project in this folder.
    pub(crate) fn of(folder: &Path, options: &[OsString]) -> Self {
        let program = build_program::wrapper(folder, WRAPPER).map_or("mvn".into(), OsString::from);
        Self { program, folder: folder.to_owned(), options: options.to_vec() }
    }

    /// Calls it without a terminal; what it says may go to a file instead.
    pub(crate) fn call(
        &self,
        words: Vec<OsString>,
        time_max: Duration,
        interrupt: &Interrupt,
    ) -> io::Result<Finished> {
        let mut arguments: Vec<OsString> = vec!["--batch-mode".into()];
        arguments.extend(self.options.iter().cloned());
        arguments.extend(words);
        build_program::call(&self.program, &self.folder, arguments, time_max, interrupt)
    }

    /// As it would be typed in its folder.
    pub(crate) fn typed(&self) -> Vec<String> {
        build_program::typed(&self.program, [WRAPPER, "mvn"], &self.options)
    }
}

/// Whether a build failed for want of something that is only to be had over the network.
pub(crate) fn needs_network(log: &str) -> bool {
    ["in offline mode", "is offline", "Could not find artifact", "has not been downloaded"]
        .iter()
        .any(|words| log.contains(words))
}

/// Modules whose build failed before their tests, with the reason.
pub(crate) fn broken_modules(log: &str) -> Vec<(String, String)> {
    let mut broken: Vec<(String, String)> = Vec::new();
    for line in log.lines() {
        let Some((before, after)) = line.split_once(" on project ") else { continue };
        // That the tests of a module fail is what the script that stands in for Java brings about.
        if !before.contains("[ERROR]") || before.contains("maven-surefire-plugin") {
            continue;
        }
        let (name, why) = after.split_once(": ").unwrap_or((after, "its build failed"));
        if !broken.iter().any(|(known, _)| known == name) {
            let why = why.split(" -> [Help").next().unwrap_or(why);
            broken.push((name.to_owned(), format!("{}{}", why, first_fault(log))));
        }
    }
    broken
}

/// The compiler's first complaint, if there is one.
fn first_fault(log: &str) -> String {
    let fault = log.lines().find(|line| line.starts_with("[ERROR] /") && line.contains(".java:"));
    fault.map_or_else(String::new, |line| format!(": {}", line.trim_start_matches("[ERROR] ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn modules_that_do_not_compile_are_named_and_those_with_tests_are_not() {
        let log = "[INFO] building\n[ERROR] COMPILATION ERROR : \n\
            [ERROR] /p/b/src/main/java/B.java:[1,8] class, interface, or enum expected\n\
            [ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:\
            test (default-test) on project a: There was an error -> [Help 1]\n\
            [ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.1:\
            compile (default-compile) on project b: Compilation failure -> [Help 1]\n";
        let expected = "Compilation failure: /p/b/src/main/java/B.java:[1,8] \
            class, interface, or enum expected";
        assert_eq!(broken_modules(log), [("b".to_owned(), expected.to_owned())]);
    }

    #[test]
    fn the_projects_own_wrapper_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Maven::of(folder.path(), &[]).typed(), ["mvn"]);
        let wrapper = folder.path().join("mvnw");
        fs::write(&wrapper, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        let maven = Maven::of(folder.path(), &["-Pfast".into()]);
        assert_eq!(
            (maven.program.clone(), maven.typed()),
            (wrapper.into(), vec!["./mvnw".to_owned(), "-Pfast".to_owned()])
        );
    }
}
