//! Messages on a stream: a length in four bytes (big endian), then that many bytes of JSON.
//!
//! The other end may be a process whose tests have scribbled over our socket, so a reader trusts
//! nothing: lengths have a limit, memory grows with what has arrived and not with what was
//! promised, and an error quotes the bytes that are not understood.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{FromAgent, ToAgent};

/// The longest first message; a peer that has not shown its token gets no more memory than this.
pub const HELLO_BYTES_MAX: u32 = 64 << 10;
/// The longest message of a run: four texts of 64 KiB, six bytes a character, and some reserve.
pub const RUN_BYTES_MAX: u32 = 4 << 20;
/// The longest message of a server: a suite of a million tests.
pub const SERVER_BYTES_MAX: u32 = 512 << 20;

/// How many bytes of a malformed message are quoted.
const QUOTE_BYTES_MAX: usize = 120;

/// Why no message can be read from a stream.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream ended inside a message.
    #[error("the stream ended after {got} of {expected} bytes of a message")]
    Cut {
        /// How many bytes arrived.
        got: u64,
        /// How many bytes were announced.
        expected: u64,
    },
    /// The length is out of bounds.
    #[error("a message of {length} bytes is longer than the {limit} allowed here")]
    TooLong {
        /// The length that was announced.
        length: u32,
        /// The limit.
        limit: u32,
    },
    /// The bytes are not a message, or a known message lacks something required.
    #[error("`{quote}` is not a message of this protocol")]
    Malformed {
        /// The first bytes.
        quote: String,
        /// What is wrong with them.
        #[source]
        source: serde_json::Error,
    },
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A type whose values travel in frames.
pub trait Message: Serialize + DeserializeOwned {
    /// The names of all messages in this direction.
    const NAMES: &'static [&'static str];
}

impl Message for FromAgent {
    const NAMES: &'static [&'static str] = &[
        "hello",
        "collected",
        "failed",
        "alive",
        "forked",
        "exited",
        "isolated",
        "start",
        "end",
        "done",
    ];
}

impl Message for ToAgent {
    const NAMES: &'static [&'static str] = &["run", "stop"];
}

/// The next message that we know, or `None` if the stream ends between messages.
pub fn read<M: Message>(stream: &mut impl Read, limit: u32) -> Result<Option<M>, FrameError> {
    loop {
        let Some(bytes) = read_bytes(stream, limit)? else { return Ok(None) };
        if let Some(message) = decode(&bytes)? {
            return Ok(Some(message));
        }
    }
}

/// Writes one message with a single call.
pub fn write<M: Message>(stream: &mut impl Write, message: &M) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a message above 4 GiB"))?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    stream.write_all(&bytes)?;
    stream.flush()
}

fn read_bytes(stream: &mut impl Read, limit: u32) -> Result<Option<Vec<u8>>, FrameError> {
    let head = read_up_to(stream, 4)?;
    let length = match <[u8; 4]>::try_from(head.as_slice()) {
        Ok(bytes) => u32::from_be_bytes(bytes),
        Err(_) if head.is_empty() => return Ok(None),
        Err(_) => return Err(FrameError::Cut { got: head.len() as u64, expected: 4 }),
    };
    if limit < length {
        return Err(FrameError::TooLong { length, limit });
    }
    let bytes = read_up_to(stream, u64::from(length))?;
    if (bytes.len() as u64) < u64::from(length) {
        return Err(FrameError::Cut { got: bytes.len() as u64, expected: length.into() });
    }
    Ok(Some(bytes))
}

