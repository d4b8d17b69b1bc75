//! Which functions are characteristic, and of what?
//!
//! A pattern is the name of a function, with `*` for any text: `Random.*` is every method of every
//! class of that name, `_io:open` one function of one module. A pattern without a module is holds
//! for all modules, and must match the whole name: `open` does not match `Door.open`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use unflake_model::RootCause;

use crate::function::Function;

/// A pattern for the names of one function or of many.
///
/// Invariant: not empty, and free of control characters, so that it can be written to a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern(Box<str>);

/// The text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no pattern of functions; give NAME or MODULE:NAME, with * for any text")]
pub struct InvalidPattern(String);

impl Pattern {
    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches this function.
    pub fn fits(&self, function: &Function) -> bool {
        match self.0.split_once(':') {
            Some((module, name)) => like(module, function.module()) && like(name, function.name()),
            None => like(&self.0, function.name()),
        }
    }
}

/// Whether a text matches the pattern, in which `*` is any text.
fn like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        // The earliest match is as good as any later one: it leaves most room for the rest.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let is_bad = text.is_empty() || text.contains(char::is_control);
        if is_bad || text.starts_with(':') || text.ends_with(':') {
            return Err(InvalidPattern(text.to_owned()));
        }
        Ok(Self(text.into()))
    }
}

