//! Loopback, up: a network namespace of its own begins with it down.
//!
//! Asked of the kernel by a message on a netlink socket (`rtnetlink(7)`), which needs nothing but
//! bytes: "link 1 is up". The loopback device is the first of every network namespace.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const NEW_LINK: u16 = 16;
const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
const LOOPBACK: i32 = 1;
const UP: u32 = 1;
/// The message is a header and a description of the device, without attributes.
const LENGTH: u32 = 32;
/// The kind of an answer; its first number is 0, or the negative of what went wrong.
const ERROR: u16 = 2;

/// Brings it up in the network namespace of this process.
pub(super) fn bring_up() -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    // No protocol is the first one, which is about devices and routes.
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &request(), SendFlags::empty(), &kernel)?;
    let mut answer = [0; 256];
    let (n_read, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    check(&answer[..n_read])
}

fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LENGTH as usize);
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(NEW_LINK.to_ne_bytes());
    bytes.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // Number of the message, and who sends it.
    bytes.extend([0; 8]);
    // Of any family, of any type.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    // What its flags are to be, and which of them are meant.
    bytes.extend(UP.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes());
    bytes
}

fn check(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| Some(u16::from_ne_bytes(bytes.try_into().ok()?)));
    let number =
        answer.get(16..20).and_then(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)));
    match (kind, number) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(number)) => Err(io::Error::from_raw_os_error(-number)),
        _ => Err(io::Error::other("the kernel gave an answer that is none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_as_long_as_it_says() {
        assert_eq!(request().len(), LENGTH as usize);
    }

    #[test]
    fn answers_are_success_or_the_reason() {
        let answer = |number: i32| {
            let mut bytes = vec![0; 20];
            bytes[4..6].copy_from_slice(&ERROR.to_ne_bytes());
            bytes[16..20].copy_from_slice(&number.to_ne_bytes());
            bytes
        };
        assert!(check(&answer(0)).is_ok());
        let refused = check(&answer(-1)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(check(&[0; 4]).is_err());
    }
}