fn read_up_to(stream: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The message, or `None` if it is well formed but has an unknown name.
fn decode<M: Message>(bytes: &[u8]) -> Result<Option<M>, FrameError> {
    serde_json::from_slice(bytes).map(Some).or_else(|source| {
        // This comes last, because most messages are known, and reading the name first costs time.
        let names = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(bytes);
        let is_news = names.is_ok_and(|names| {
            names.len() == 1 && names.keys().all(|name| !M::NAMES.contains(&name.as_str()))
        });
        if is_news { Ok(None) } else { Err(FrameError::Malformed { quote: quote(bytes), source }) }
    })
}

fn quote(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(QUOTE_BYTES_MAX)].escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Collected, CollectedTest, CollectionError, End, Ended, Hello, Level, Phase, Refused, Role,
        Run,
    };
    use proptest::prelude::*;

    fn framed(json: &str) -> Vec<u8> {
        let mut bytes = u32::try_from(json.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(json.as_bytes());
        bytes
    }

    fn read_all<M: Message>(bytes: &[u8], limit: u32) -> Result<Vec<M>, FrameError> {
        let mut stream = bytes;
        let mut all = Vec::new();
        while let Some(message) = read(&mut stream, limit)? {
            all.push(message);
        }
        Ok(all)
    }

    fn level() -> impl Strategy<Value = Level> {
        proptest::sample::select(vec![Level::Pid, Level::Tree, Level::Home, Level::Net])
    }

    fn hello() -> impl Strategy<Value = FromAgent> {
        let role = proptest::sample::select(vec![Role::Server, Role::Run]);
        (any::<u32>(), role, any::<Option<u64>>(), any::<String>(), any::<Option<String>>())
            .prop_map(|(version, role, run, token, runtime)| {
                let pid = version ^ 1;
                let runner = runtime.clone();
                FromAgent::Hello(Hello { version, role, run, token, pid, runtime, runner })
            })
    }

    fn collected() -> impl Strategy<Value = FromAgent> {
        let tests = proptest::collection::vec(any::<(String, String, String, bool)>(), 0..5);
        let errors = proptest::collection::vec(any::<(String, String)>(), 0..3);
        let texts = any::<(Option<String>, String, String, Vec<String>)>();
        (tests, errors, texts).prop_map(|(tests, errors, (fork, rootdir, runner, plugins))| {
            let test = |(id, class, file, once)| CollectedTest { id, class, file, once };
            let error = |(place, text)| CollectionError { place, text };
            FromAgent::Collected(Collected {
                tests: tests.into_iter().map(test).collect(),
                errors: errors.into_iter().map(error).collect(),
                fork,
                rootdir,
                runner,
                plugins,
            })
        })
    }

    fn end() -> impl Strategy<Value = FromAgent> {
        let outcome = proptest::sample::select(vec![
            Ended::Passed,
            Ended::Failed,
            Ended::Error,
            Ended::Skipped,
        ]);
        let phase = proptest::sample::select(vec![Phase::Setup, Phase::Call, Phase::Teardown]);
        let texts = any::<[Option<String>; 4]>();
        // Multiples of 1/1024 are exact in decimals; others may lose their last bit on the way.
        let seconds = any::<u16>().prop_map(|n| f64::from(n) / 1024.0);
        (any::<(u16, bool)>(), outcome, phase, seconds, texts).prop_map(
            |((position, attempt), outcome, phase, seconds, [message, text, stdout, stderr])| {
                FromAgent::End(End {
                    position: position.into(),
                    attempt: attempt.into(),
                    outcome,
                    phase,
                    seconds,
                    message,
                    text,
                    stdout,
                    stderr,
                    changes: Vec::new(),
                    more: 0,
                })
            },
        )
    }

    fn from_agent() -> impl Strategy<Value = FromAgent> {
        let refused = (level(), any::<String>()).prop_map(|(level, why)| Refused { level, why });
        let levels = proptest::collection::vec(level(), 0..4);
        let isolated = (levels, proptest::collection::vec(refused, 0..4))
            .prop_map(|(applied, refused)| FromAgent::Isolated { applied, refused });
        prop_oneof![
            hello(),
            collected(),
            end(),
            isolated,
            any::<(String, String)>().prop_map(|(what, text)| FromAgent::Failed { what, text }),
            any::<(u64, u32)>().prop_map(|(run, pid)| FromAgent::Forked { run, pid }),
            any::<(u64, Option<i32>, Option<i32>, Option<String>)>().prop_map(
                |(run, code, signal, stderr)| FromAgent::Exited { run, code, signal, stderr }
            ),
            any::<(u16, bool)>().prop_map(|(position, attempt)| FromAgent::Start {
                position: position.into(),
                attempt: attempt.into(),
            }),
            Just(FromAgent::Alive {}),
            Just(FromAgent::Done { in_part: false, chosen: None }),
        ]
    }

    fn to_agent() -> impl Strategy<Value = ToAgent> {
        let order = proptest::collection::vec(0..1_000_000_usize, 0..20);
        let levels = proptest::collection::vec(level(), 0..4);
        let run = (any::<u64>(), order, any::<[bool; 3]>(), levels, any::<String>()).prop_map(
            |(run, order, [twice, in_place, is_ahead], isolation, scratch)| {
                ToAgent::Run(Run {
                    run,
                    order,
                    twice,
                    isolation,
                    scratch,
                    in_place,
                    is_ahead,
                    brief: Vec::new(),
                    watch: None,
                    restore: None,
                    perturb: None,
                    choices: None,
                    trace: false,
                    count: false,
                })
            },
        );
        prop_oneof![run, Just(ToAgent::Stop {})]
    }

    fn config() -> ProptestConfig {
        ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn what_is_written_is_what_is_read(
            from in proptest::collection::vec(from_agent(), 0..4),
            to in proptest::collection::vec(to_agent(), 0..4),
        ) {
            let mut bytes = Vec::new();
            for message in &from {
                write(&mut bytes, message).unwrap();
            }
            prop_assert_eq!(read_all::<FromAgent>(&bytes, SERVER_BYTES_MAX).unwrap(), from);
            bytes.clear();
            for message in &to {
                write(&mut bytes, message).unwrap();
            }
            prop_assert_eq!(read_all::<ToAgent>(&bytes, SERVER_BYTES_MAX).unwrap(), to);
        }

        #[test]
        fn every_message_starts_with_a_name_on_the_list(from in from_agent(), to in to_agent()) {
            let name = |json: serde_json::Value| json.as_object().unwrap().keys().next().cloned();
            let from = name(serde_json::to_value(from).unwrap()).unwrap();
            prop_assert!(FromAgent::NAMES.contains(&from.as_str()));
            let to = name(serde_json::to_value(to).unwrap()).unwrap();
            prop_assert!(ToAgent::NAMES.contains(&to.as_str()));
        }

        #[test]
        fn a_message_cut_anywhere_says_so(message in from_agent(), at in 1..200_usize) {
            let mut bytes = Vec::new();
            write(&mut bytes, &message).unwrap();
            bytes.truncate(at.min(bytes.len() - 1));
            let error = read_all::<FromAgent>(&bytes, SERVER_BYTES_MAX).unwrap_err();
            prop_assert!(matches!(error, FrameError::Cut { .. }), "{}", error);
        }

        #[test]
        fn noise_never_takes_more_than_it_brings(noise in any::<Vec<u8>>()) {
            // Any result will do, as long as it does not panic.
            let _ = read_all::<FromAgent>(&noise, SERVER_BYTES_MAX);
        }
    }

    #[test]
    fn the_examples_of_the_contract_are_read_as_they_stand_there() {
        let bytes =
            framed(r#"{"hello": {"version": 1, "role": "run", "run": 7, "token": "t", "pid": 4}}"#);
        let hello = Hello {
            version: 1,
            role: Role::Run,
            run: Some(7),
            token: "t".to_owned(),
            pid: 4,
            runtime: None,
            runner: None,
        };
        assert_eq!(read_all::<FromAgent>(&bytes, 100).unwrap(), [FromAgent::Hello(hello)]);
        let bytes = framed(r#"{"exited": {"run": 7, "code": null, "signal": 11}}"#);
        let exited = FromAgent::Exited { run: 7, code: None, signal: Some(11), stderr: None };
        assert_eq!(read_all::<FromAgent>(&bytes, 100).unwrap(), [exited]);
    }

    #[test]
    fn news_is_passed_over_and_a_missing_key_is_an_error() {
        let mut bytes = framed(r#"{"weather": {"rain": true}}"#);
        bytes.extend(framed(r#"{"done": {"lines": 3}}"#));
        assert_eq!(
            read_all::<FromAgent>(&bytes, 100).unwrap(),
            [FromAgent::Done { in_part: false, chosen: None }]
        );
        let error = read_all::<FromAgent>(&framed(r#"{"forked": {"run": 1}}"#), 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"`{\"forked\": {\"run\": 1}}` is not a message of this protocol"#
        );
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("missing field `pid`"), "{source}");
        for wrong in ["[]", "{}", r#"{"done": {}, "end": {}}"#, "nonsense", "\u{0}"] {
            assert!(read_all::<FromAgent>(&framed(wrong), 100).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_length_out_of_bounds_is_refused_before_a_byte_is_kept() {
        let error = read_all::<FromAgent>(b"HTTP/1.1 200 OK", HELLO_BYTES_MAX).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a message of 1213486160 bytes is longer than the 65536 allowed here"
        );
    }
}