impl From<&Function> for Pattern {
    fn from(function: &Function) -> Self {
        Self(function.to_string().into())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// For Python: the functions of the published set, the names that later versions of Python have for
/// the same things (`start_joinable_thread`), without its trouble with class methods (`type.now`),
/// and everything else that asks a clock, a generator, the network, the file system or the
/// scheduler. `posix` is what `os` is made of. Whether `strftime`, `localtime` and the like were
/// given a time cannot be seen, so they count only where they always ask the clock.
const PYTHON: &[(&str, RootCause)] = &[
    ("Condition.wait", RootCause::AsyncWait),
    ("time:sleep", RootCause::AsyncWait),
    ("threading:Thread.join", RootCause::AsyncWait),
    ("concurrent.futures*:*wait", RootCause::AsyncWait),
    ("concurrent.futures*:as_completed", RootCause::AsyncWait),
    ("select:*", RootCause::AsyncWait),
    ("asyncio.*:sleep", RootCause::AsyncWait),
    ("asyncio.*:wait_for", RootCause::AsyncWait),
    ("asyncio.*:timeout*", RootCause::AsyncWait),
    ("asyncio.*:wait", RootCause::AsyncWait),
    ("posix:wait*", RootCause::AsyncWait),
    ("asyncio.runners:run", RootCause::Concurrency),
    ("asyncio.runners:Runner.run", RootCause::Concurrency),
    ("asyncio.*:gather", RootCause::Concurrency),
    ("asyncio.*:create_task", RootCause::Concurrency),
    ("asyncio.*:BaseEventLoop.run_until_complete", RootCause::Concurrency),
    ("start_new_thread", RootCause::Concurrency),
    ("start_joinable_thread", RootCause::Concurrency),
    ("threading:Thread.start", RootCause::Concurrency),
    ("concurrent.futures*:*Executor.submit", RootCause::Concurrency),
    ("multiprocessing.*:BaseProcess.start", RootCause::Concurrency),
    ("posix:fork*", RootCause::Concurrency),
    ("_posixsubprocess:fork_exec", RootCause::Concurrency),
    ("subprocess:Popen.__init__", RootCause::Concurrency),
    ("posix:posix_spawn*", RootCause::Concurrency),
    ("posix:system", RootCause::Concurrency),
    ("Random.*", RootCause::Randomness),
    ("RandomState.*", RootCause::Randomness),
    ("numpy.random*:*", RootCause::Randomness),
    ("random:*", RootCause::Randomness),
    ("secrets:*", RootCause::Randomness),
    ("posix:urandom", RootCause::Randomness),
    ("posix:getrandom", RootCause::Randomness),
    ("_uuid:generate_*", RootCause::Randomness),
    ("uuid:uuid1", RootCause::Randomness),
    ("uuid:uuid4", RootCause::Randomness),
    ("uuid:uuid6", RootCause::Randomness),
    ("uuid:uuid7", RootCause::Randomness),
    ("socket.__init__", RootCause::Network),
    ("create_connection", RootCause::Network),
    ("socket.connect*", RootCause::Network),
    ("_socket:get*", RootCause::Network),
    ("urllib.request:urlopen", RootCause::Network),
    ("datetime.now", RootCause::Time),
    ("datetime.utcnow", RootCause::Time),
    ("datetime:date.today", RootCause::Time),
    ("time:time", RootCause::Time),
    ("time:time_ns", RootCause::Time),
    ("time:monotonic*", RootCause::Time),
    ("time:perf_counter*", RootCause::Time),
    ("time:process_time*", RootCause::Time),
    ("time:thread_time*", RootCause::Time),
    ("time:clock_gettime*", RootCause::Time),
    ("time:localtime", RootCause::Time),
    ("time:gmtime", RootCause::Time),
    ("time:ctime", RootCause::Time),
    ("time:asctime", RootCause::Time),
    ("time:strftime", RootCause::Time),
    ("open", RootCause::Io),
    ("posix:listdir", RootCause::UnorderedCollection),
    ("posix:scandir", RootCause::UnorderedCollection),
    ("tempfile:mk*", RootCause::Io),
    ("tempfile:*Temporary*", RootCause::Io),
];

/// For Java: the same things. The order of hash maps is not included: it is the same in every run
/// of the same Java, and tests that rely on it are found in other ways (`id`).
const JAVA: &[(&str, RootCause)] = &[
    ("java.lang:Thread.sleep(*", RootCause::AsyncWait),
    ("java.lang:Thread.join(*", RootCause::AsyncWait),
    ("java.lang:Object.wait(*", RootCause::AsyncWait),
    ("java.lang:Process.waitFor(*", RootCause::AsyncWait),
    ("java.util.concurrent*:*.await*", RootCause::AsyncWait),
    ("java.util.concurrent*:*.sleep(long)", RootCause::AsyncWait),
    ("java.util.concurrent*:*long,TimeUnit)", RootCause::AsyncWait),
    ("java.util.concurrent:*Future*.get()", RootCause::AsyncWait),
    ("java.util.concurrent:*Future*.join()", RootCause::AsyncWait),
    ("java.util.concurrent:*Queue.take()", RootCause::AsyncWait),
    ("java.util.concurrent.locks:LockSupport.park*", RootCause::AsyncWait),
    ("org.awaitility*:*.until*", RootCause::AsyncWait),
    ("java.lang:Thread.start()", RootCause::Concurrency),
    ("java.util.concurrent:*.execute(Runnable)", RootCause::Concurrency),
    ("java.util.concurrent:*.submit(*", RootCause::Concurrency),
    ("java.util.concurrent:*.invokeA*", RootCause::Concurrency),
    ("java.util.concurrent:*.schedule*", RootCause::Concurrency),
    ("java.util.concurrent:CompletableFuture.*Async(*", RootCause::Concurrency),
    ("java.util:Timer.schedule*", RootCause::Concurrency),
    ("java.util*:*.parallel()", RootCause::Concurrency),
    ("java.util:*.parallelStream()", RootCause::Concurrency),
    ("java.util:Random.*", RootCause::Randomness),
    ("java.util*:*Random*.next*", RootCause::Randomness),
    ("java.util:SplittableRandom.*", RootCause::Randomness),
    ("java.util:UUID.randomUUID()", RootCause::Randomness),
    ("java.util:Collections.shuffle(List)", RootCause::Randomness),
    ("java.lang:*Math.random()", RootCause::Randomness),
    ("java.security:SecureRandom.*", RootCause::Randomness),
    ("java.net:*Socket.<init>(*", RootCause::Network),
    ("java.net:*Socket.connect(*", RootCause::Network),
    ("java.net:InetAddress.get*By*", RootCause::Network),
    ("java.net:URL.open*", RootCause::Network),
    ("java.net:*URLConnection.*", RootCause::Network),
    ("java.net.http:HttpClient.send*", RootCause::Network),
    ("java.nio.channels:*SocketChannel.*", RootCause::Network),
    ("com.sun.net.httpserver:HttpServer.*", RootCause::Network),
    ("java.lang:System.currentTimeMillis()", RootCause::Time),
    ("java.lang:System.nanoTime()", RootCause::Time),
    ("java.time*:*.now(*", RootCause::Time),
    ("java.time:Clock.*", RootCause::Time),
    ("java.util:Date.<init>()", RootCause::Time),
    ("java.util:Calendar.getInstance(*", RootCause::Time),
    ("java.util:GregorianCalendar.<init>()", RootCause::Time),
    ("java.io:File*Stream.<init>(*", RootCause::Io),
    ("java.io:FileReader.<init>(*", RootCause::Io),
    ("java.io:FileWriter.<init>(*", RootCause::Io),
    ("java.io:RandomAccessFile.<init>(*", RootCause::Io),
    ("java.io:File.createTempFile(*", RootCause::Io),
    ("java.io:File.list*", RootCause::Io),
    ("java.nio.channels:FileChannel.open(*", RootCause::Io),
    ("java.nio.file:Files.*", RootCause::Io),
    ("java.lang:ProcessBuilder.start()", RootCause::Io),
    ("java.lang:Runtime.exec(*", RootCause::Io),
];

/// A characteristic function that a test calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exposure<'a> {
    /// The root cause it suggests, if known.
    pub cause: Option<RootCause>,
    /// The characteristic function.
    pub function: &'a Function,
}

/// A set of characteristic functions, given by patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    patterns: Vec<(Pattern, Option<RootCause>)>,
}

