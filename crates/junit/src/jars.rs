//! Which jars of others may be needed?

/// A jar, as repositories know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Jar {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Jar {
    /// The name of its file.
    pub(crate) fn file(&self) -> String {
        format!("{}-{}.jar", self.name, self.version)
    }

    pub(crate) fn coordinates(&self) -> String {
        format!("{}:{}:{}", self.group, self.name, self.version)
    }
}

/// Changes classes so that they say what they call. Knows Java up to 26.
pub(crate) const ASM: Jar = Jar { group: "org.ow2.asm", name: "asm", version: "9.9" };

const NONDEX: &str = "edu.illinois";
pub(crate) const NONDEX_VERSION: &str = "2.2.1";
/// What makes NonDex's classes.
pub(crate) const NONDEX_MAKER: Jar =
    Jar { group: NONDEX, name: "nondex-instrumentation", version: NONDEX_VERSION };
/// What these call.
pub(crate) const NONDEX_COMMON: Jar =
    Jar { group: NONDEX, name: "nondex-common", version: NONDEX_VERSION };
pub(crate) const NONDEX_JARS: [Jar; 2] = [NONDEX_MAKER, NONDEX_COMMON];

/// All that may be needed, as Gradle names them.
pub(crate) fn all() -> Vec<String> {
    let jars = NONDEX_JARS.iter().chain([&ASM]);
    jars.map(|jar| format!("{}@jar", jar.coordinates())).collect()
}
