//! The agent, carried in the binary as source, and compiled once with the user's own Java.
//!
//! Compiled, because it must fit the JUnit of the project, of which there are dozens of versions;
//! and by the user's compiler, because then there is no class file of ours to be trusted, and the
//! parts for JUnit 4 and for the JUnit Platform are compiled against what is really there. It takes
//! a few seconds, once for each Java and JUnit: the folder is named after a hash of all of them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::Interrupt;
use unflake_engine::process::{CommandLine, Finished, run_to_end};

use crate::jdk::Jdk;
use crate::made_once::make_once;

/// The language the agent is written in: that of the oldest Java it runs on.
const RELEASE: &str = "8";

/// More than a compiler takes on any machine.
const COMPILE_TIME_MAX: Duration = Duration::from_mins(3);

/// Embeds sources of the agent, named by their paths below its outermost package.
macro_rules! embed {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_str!(concat!("../../../agents/java/src/unflake/agent/", $name, ".java")),
        )),*]
    };
}

/// What every agent has.
const CORE: &[(&str, &str)] = embed![
    "Main",
    "backend/Backend",
    "backend/Backends",
    "backend/Collected",
    "backend/Preload",
    "jvm/ClassPath",
    "jvm/JarsFirst",
    "jvm/JavaInternals",
    "perturb/Choices",
    "run/Capture",
    "run/Reporter",
    "run/ResultPrinter",
    "run/Slot",
    "run/Test",
    "trace/Probe",
    "trace/Tracer",
    "watch/Change",
    "watch/Difference",
    "watch/Heap",
    "watch/Node",
    "watch/ProcessState",
    "watch/Reader",
    "watch/Shapes",
    "watch/UsedClasses",
    "watch/Watch",
    "watch/Watcher",
    "wire/Connection",
    "wire/Json",
    "wire/Messenger",
    "wire/Plan",
    "wire/Text",
];
/// What it has for JUnit 3 and 4.
const JUNIT4: &[(&str, &str)] =
    embed!["junit4/EmptyJUnit4Test", "junit4/JUnit4Backend", "junit4/OrderedRunners"];
/// What it has for the JUnit Platform.
const PLATFORM: &[(&str, &str)] = embed![
    "platform/OrderedTree",
    "platform/PlatformBackend",
    "platform/PlatformEngines",
    "platform/PlatformListener",
    "platform/TestTree",
];

/// What it has for Jupiter.
const JUPITER: &[(&str, &str)] = embed!["platform/EmptyJupiterTest"];

/// What a process that traces begins with, and what its classes call. The agent has the latter,
/// too, to be compiled against; there it is found last.
pub(crate) const BOOT: &[(&str, &str)] = embed!["trace/Premain", "trace/Probe"];
/// What changes the classes of such a process.
pub(crate) const INSTRUMENTER: &[(&str, &str)] = embed!["trace/Instrumenter"];

/// Where they lie, beside what they were compiled from.
const CLASSES: &str = "classes";

