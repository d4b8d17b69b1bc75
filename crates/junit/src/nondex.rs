//! How are Java's open choices made on purpose?
//!
//! By NonDex (`edu.illinois:nondex-*`), whose classes stand in for a dozen of Java's own: iteration
//! of hash maps and sets, what reflection lists, folders, and others of its list. Its classes are
//! made from the user's Java, once, and kept beside the agent.
//!
//! `docs/design/java.md` says why it is not written anew.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::process::{CommandLine, run_to_end};
use unflake_engine::{Choosing, Interrupt, Perturbing};

use crate::agent::key;
use crate::build_tool::BuildTool;
use crate::fetch::{FetchError, complaint, fetch};
use crate::jars::{NONDEX_COMMON, NONDEX_JARS, NONDEX_MAKER, NONDEX_VERSION};
use crate::jdk::Jdk;
use crate::made_once::make_once;
use crate::project::Project;

const PATCH: &str = "patch.jar";
/// The script that adds it to a build of Gradle's.
const CHOICES: &str = "choices.gradle";
const SCRIPT: &str = include_str!("nondex/choices.gradle");

/// It takes a second.
const MAKE_TIME_MAX: Duration = Duration::from_mins(1);

/// NonDex's own first seed, and how far its seeds are apart: with the same choices, its runs are
/// ours. Seeds that lie close together would shuffle short lists all alike.
const SEED: u64 = 933_178;
const SEED_STEP: u64 = 0xa1e4;
/// Its seeds are integers of Java.
const SEED_MAX: u64 = 0x7fff_ffff;

/// NonDex, ready for one Java.
#[derive(Clone, Debug)]
pub struct NonDex {
    /// Where it is kept.
    folder: PathBuf,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum NonDexError {
    /// Its jars are not to be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It is made for one Java.
    #[error("the modules run on several Javas")]
    Several,
    /// It does not know this Java.
    #[error("NonDex {NONDEX_VERSION} cannot be used with Java {version}: {text}")]
    Refused {
        /// Of Java.
        version: String,
        /// What it says.
        text: String,
    },
    /// A program could not be started.
    #[error("cannot run `{}`", .0.display())]
    Start(OsString, #[source] io::Error),
    /// Its folder cannot be written.
    #[error("cannot write to `{}`", .0.display())]
    Folder(PathBuf, #[source] io::Error),
}

impl NonDex {
    /// The one for the Java of a project: that in the cache, or a new one.
    pub fn find(
        project: &Project,
        cache: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self, NonDexError> {
        let java = project.jdk.program("java");
        if project.modules.iter().any(|module| module.java != java) {
            return Err(NonDexError::Several);
        }
        let folder = folder(&project.jdk, cache);
        let fail = |error| NonDexError::Folder(folder.clone(), error);
        make_once(&folder, fail, |new| {
            for jar in &NONDEX_JARS {
                fetch(jar, &project.tool, new, interrupt)?;
            }
            make(project, new, interrupt)
        })?;
        if let BuildTool::Gradle(gradle) = &project.tool {
            let script =
                SCRIPT.replace("@patch@", PATCH).replace("@common@", &NONDEX_COMMON.file());
            let file = gradle_script(&project.jdk, &gradle.cache);
            fs::write(&file, script).map_err(|error| NonDexError::Folder(file, error))?;
        }
        Ok(Self { folder })
    }

    /// What the engine is told about it.
    pub fn perturbing(&self) -> Perturbing {
        let folder = self.folder.display();
        let common = NONDEX_COMMON.file();
        let flags = [
            format!("--patch-module=java.base={folder}/{PATCH}:{folder}/{common}"),
            "--add-exports=java.base/edu.illinois.nondex.common=ALL-UNNAMED".to_owned(),
            "--add-opens=java.base/edu.illinois.nondex.shuffling=ALL-UNNAMED".to_owned(),
            // It keeps still until it is told what to do.
            "-DnondexStart=1".to_owned(),
            "-DnondexEnd=0".to_owned(),
            "-DnondexLogging=OFF".to_owned(),
            format!("-DnondexDir={folder}"),
        ];
        let flags = flags.map(OsString::from).into();
        Perturbing::Choices(Choosing { flags, seed_of: nondex_seed })
    }
}

/// The seed by which NonDex knows one of ours: that of its run of the same number.
pub(crate) fn nondex_seed(seed: u64) -> u64 {
    SEED.wrapping_add(seed.wrapping_mul(SEED_STEP)) & SEED_MAX
}

/// The script by which it takes part in a build of Gradle's, kept beside it.
pub(crate) fn gradle_script(jdk: &Jdk, cache: &Path) -> PathBuf {
    folder(jdk, cache).join(CHOICES)
}

/// Where it is kept for a Java.
fn folder(jdk: &Jdk, cache: &Path) -> PathBuf {
    let home = jdk.home.to_string_lossy();
    cache.join("nondex").join(key([NONDEX_VERSION, jdk.version.as_str(), &home]))
}

/// Makes the classes that stand in for Java's own.
fn make(project: &Project, folder: &Path, interrupt: &Interrupt) -> Result<(), NonDexError> {
    let program = project.jdk.program("java");
    let line = CommandLine {
        program: program.clone(),
        arguments: vec![
            "-cp".into(),
            folder.join(NONDEX_MAKER.file()).into(),
            "edu.illinois.nondex.instr.Main".into(),
            folder.join(PATCH).into(),
        ],
        current_dir: folder.to_owned(),
        env: Vec::new(),
    };
    let done = run_to_end(&line, MAKE_TIME_MAX, interrupt)
        .map_err(|error| NonDexError::Start(program, error))?;
    if done.exit.code == Some(0) && folder.join(PATCH).is_file() {
        return Ok(());
    }
    let version = project.jdk.version.clone();
    Err(NonDexError::Refused { version, text: complaint(&done) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_those_of_nondex_and_always_integers_of_java() {
        assert_eq!([0, 1, 2].map(nondex_seed), [933_178, 974_622, 1_016_066]);
        assert!([u64::MAX, 1 << 40].into_iter().all(|seed| nondex_seed(seed) <= SEED_MAX));
    }
}
