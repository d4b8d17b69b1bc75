//! Which classes need not be read anew by every process?
//!
//! Java can keep classes in an archive, parsed, verified and linked (class-data sharing), and maps
//! it into each process that starts. Its own archive has some of its own classes. Here one is made
//! for a module: with all that its tests load out of Java and out of jars. Java itself writes down
//! what that is while the tests are run once, for some seconds at most.
//!
//! It takes only what comes out of jars before which no folder stands, and build tools put folders
//! first. So Java is given the jars first, if no class is in a folder and in a jar (at which the
//! agent looks whenever it collects), and the agent has the class path searched in the order of the
//! build tool before anything is asked for. A Java in which it cannot do so has no archive, nor has
//! one that would print a warning about it.
//!
//! Nothing depends on it: whatever goes wrong, there is no archive, and each process reads its
//! classes. What the build tool gives Java about archives, or about what stands in for Java's own
//! classes, goes first, and then there is none either.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use unflake_engine::process::{CommandLine, Finished, FinishedWhy, run_to_end};
use unflake_engine::{Interrupt, private_folder};

use crate::agent::{MAIN, key};
use crate::module::{Module, Plan};

/// The Javas in which classes of programs can be archived without further ado, and in which the
/// agent may change how the class path is searched without a warning.
const KNOWN: RangeInclusive<u32> = 11..=23;
/// How long the tests are run for it, in seconds; what they have not loaded then will be read.
const REHEARSAL_S: &str = "10";
/// More than any step takes.
const STEP_TIME_MAX: Duration = Duration::from_mins(2);
/// Flags with which there is no archive, or which decide about it.
const OPPOSED: [&str; 8] = [
    "-Xshare",
    "SharedArchive",
    "SharedClassList",
    "UseSharedSpaces",
    "-agent",
    "-javaagent",
    "-patch-module",
    "-Xbootclasspath",
];
const EXTENSION: &str = "jsa";

/// We were asked to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted;

/// An archive, and how it is used.
#[derive(Clone, Debug)]
pub(crate) struct Archive {
    pub(crate) flags: Vec<String>,
    pub(crate) class_path: Vec<String>,
    /// What the agent is told in a process that uses it.
    pub(crate) plan: Vec<u8>,
}

impl Archive {
    /// The one that is kept for a module, or a new one.
    pub(crate) fn of(module: &Module, interrupt: &Interrupt) -> Result<Option<Self>, Interrupted> {
        let (folders, jars): (Vec<String>, Vec<String>) =
            module.class_path.iter().cloned().partition(|entry| Path::new(entry).is_dir());
        if !KNOWN.contains(&module.feature)
            || jars.is_empty()
            || module.flags.iter().any(|flag| is_opposed(flag))
        {
            return Ok(None);
        }
        let file = module.home.join(key_of(module, &jars)).with_extension(EXTENSION);
        let path = Some(module.class_path.join(":"));
        let plan = Plan { class_path: path, ..module.plan.clone() };
        let Ok(plan) = serde_json::to_vec(&plan) else { return Ok(None) };
        let used = Self {
            flags: vec![archive_flag(&file)],
            class_path: [jars.clone(), folders].concat(),
            plan,
        };
        if !file.exists() {
            Maker { module, interrupt, jars, used: &used }.make(&file)?;
        }
        // An empty one stands for one that cannot be made.
        let is_there = fs::metadata(&file).is_ok_and(|data| 0 < data.len());
        Ok(is_there.then_some(used))
    }
}

fn is_opposed(flag: &str) -> bool {
    OPPOSED.iter().any(|part| flag.contains(part))
}

/// What the archive depends on. Code of the project is not in it.
fn key_of(module: &Module, jars: &[String]) -> String {
    let java = module.java.to_string_lossy();
    let files = [&*java].into_iter().chain(jars.iter().map(String::as_str));
    let stamped: Vec<String> = files.map(|file| format!("{file} {}", stamp(file))).collect();
    key(stamped.iter().chain(&module.flags).map(String::as_str))
}

/// Changes with the file.
fn stamp(file: &str) -> String {
    let data = fs::metadata(file).and_then(|data| Ok((data.len(), data.modified()?)));
    data.map_or_else(
        |error| error.to_string(),
        |(length, modified)| {
            let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("{length} {}", since.as_nanos())
        },
    )
}

fn archive_flag(file: &Path) -> String {
    format!("-XX:SharedArchiveFile={}", file.display())
}

struct Maker<'a> {
    module: &'a Module,
    interrupt: &'a Interrupt,
    jars: Vec<String>,
    used: &'a Archive,
}

