//! Where in the code does a choice come from?
//!
//! A stack, innermost first, begins within NonDex and Java's own classes. What of Java was asked is
//! the outermost of these; who asked is the frame behind it. That may be a library; the line of the
//! test that led there is told besides.

use unflake_adapter::Site;

/// Packages of Java and of what makes the choices.
const JAVA: [&str; 6] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "edu.illinois.nondex."];

/// Where a choice comes from, by the stack of the process that ran a test: what of Java was asked
/// (`java.util.HashMap$KeySet.iterator`), and who asked (`com.acme.Receipt.text(Receipt.java:28)`).
/// `None` if nobody but Java is in it.
pub(crate) fn site(stack: &[String], test: &str) -> Option<Site> {
    let frames: Vec<&str> = stack.iter().map(|frame| without_module(frame)).collect();
    let is_java = |frame: &&str| JAVA.iter().any(|package| frame.starts_with(package));
    let at = frames.iter().position(|frame| !is_java(frame))?;
    let api = at.checked_sub(1).map_or("", |before| frames[before]);
    let class = test.split('#').next().unwrap_or(test);
    let is_of_test =
        |frame: &&&str| frame.strip_prefix(class).is_some_and(|rest| rest.starts_with(['.', '$']));
    let of_test = frames[at..].iter().find(is_of_test);
    Some(Site {
        api: api.split('(').next().unwrap_or(api).to_owned(),
        place: frames[at].to_owned(),
        test: of_test.filter(|frame| **frame != frames[at]).map(|frame| (*frame).to_owned()),
    })
}

/// A frame without the names of its loader and module: `app//`, `java.base/`, `java.base@17/`.
fn without_module(frame: &str) -> &str {
    let name = frame.split('(').next().unwrap_or(frame);
    name.rfind('/').map_or(frame, |slash| &frame[slash + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_java_is_named_and_the_line_of_the_test() {
        let stack = [
            "java.base/java.lang.Thread.getStackTrace(Thread.java:1610)",
            "java.base/edu.illinois.nondex.common.NonDex.getPermutation(NonDex.java:103)",
            "java.base/java.util.HashMap$HashIterator.<init>(HashMap.java:1605)",
            "java.base/java.util.HashMap$KeySet.iterator(HashMap.java:985)",
            "app//com.acme.Receipt.text(Receipt.java:28)",
            "com.acme.ReceiptTest$Inner.lists(ReceiptTest.java:12)",
            "java.base/java.lang.reflect.Method.invoke(Method.java:569)",
        ]
        .map(str::to_owned);
        let found = site(&stack, "com.acme.ReceiptTest#lists").unwrap();
        assert_eq!(found.api, "java.util.HashMap$KeySet.iterator");
        assert_eq!(found.place, "com.acme.Receipt.text(Receipt.java:28)");
        let line = "com.acme.ReceiptTest$Inner.lists(ReceiptTest.java:12)";
        assert_eq!(found.test.as_deref(), Some(line));
        let own = site(&stack[5..], "com.acme.ReceiptTest#lists").unwrap();
        assert_eq!((own.place.as_str(), own.test), (line, None));
        assert_eq!(site(&stack[..4], "com.acme.ReceiptTest#lists"), None);
    }
}
