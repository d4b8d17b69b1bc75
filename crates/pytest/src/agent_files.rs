//! The agent, carried in the binary.

use unflake_engine::AgentFiles;
use unflake_tracer::LIBRARY;

/// Embeds the named files of the agent's folder.
macro_rules! embed {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_str!(concat!("../../../agents/python/unflake_agent/", $name)),
        )),*]
    };
}

const FILES: &[(&str, &str)] = embed![
    "__init__.py",
    "__main__.py",
    "child.py",
    "forkable.py",
    "guard.py",
    "isolate.py",
    "linux.py",
    "mend/__init__.py",
    "mend/patches.py",
    "mend/places.py",
    "mend/source.py",
    "neighbours.py",
    "passing.py",
    "perturb/__init__.py",
    "perturb/choices.py",
    "perturb/clocks.py",
    "perturb/company.py",
    "perturb/delays.py",
    "perturb/draw.py",
    "perturb/limits.py",
    "perturb/places.py",
    "quick.py",
    "ring.py",
    "separate.py",
    "serve.py",
    "shelter.py",
    "spare.py",
    "start.py",
    "trace/__init__.py",
    "trace/draws.py",
    "trace/functions.py",
    "trace/hook.py",
    "trace/marks.py",
    "trace/monitor.py",
    "trace/names.py",
    "trace/native.py",
    "trace/profile.py",
    "watch/__init__.py",
    "watch/change.py",
    "watch/code.py",
    "watch/containers.py",
    "watch/files.py",
    "watch/functions.py",
    "watch/heap.py",
    "watch/interpreter.py",
    "watch/logs.py",
    "watch/nodes.py",
    "watch/process.py",
    "watch/quick.py",
    "watch/shapes.py",
    "watch/simple.py",
    "watch/stamps.py",
    "watch/tables.py",
    "wire.py",
    "with_pytest.py",
    "with_unittest.py",
];

/// The agent, as files to be written where the interpreter finds them.
pub(crate) fn agent_files() -> AgentFiles {
    let files = FILES.iter().map(|(name, text)| ((*name).into(), text.as_bytes().to_vec()));
    let tracer = (!LIBRARY.is_empty()).then(|| ("trace/tracer.so".into(), LIBRARY.to_vec()));
    AgentFiles { files: files.chain(tracer).collect(), entry: "__main__.py".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_agent_is_carried() {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents/python/unflake_agent");
        let mut there: Vec<String> = ["", "mend/", "perturb/", "trace/", "watch/"]
            .iter()
            .flat_map(|inner| {
                let entries = std::fs::read_dir(folder.join(inner)).unwrap();
                entries.map(move |entry| {
                    format!("{inner}{}", entry.unwrap().file_name().into_string().unwrap())
                })
            })
            .filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "py"))
            .collect();
        there.sort();
        let carried: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(carried, there);
    }
}