impl Maker<'_> {
    /// Makes it, or an empty one.
    fn make(&self, file: &Path) -> Result<(), Interrupted> {
        let Ok(folder) = private_folder() else { return Ok(()) };
        let list = folder.path().join("classes");
        let new = folder.path().join("archive");
        let is_made = self.rehearse(folder.path(), &list)?
            && self.dump(&list, &new)?
            && self.is_fit(folder.path(), &new)?;
        // What cannot be kept is made again the next time.
        let _ = self.put(is_made.then_some(&new), file);
        Ok(())
    }

    /// Has the tests run once, and what they load written down.
    fn rehearse(&self, folder: &Path, list: &Path) -> Result<bool, Interrupted> {
        let flags = [format!("-XX:DumpLoadedClassList={}", list.display())];
        let plan = self.module.plan_file().display().to_string();
        let rest = [MAIN, &plan, "--rehearse", REHEARSAL_S];
        let words = self.module.words(&flags, &self.module.class_path, &rest);
        let own = (OsString::from("TMPDIR"), Some(folder.as_os_str().to_owned()));
        // A test may end the process, or hang: then the list is what it is.
        let done = self.call(words, vec![own])?;
        Ok(done.is_some() && list.exists())
    }

    fn dump(&self, list: &Path, file: &Path) -> Result<bool, Interrupted> {
        // With what Java has in its own archive: each process needs some of it.
        let home = Path::new(&self.module.java).ancestors().nth(2).unwrap_or(Path::new("/"));
        let mut names = fs::read(home.join("lib/classlist")).unwrap_or_default();
        names.extend(fs::read(list).unwrap_or_default());
        if fs::write(list, names).is_err() {
            return Ok(false);
        }
        let flags = [
            "-Xshare:dump".to_owned(),
            format!("-XX:SharedClassListFile={}", list.display()),
            archive_flag(file),
        ];
        let done = self.call(self.module.words(&flags, &self.jars, &[]), Vec::new())?;
        Ok(done.is_some_and(|done| done.exit.code == Some(0)))
    }

    /// Whether Java takes it for what we will start, and the agent finds its way.
    fn is_fit(&self, folder: &Path, file: &Path) -> Result<bool, Interrupted> {
        let plan = folder.join("plan");
        if fs::write(&plan, &self.used.plan).is_err() {
            return Ok(false);
        }
        let flags = ["-Xshare:on".to_owned(), archive_flag(file)];
        let rest = [MAIN, &plan.display().to_string(), "--rehearse", "0"];
        let words = self.module.words(&flags, &self.used.class_path, &rest);
        let done = self.call(words, Vec::new())?;
        Ok(done.is_some_and(|done| done.exit.code == Some(0)))
    }

    /// Puts it where it is looked for, in place of older ones; an empty one if there is none.
    fn put(&self, new: Option<&PathBuf>, file: &Path) -> io::Result<()> {
        let home = &self.module.home;
        let draft = tempfile::NamedTempFile::new_in(home)?;
        if let Some(new) = new {
            fs::copy(new, draft.path())?;
        }
        for entry in fs::read_dir(home)? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == EXTENSION) {
                fs::remove_file(path)?;
            }
        }
        draft.persist(file)?;
        Ok(())
    }

    /// What came of a call of Java, if anything did.
    fn call(
        &self,
        words: Vec<String>,
        more: Vec<(OsString, Option<OsString>)>,
    ) -> Result<Option<Finished>, Interrupted> {
        let line = CommandLine {
            program: self.module.java.clone(),
            arguments: words.into_iter().map(OsString::from).collect(),
            current_dir: self.module.current_dir.clone(),
            env: [self.module.changes_of_env(), more].concat(),
        };
        match run_to_end(&line, STEP_TIME_MAX, self.interrupt) {
            Ok(done) if done.why == FinishedWhy::Interrupted => Err(Interrupted),
            done => Ok(done.ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_build_says_about_archives_and_javas_own_classes_goes_first() {
        let theirs =
            ["-Xshare:off", "-XX:SharedArchiveFile=x", "-javaagent:a.jar", "--patch-module=a=b"];
        assert!(theirs.into_iter().all(is_opposed));
        assert!(
            !["-ea", "-Xmx1g", "--add-opens=java.base/java.lang=ALL-UNNAMED"]
                .into_iter()
                .any(is_opposed)
        );
    }

    #[test]
    fn a_jar_that_has_changed_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let jar = folder.path().join("a.jar").display().to_string();
        let absent = stamp(&jar);
        fs::write(&jar, "one").unwrap();
        let one = stamp(&jar);
        fs::write(&jar, "three").unwrap();
        assert_eq!([&absent, &one].map(|it| *it == stamp(&jar)), [false, false]);
        assert_eq!(stamp(&jar), stamp(&jar));
    }
}
