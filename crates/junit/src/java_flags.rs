//! Which flags does Java get from us?
//!
//! Those that make a short run cheap and keep what a crash leaves out of the project, where they do
//! not clash with what the build says: that goes first. `docs/design/java.md` has what each gains.

/// Flags of ours that are not known to every Java, and since when they are.
const NEWER_FLAGS: [(&str, u32); 3] =
    [("-XX:-CreateCoredumpOnCrash", 9), ("-XX:+ErrorFileToStderr", 11), (LATER, 9)];
/// Most methods of a short run are not called often enough to be worth compiling after 200 calls.
const LATER: &str = "-XX:CompileThresholdScaling=2";

/// What the user's build gives Java, with what makes it start quickly where that does not clash.
/// Coverage is not measured: outcomes do not depend on it.
pub(crate) fn quick(mut flags: Vec<String>) -> Vec<String> {
    flags.retain(|flag| !(flag.starts_with("-javaagent:") && flag.contains("jacoco")));
    // What a crash leaves goes to us, not into the project.
    let always = ["-XX:-UsePerfData", "-XX:+ErrorFileToStderr", "-XX:-CreateCoredumpOnCrash"];
    let mut ours: Vec<String> = always.map(str::to_owned).into();
    let has = |part: &str| flags.iter().any(|flag| flag.contains(part));
    if !has("Tiered") && !has("-Xint") && !has("-Xcomp") {
        ours.push("-XX:TieredStopAtLevel=1".to_owned());
        if !has("CompileThreshold") {
            ours.push(LATER.to_owned());
        }
    }
    if !(has("-XX:+Use") && has("GC")) {
        ours.push("-XX:+UseSerialGC".to_owned());
    }
    ours.into_iter().chain(flags).collect()
}

/// Whether a Java has this flag, as far as it is one of ours.
pub(crate) fn is_known(flag: &str, feature: u32) -> bool {
    !NEWER_FLAGS.iter().any(|(new, since)| flag == *new && feature < *since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_for_speed_stand_back_behind_those_of_the_build() {
        let flags = |flags: &[&str]| quick(flags.iter().map(|f| (*f).to_owned()).collect());
        assert!(flags(&[]).contains(&"-XX:+UseSerialGC".to_owned()));
        let theirs =
            flags(&["-XX:+UseG1GC", "-XX:-TieredCompilation", "-javaagent:/x/jacoco.jar=y"]);
        assert_eq!(theirs[3..], ["-XX:+UseG1GC", "-XX:-TieredCompilation"]);
    }

    #[test]
    fn flags_that_are_too_new_are_left_out_and_those_of_the_build_never() {
        assert_eq!([8, 9, 17].map(|feature| is_known(LATER, feature)), [false, true, true]);
        assert!(is_known("-XX:+Whatever", 8));
    }
}
