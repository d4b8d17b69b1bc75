//! Plain NonDex under Gradle.
//!
//! Its own plugin is in Gradle's plugin service alone, and would have to be written into the build
//! file. What it does is to add flags to the task that runs tests; so does a script beside NonDex
//! in the cache (`choices.gradle`), which the printed command names.

use std::ffi::OsString;

use unflake_engine::{Interrupt, PlainEnding, Said};

use super::PlainError;
use super::gradle::GradlePlain;
use crate::nondex::{gradle_script, nondex_seed};
use crate::shell;

impl GradlePlain<'_> {
    /// The command that runs these tests with open choices made on purpose.
    pub(crate) fn command_perturbed(&self, ids: &[&str], seed: u64) -> String {
        let mut typed = self.gradle.typed();
        typed.extend(self.choosing(seed).iter().map(|word| word.to_string_lossy().into_owned()));
        typed.extend(self.words(ids));
        shell::line(typed.iter().map(String::as_str))
    }

    /// Runs these tests so: what was said about each.
    pub(crate) fn run_perturbed(
        &self,
        ids: &[&str],
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<(Vec<Said>, PlainEnding), PlainError> {
        if !self.task().is_run {
            return Err(PlainError::NotRun);
        }
        let words = self.words(ids).into_iter().map(OsString::from);
        let ran = self.run(ids, self.choosing(seed).into_iter().chain(words), interrupt)?;
        Ok((ran.tests, ran.ending))
    }

    fn choosing(&self, seed: u64) -> [OsString; 3] {
        let script = gradle_script(&self.project.jdk, &self.gradle.cache);
        ["-I".into(), script.into(), format!("-DnondexSeed={}", nondex_seed(seed)).into()]
    }
}
