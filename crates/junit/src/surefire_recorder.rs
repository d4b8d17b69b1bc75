//! What would Surefire start?
//!
//! Nobody but Surefire knows: which classes it takes and in which order it finds them, which JUnit
//! it picks and brings along, what `argLine` has become after other plugins have changed it, which
//! properties, variables and working directory tests get. So we let it do everything but the last
//! step. For the `jvm` it is told to use stands a script that looks like a Java home; it writes
//! down its arguments, its environment and the files they name, and ends. One build, nothing in the
//! user's files, and every version of Surefire since 2.12 says the same in the same words.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::jdk::Jdk;
use crate::properties;
use crate::shell::quote;

/// Written last: what is not complete is not read.
const COMPLETE: &str = "complete";

/// Stands in for `java`. Arguments and environment are separated by zero bytes.
const SCRIPT: &str = r#"#!/bin/sh
umask 077
records=@records@
count=$(ls "$records" | wc -l)
to=$records/$(printf %06d "$count").$$
mkdir "$to" || exit 1
pwd > "$to/folder"
env -0 > "$to/environment"
number=0
inside=
for word do
    printf '%s\0' "$word" >> "$to/arguments"
    for file in "$word" "$inside/$word"; do
        if [ -f "$file" ]; then
            number=$((number + 1))
            cp "$file" "$to/file-$number"
        fi
    done
    if [ -d "$word" ]; then inside=$word; fi
done
: > "$to/complete"
"#;

/// What belongs to the shell or to us, not to the build.
pub(crate) const NOT_THE_BUILDS: [&str; 6] =
    ["_", "PWD", "OLDPWD", "SHLVL", "TMPDIR", "MAVEN_CMD_LINE_ARGS"];

/// What Surefire was about to start.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// The working directory.
    pub(crate) current_dir: PathBuf,
    /// What Java itself is given (`argLine`).
    pub(crate) flags: Vec<String>,
    /// The environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Surefire's own settings.
    pub(crate) settings: BTreeMap<String, String>,
    /// System properties for the tests.
    pub(crate) properties: BTreeMap<String, String>,
}

/// A folder with a Java home that records.
#[derive(Debug)]
pub(crate) struct Recorder {
    home: PathBuf,
    records: PathBuf,
}

impl Recorder {
    /// Builds it in an empty folder, after the image of a real one.
    pub(crate) fn new(folder: &Path, jdk: &Jdk) -> io::Result<Self> {
        let (home, records) = (folder.join("jdk"), folder.join("records"));
        fs::create_dir_all(home.join("bin"))?;
        fs::create_dir(&records)?;
        // Surefire looks for the version of a Java home, and for its tools.
        link_all(&jdk.home, &home, "bin")?;
        link_all(&jdk.home.join("bin"), &home.join("bin"), "java")?;
        let java = home.join("bin/java");
        let script = SCRIPT.replace("@records@", &quote(&records.to_string_lossy()));
        fs::write(&java, script)?;
        fs::set_permissions(&java, fs::Permissions::from_mode(0o700))?;
        Ok(Self { home, records })
    }

    /// The program that Surefire is to start.
    pub(crate) fn program(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    /// Forgets what was recorded.
    pub(crate) fn clear(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.records)?;
        fs::create_dir(&self.records)
    }