/// Its main class.
pub(crate) const MAIN: &str = "unflake.agent.Main";

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The compiler could not be started.
    #[error("cannot run `{}`", .0.display())]
    Compiler(PathBuf, #[source] io::Error),
    /// The sources do not fit.
    #[error("the agent cannot be compiled with Java {version} and the JUnit of the project")]
    Refused {
        /// Of Java.
        version: String,
        /// What the compiler says.
        text: String,
    },
    /// Its folder cannot be written.
    #[error("cannot write the agent to `{}`", .0.display())]
    Folder(PathBuf, #[source] io::Error),
}

/// The folder of the compiled agent, for this Java and this class path.
pub(crate) fn classes(
    jdk: &Jdk,
    class_path: &[String],
    cache: &Path,
    interrupt: &Interrupt,
) -> Result<PathBuf, AgentError> {
    let junit: Vec<String> = class_path.iter().filter(|entry| is_junit(entry)).cloned().collect();
    let has = |start: &str| junit.iter().any(|entry| file_name(entry).starts_with(start));
    let mut sources = CORE.to_vec();
    if has("junit-4") || has("junit-dep-4") {
        sources.extend(JUNIT4);
    }
    if has("junit-platform-launcher") {
        sources.extend(PLATFORM);
    }
    if has("junit-jupiter-api") {
        sources.extend(JUPITER);
    }
    let texts = sources.iter().flat_map(|(name, text)| [*name, *text]).chain([CLASSES]);
    let jars = junit.iter().map(String::as_str);
    let key = key([jdk.version.as_str()].into_iter().chain(texts).chain(jars));
    let folder = cache.join("agent").join(key);
    let fail = |error| AgentError::Folder(folder.clone(), error);
    make_once(&folder, fail, |new| {
        compile(jdk, &sources, &junit, (new, &new.join(CLASSES)), interrupt)
    })?;
    Ok(folder.join(CLASSES))
}

/// Compiles sources against a class path; they are put into the folder, and classes out.
pub(crate) fn compile(
    jdk: &Jdk,
    sources: &[(&str, &str)],
    class_path: &[String],
    (folder, out): (&Path, &Path),
    interrupt: &Interrupt,
) -> Result<(), AgentError> {
    let fail = |error| AgentError::Folder(folder.to_owned(), error);
    fs::create_dir(out).map_err(fail)?;
    let class_path = class_path.join(":");
    let out = out.to_string_lossy();
    let words = ["-nowarn", "-Xlint:none", "-proc:none", "-encoding", "UTF-8", "-d", &*out];
    let mut arguments: Vec<OsString> = words.map(OsString::from).into();
    if !class_path.is_empty() {
        arguments.extend(["-cp".into(), class_path.into()]);
    }
    for (name, text) in sources {
        let file = folder.join(format!("{name}.java"));
        fs::create_dir_all(file.parent().unwrap_or(folder)).map_err(fail)?;
        fs::write(&file, text).map_err(fail)?;
        arguments.push(file.into());
    }
    // Java 8 knows no `--release`, and a later one may not know 8 any more: then it is the one that
    // runs the classes, too.
    let old: Vec<OsString> = ["--release", RELEASE].map(OsString::from).into();
    let releases = if jdk.feature() < 9 { vec![Vec::new()] } else { vec![old, Vec::new()] };
    let mut text = String::new();
    for release in releases {
        let done = run_compiler(jdk, [release, arguments.clone()].concat(), folder, interrupt)?;
        if done.exit.code == Some(0) {
            return Ok(());
        }
        text = done.stdout + &done.stderr;
        if !text.contains("release version") {
            break;
        }
    }
    Err(AgentError::Refused { version: jdk.version.clone(), text })
}

fn run_compiler(
    jdk: &Jdk,
    arguments: Vec<OsString>,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Finished, AgentError> {
    let program = jdk.program("javac");
    let line = CommandLine {
        program: program.clone(),
        arguments,
        current_dir: folder.to_owned(),
        env: Vec::new(),
    };
    run_to_end(&line, COMPILE_TIME_MAX, interrupt)
        .map_err(|error| AgentError::Compiler(program.into(), error))
}

fn file_name(entry: &str) -> &str {
    entry.rsplit('/').next().unwrap_or(entry)
}

/// Whether the agent is compiled against it.
fn is_junit(entry: &str) -> bool {
    let name = file_name(entry);
    let known = ["junit-", "opentest4j-", "apiguardian-api-", "hamcrest-", "jspecify-"];
    known.iter().any(|start| name.starts_with(start))
}

/// A name for contents: FNV-1a, 64 bits. Nobody gains by making two of them the same.
pub(crate) fn key<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_the_agent_is_carried() {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents/java/src/unflake/agent");
        let mut there = Vec::new();
        let mut open = vec![root.clone()];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                let name = path.strip_prefix(&root).unwrap().with_extension("");
                there.push(name.to_str().unwrap().to_owned());
            }
        }
        there.sort();
        let all = [CORE, JUNIT4, PLATFORM, JUPITER, BOOT, INSTRUMENTER].concat();
        let mut carried: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        carried.sort_unstable();
        carried.dedup();
        assert_eq!(carried, there);
    }

    #[test]
    fn where_one_text_ends_and_another_begins_makes_a_difference() {
        assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
        assert_eq!(key(["ab", "c"]), key(["ab", "c"]));
    }
}