impl Set {
    /// A set of these patterns; where two match a function, the first decides the cause.
    pub fn new(patterns: Vec<(Pattern, Option<RootCause>)>) -> Self {
        Self { patterns }
    }

    /// The built-in set, made by hand.
    ///
    /// It serves all languages: no name of one is a name of another, since those of Java include
    /// their parameters.
    pub fn known() -> Self {
        let known = PYTHON.iter().chain(JAVA);
        let patterns = known.map(|(text, cause)| (Pattern((*text).into()), Some(*cause)));
        Self::new(patterns.collect())
    }

    /// The patterns, each with the root cause it suggests.
    pub fn patterns(&self) -> &[(Pattern, Option<RootCause>)] {
        &self.patterns
    }

    /// The root cause of a characteristic function, `Some(None)` if unknown; `None` for any other.
    pub fn cause_of(&self, function: &Function) -> Option<Option<RootCause>> {
        self.patterns.iter().find(|(pattern, _)| pattern.fits(function)).map(|(_, cause)| *cause)
    }

    /// Whether a test that calls these functions is exposed.
    pub fn exposes<'a>(&self, mut functions: impl Iterator<Item = &'a Function>) -> bool {
        functions.any(|function| self.cause_of(function).is_some())
    }

    /// Those of the functions that are characteristic.
    pub fn exposures<'a>(
        &self,
        functions: impl Iterator<Item = &'a Function>,
    ) -> BTreeSet<Exposure<'a>> {
        functions
            .filter_map(|function| Some(Exposure { cause: self.cause_of(function)?, function }))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(text: &str) -> Function {
        text.parse().unwrap()
    }

    fn fits(pattern: &str, text: &str) -> bool {
        pattern.parse::<Pattern>().unwrap().fits(&function(text))
    }

    #[test]
    fn a_pattern_fits_the_whole_name_in_any_module_or_in_one() {
        assert!(fits("Condition.wait", "threading:Condition.wait"));
        assert!(!fits("Condition.wait", "threading:Condition.wait_for"));
        assert!(!fits("open", "shop:Door.open"));
        assert!(fits("_io:open", "_io:open") && !fits("_io:open", "posix:open"));
    }

    #[test]
    fn a_star_is_any_text() {
        assert!(fits("Random.*", "_random:Random.random"));
        assert!(fits("*.wait", "threading:Condition.wait") && !fits("*.wait", "a:b.waits"));
        assert!(fits("numpy.*:*State.*", "numpy.random.mtrand:RandomState.rand"));
        assert!(fits("*", "a:b") && fits("a*a", "m:aa") && !fits("a*a", "m:a"));
        assert!(fits("*a*b*", "m:xaxbx") && !fits("*a*b*", "m:ba"));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in ["", ":open", "threading:", "a\nb"] {
            assert!(text.parse::<Pattern>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_test_is_exposed_by_one_characteristic_function() {
        let set = Set::known();
        let quiet = [function("builtins:len"), function("shop:Cart.add")];
        assert!(!set.exposes(quiet.iter()));
        let drawn = [function("builtins:len"), function("_random:Random.random")];
        assert!(set.exposes(drawn.iter()));
        let exposures = set.exposures(drawn.iter());
        let expected = Exposure { cause: Some(RootCause::Randomness), function: &drawn[1] };
        assert_eq!(exposures.into_iter().collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn what_java_calls_by_chance_is_known_and_what_it_computes_is_not() {
        let set = Set::known();
        let cause = |text: &str| set.cause_of(&function(text)).flatten();
        for (text, expected) in [
            ("java.util.concurrent:CountDownLatch.await(long,TimeUnit)", RootCause::AsyncWait),
            ("java.util.concurrent:Future.get(long,TimeUnit)", RootCause::AsyncWait),
            ("java.util.concurrent:ExecutorService.submit(Callable)", RootCause::Concurrency),
            ("java.util:Collection.parallelStream()", RootCause::Concurrency),
            ("java.util:Random.nextInt(int)", RootCause::Randomness),
            ("java.util.random:RandomGenerator.nextInt(int,int)", RootCause::Randomness),
            ("java.util.concurrent:ThreadLocalRandom.nextInt(int,int)", RootCause::Randomness),
            ("java.net:ServerSocket.<init>(int)", RootCause::Network),
            ("java.time:LocalDate.now()", RootCause::Time),
            ("java.util:Date.<init>()", RootCause::Time),
            ("java.nio.file:Files.readAllBytes(Path)", RootCause::Io),
        ] {
            assert_eq!(cause(text), Some(expected), "{text}");
        }
        for text in [
            "java.util:Date.<init>(long)",
            "java.util:HashMap.put(Object,Object)",
            "java.util.concurrent:ConcurrentHashMap.get(Object)",
            "java.time:LocalDate.of(int,int,int)",
            "java.util:UUID.fromString(String)",
            "shop:Gate.open()",
        ] {
            assert_eq!(set.cause_of(&function(text)), None, "{text}");
        }
    }
}
