//! How are the tests of one of Gradle's tasks run?

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::asking::{Asked, Build};
use crate::java_flags::quick;
use crate::jdk::Jdk;
use crate::module::{LeftOut, Module, Plan, Task, name_in};
use crate::surefire_recorder::NOT_THE_BUILDS;

/// What Gradle sets in the process of the tests: the number of that process.
const WORKER: (&str, &str) = ("org.gradle.test.worker", "1");
/// No order that Surefire knows: classes come as they are found, and nothing can be said about it.
const FIXED: &str = "gradle";

/// The Java of a task, and its module; `Err` if it is nothing we can run.
pub(crate) fn module(
    project: &Path,
    build: &Build,
    asked: Asked,
) -> Result<(Jdk, Module), LeftOut> {
    let name = name_in(project, &asked.folder);
    let platform = asked.framework.contains("JUnitPlatform");
    if !platform && !asked.framework.starts_with("JUnit") {
        let why = format!("its tests are run by `{}`, which is not supported", asked.framework);
        return Err(LeftOut { module: name, why });
    }
    let jdk = jdk(build, asked.java.as_deref());
    let mut notes = notes(build, platform, &asked);
    let classes = filtered(asked.classes, &asked.patterns, &asked.excluded_patterns, &mut notes);
    let class_path = asked.class_path;
    let plan = Plan {
        rootdir: asked.folder.display().to_string(),
        classes: if platform { outer_first(classes) } else { classes },
        platform,
        properties: BTreeMap::from([WORKER].map(|(name, value)| (name.into(), value.into()))),
        configuration: BTreeMap::new(),
        groups: asked.groups,
        excluded_groups: asked.excluded_groups,
        included_engines: asked.engines,
        excluded_engines: asked.excluded_engines,
        folders: asked.folders.into_iter().filter(|entry| Path::new(entry).is_dir()).collect(),
        class_path: None,
    };
    let is_builds = |name: &str| !NOT_THE_BUILDS.contains(&name);
    let env = asked.env.into_iter().filter(|(name, _)| is_builds(name));
    let module = Module {
        name,
        folder: asked.folder,
        notes,
        run_order: FIXED.to_owned(),
        surefire: String::new(),
        reports: PathBuf::new(),
        task: Task {
            path: asked.task,
            is_run: !asked.is_blind,
            is_one_process: asked.forks < 2 && asked.fork_every == 0,
        },
        current_dir: asked.current_dir,
        flags: quick(asked.flags),
        env: env.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect(),
        class_path,
        plan,
        java: OsString::new(),
        feature: 0,
        home: PathBuf::new(),
    };
    Ok((jdk, module))
}

fn notes(build: &Build, platform: bool, asked: &Asked) -> Vec<String> {
    let mut notes = asked.notes.clone();
    if asked.is_blind {
        notes.push(format!(
            "Gradle {} does not know the JUnit Platform: these tests are run by our launcher alone",
            build.gradle
        ));
    }
    let has_groups = !asked.groups.is_empty() || !asked.excluded_groups.is_empty();
    if has_groups && !platform {
        notes.push("groups of JUnit 4 are not heeded: all tests are run".to_owned());
    }
    if 1 < asked.forks || 0 < asked.fork_every {
        notes.push("Gradle runs these classes in several processes".to_owned());
    }
    notes
}

/// The Java with this program, or that of the build.
fn jdk(build: &Build, java: Option<&Path>) -> Jdk {
    let own = java.and_then(|java| java.parent()?.parent());
    let home = own.unwrap_or(&build.home);
    let home = if home.ends_with("jre") { home.parent().unwrap_or(home) } else { home };
    let real = |path: &Path| path.canonicalize().ok();
    let release = fs::read_to_string(home.join("release")).unwrap_or_default();
    let said = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="));
    let version = match said {
        Some(version) if real(home) != real(&build.home) => version.trim_matches('"').to_owned(),
        _ => build.version.clone(),
    };
    Jdk { home: home.to_owned(), version }
}

/// Nested classes come with their outer one, whichever of their files is found first.
fn outer_first(classes: Vec<String>) -> Vec<String> {
    let (nested, outer): (Vec<String>, Vec<String>) =
        classes.into_iter().partition(|class| class.contains('$'));
    let mut inside: BTreeMap<String, Vec<String>> =
        outer.iter().map(|class| (class.clone(), Vec::new())).collect();
    let mut rest = Vec::new();
    for class in nested {
        match class.split('$').next().and_then(|outer| inside.get_mut(outer)) {
            Some(siblings) => siblings.push(class),
            None => rest.push(class),
        }
    }
    let mut sorted = Vec::new();
    for class in outer {
        let nested = inside.remove(&class).unwrap_or_default();
        sorted.push(class);
        sorted.extend(nested);
    }
    sorted.extend(rest);
    sorted
}

/// Classes that the build's own filter lets through.
fn filtered(
    mut classes: Vec<String>,
    patterns: &[String],
    excluded: &[String],
    notes: &mut Vec<String>,
) -> Vec<String> {
    let is_in_part = |class: &String, all: &[String]| {
        all.iter().any(|it| it.rsplit_once('.').is_some_and(|(of, _)| selects(of, class)))
    };
    let is_whole = |class: &String, all: &[String]| all.iter().any(|it| selects(it, class));
    let mut is_split = false;
    classes.retain(|class| {
        let is_in = patterns.is_empty() || is_whole(class, patterns);
        let is_partly_in = !is_in && is_in_part(class, patterns);
        is_split |= is_partly_in || is_in_part(class, excluded);
        (is_in || is_partly_in) && !is_whole(class, excluded)
    });
    if is_split {
        notes
            .push("a filter for single tests is not heeded: all of their class are run".to_owned());
    }
    classes
}

/// Whether a pattern of Gradle's stands for a class: by its simple name if it begins like one.
fn selects(pattern: &str, class: &str) -> bool {
    let is_simple = pattern.starts_with(char::is_uppercase);
    let name = if is_simple { class.rsplit('.').next().unwrap_or(class) } else { class };
    matches(pattern, name)
}

/// `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| matches(rest, &text[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_classes_follow_their_outer_one() {
        let classes = ["p.A$In", "p.B", "p.A", "p.C$S"].map(str::to_owned).to_vec();
        assert_eq!(outer_first(classes), ["p.B", "p.A", "p.A$In", "p.C$S"]);
    }

    #[test]
    fn the_filter_of_the_build_is_heeded_for_classes() {
        let kept = |patterns: &[&str], excluded: &[&str]| {
            let own = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
            let mut notes = Vec::new();
            let classes = own(&["p.ATest", "p.BTest", "p.CIT"]);
            let kept = filtered(classes, &own(patterns), &own(excluded), &mut notes);
            (kept.join(" "), notes.len())
        };
        assert_eq!(kept(&[], &[]), ("p.ATest p.BTest p.CIT".to_owned(), 0));
        assert_eq!(kept(&["*Test"], &["BTest"]), ("p.ATest".to_owned(), 0));
        assert_eq!(kept(&["p.BTest.x", "p.C*"], &[]), ("p.BTest p.CIT".to_owned(), 1));
        assert_eq!(kept(&["q.*"], &[]), (String::new(), 0));
    }
}
