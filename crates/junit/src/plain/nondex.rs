//! Plain NonDex, as a user would call it.
//!
//! Its plugin for Maven runs Surefire with the same classes that stand in for Java's own, from the
//! start of the process on. What it finds is in a folder of its own (`.nondex`) beside the build
//! file; if there was none before, there is none afterwards.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unflake_engine::process::FinishedWhy;
use unflake_engine::{Interrupt, PlainEnding, Said, private_folder};

use super::{By, Plain, PlainError, pattern, read_cases};
use crate::jars::NONDEX_VERSION;
use crate::maven::Maven;
use crate::nondex::nondex_seed;
use crate::shell;
use crate::surefire_report;

/// The folder of NonDex.
const FOLDER: &str = ".nondex";
/// Runs of its own without choices are kept under this name.
const CLEAN: &str = "clean_";

impl Plain<'_> {
    /// The command that runs these tests with open choices made on purpose, to be pasted in the
    /// folder of the project.
    pub fn command_perturbed(&self, ids: &[&str], seed: u64) -> String {
        let maven = match self.by() {
            By::Maven(maven) => maven,
            By::Gradle(gradle) => return gradle.command_perturbed(ids, seed),
        };
        let mut typed = maven.typed();
        typed.extend(self.perturbed_words(maven, ids, seed));
        shell::line(typed.iter().map(String::as_str))
    }

    fn perturbed_words(&self, maven: &Maven, ids: &[&str], seed: u64) -> Vec<String> {
        let mut words = vec![format!("edu.illinois:nondex-maven-plugin:{NONDEX_VERSION}:nondex")];
        words.extend(self.place(maven));
        // It asks Surefire in every module that is built, also in those without tests.
        let without = ["-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false"];
        words.extend(without.map(str::to_owned).into_iter().filter(|_| !self.has_neighbours()));
        words.push(format!("-Dtest={}", pattern(ids)));
        words.extend(["-DnondexMode=ONE", "-DnondexRuns=1"].map(str::to_owned));
        words.push(format!("-DnondexSeed={}", nondex_seed(seed)));
        words
    }

    /// Runs these tests so: what was said about each.
    pub fn run_perturbed(
        &self,
        ids: &[&str],
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<(Vec<Said>, PlainEnding), PlainError> {
        let maven = match self.by() {
            By::Maven(maven) => maven,
            By::Gradle(gradle) => return gradle.run_perturbed(ids, seed, interrupt),
        };
        let folder = private_folder().map_err(PlainError::Folder)?;
        let log = folder.path().join("log");
        let home = self.prepared.module.folder.join(FOLDER);
        let was_there = home.exists();
        let before = runs_in(&home).map_err(PlainError::Folder)?;
        let mut words: Vec<OsString> = vec!["--log-file".into(), log.into()];
        words.extend(self.perturbed_words(maven, ids, seed).into_iter().map(OsString::from));
        let finished = maven
            .call(words, self.time_max, interrupt)
            .map_err(|source| PlainError::Start { program: maven.program.clone(), source })?;
        let mut cases = Vec::new();
        for run in runs_in(&home).map_err(PlainError::Folder)? {
            if !before.contains(&run) {
                cases.extend(read_cases(&run)?);
            }
        }
        if !was_there {
            // Other modules that were built on the way have one, too, and it is ignored there.
            let _ = fs::remove_dir_all(&home);
        }
        let (said, _, _) = surefire_report::assign(ids, &cases);
        let ending = match finished.why {
            FinishedWhy::TimedOut => PlainEnding::TimedOut,
            FinishedWhy::Interrupted => PlainEnding::Interrupted,
            FinishedWhy::Exited if !cases.is_empty() => PlainEnding::Complete,
            FinishedWhy::Exited => PlainEnding::Died(finished.exit),
        };
        Ok((said, ending))
    }
}

/// Folders of runs with choices.
fn runs_in(home: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry?;
        let is_clean = entry.file_name().to_string_lossy().starts_with(CLEAN);
        if entry.file_type()?.is_dir() && !is_clean {
            runs.push(entry.path());
        }
    }
    Ok(runs)
}