    /// All that was recorded, in the order in which it was.
    pub(crate) fn read(&self) -> io::Result<Vec<Recorded>> {
        let entries = fs::read_dir(&self.records)?;
        let mut folders = entries.map(|e| Ok(e?.path())).collect::<io::Result<Vec<_>>>()?;
        folders.retain(|folder| folder.join(COMPLETE).exists());
        folders.sort();
        let recorded = folders.iter().map(|folder| read_one(folder, &self.home));
        Ok(recorded.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}

fn link_all(from: &Path, to: &Path, except: &str) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() != except {
            symlink(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// `None` if it was not Surefire that started Java.
fn read_one(folder: &Path, home: &Path) -> io::Result<Option<Recorded>> {
    let (mut settings, mut properties) = (None, BTreeMap::new());
    for number in 1.. {
        let file = folder.join(format!("file-{number}"));
        if !file.exists() {
            break;
        }
        let bytes = fs::read(file)?;
        if bytes.starts_with(b"PK") {
            continue;
        }
        let read = properties::parse(&bytes);
        if read.contains_key("providerConfiguration") {
            settings = Some(read);
        } else {
            properties = read;
        }
    }
    let Some(settings) = settings else { return Ok(None) };
    let current_dir = fs::read(folder.join("folder"))?;
    let current_dir = current_dir.strip_suffix(b"\n").unwrap_or(&current_dir).to_vec();
    // Those we have added ourselves.
    properties.retain(|name, _| name != "jvm" && name != "surefire.useModulePath");
    properties.retain(|name, _| name != "maven.test.failure.ignore");
    Ok(Some(Recorded {
        current_dir: OsString::from_vec(current_dir).into(),
        flags: flags(&fs::read(folder.join("arguments"))?),
        env: environment(&fs::read(folder.join("environment"))?, home),
        settings,
        properties,
    }))
}

/// What stands before Surefire's own part of the command line.
fn flags(arguments: &[u8]) -> Vec<String> {
    let words = arguments.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word));
    let is_flag = |word: &String| {
        !["-jar", "-cp", "-classpath", ""].contains(&word.as_str()) && !word.starts_with('@')
    };
    words.map(std::borrow::Cow::into_owned).take_while(is_flag).collect()
}

fn environment(bytes: &[u8], home: &Path) -> Vec<(OsString, OsString)> {
    let mut env = Vec::new();
    for entry in bytes.split(|byte| *byte == 0) {
        let Some(end) = entry.iter().position(|byte| *byte == b'=') else { continue };
        let (name, value) = (&entry[..end], &entry[end + 1..]);
        let value = OsString::from_vec(value.to_vec());
        // Where Surefire is told which Java to start, it also sets JAVA_HOME.
        let is_ours = value == home || NOT_THE_BUILDS.iter().any(|n| n.as_bytes() == name);
        if !is_ours {
            env.push((OsString::from_vec(name.to_vec()), value));
        }
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use unflake_engine::Interrupt;
    use unflake_engine::process::{CommandLine, run_to_end};

    fn jdk(folder: &Path) -> Jdk {
        let home = folder.join("real");
        fs::create_dir_all(home.join("bin")).unwrap();
        for name in ["release", "bin/java", "bin/javac"] {
            fs::write(home.join(name), "x").unwrap();
        }
        Jdk { home, version: "17".into() }
    }

    #[test]
    fn what_surefire_starts_is_written_down_and_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let jdk = jdk(folder.path());
        let recorder = Recorder::new(folder.path(), &jdk).unwrap();
        assert!(recorder.home.join("release").exists() && recorder.home.join("bin/javac").exists());
        let surefire = folder.path().join("target surefire");
        fs::create_dir(&surefire).unwrap();
        fs::write(surefire.join("a.jar"), "PK").unwrap();
        fs::write(surefire.join("1tmp"), "providerConfiguration=P\ntc.0=a.B\n").unwrap();
        fs::write(surefire.join("2tmp"), "color=red\njvm=/x\n").unwrap();
        let jar = surefire.join("a.jar");
        let words = ["-Da=b c", "-jar"].map(OsString::from);
        let rest = ["1tmp", "2tmp"].map(OsString::from);
        let line = CommandLine {
            program: recorder.program().into(),
            arguments: words.into_iter().chain([jar.into(), surefire.into()]).chain(rest).collect(),
            current_dir: folder.path().canonicalize().unwrap(),
            env: vec![
                ("JAVA_HOME".into(), Some(recorder.home.clone().into())),
                ("SHOE".into(), Some("4\n2".into())),
            ],
        };
        let done = run_to_end(&line, Duration::from_mins(1), &Interrupt::default()).unwrap();
        assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
        let recorded = recorder.read().unwrap();
        let [one] = recorded.as_slice() else { panic!("{recorded:?}") };
        assert_eq!(one.current_dir, line.current_dir);
        assert_eq!(one.flags, ["-Da=b c"]);
        assert_eq!(one.settings["tc.0"], "a.B");
        assert_eq!(one.properties, BTreeMap::from([("color".into(), "red".into())]));
        let value = |name: &str| one.env.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        assert_eq!(value("JAVA_HOME"), None);
        assert_eq!(value("SHOE"), Some("4\n2".into()));
        assert_eq!(value("PWD"), None);
        recorder.clear().unwrap();
        assert!(recorder.read().unwrap().is_empty());
    }
}
