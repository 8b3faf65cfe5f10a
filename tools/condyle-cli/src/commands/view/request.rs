//! The first lines of an HTTP request.

use std::io::Read;

/// Bytes of the longest accepted request.
const MAX_LENGTH: usize = 16 << 10;
/// Most header lines of a request.
const MAX_HEADERS: usize = 64;

/// A request for a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The path, without query and decoded.
    pub(super) path: String,
    /// Host and port that the client addressed.
    pub(super) host: String,
    /// Whether the file itself is not wanted.
    pub(super) is_head: bool,
}

/// A request that is refused, with the status of the answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rejected(pub(super) u16, pub(super) &'static str);

/// Reads a request up to its empty line. `Ok(None)` if the client sent nothing. An error has a flag for the
/// method HEAD, whose answers have no body.
pub(super) fn read(from: impl Read) -> Result<Option<Request>, (Rejected, bool)> {
    let mut bytes = Vec::new();
    read_into(&mut bytes, from).map_err(|rejected| (rejected, bytes.starts_with(b"HEAD ")))
}

fn read_into(bytes: &mut Vec<u8>, mut from: impl Read) -> Result<Option<Request>, Rejected> {
    let mut part = [0; 2048];
    loop {
        let count = from.read(&mut part).map_err(|_| Rejected(408, "the request did not end"))?;
        match (count, bytes.len()) {
            (0, 0) => return Ok(None),
            (0, _) => return Err(Rejected(400, "the request was cut off")),
            _ => bytes.extend_from_slice(&part[..count]),
        }
        if let Some(request) = parse(bytes)? {
            return Ok(Some(request));
        }
        if bytes.len() > MAX_LENGTH {
            return Err(Rejected(431, "the request is too long"));
        }
    }
}

/// Returns the request, or `None` before its empty line has arrived.
fn parse(bytes: &[u8]) -> Result<Option<Request>, Rejected> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Rejected(431, "the request has too many headers"));
        }
        Err(_) => return Err(Rejected(400, "this is not an HTTP request")),
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Rejected(405, "only GET and HEAD are answered")),
    };
    let path = request.path.unwrap_or_default().split(['?', '#']).next().unwrap_or_default();
    let path = percent_encoding::percent_decode_str(path).decode_utf8();
    let path = path.map_err(|_| Rejected(400, "the path is not UTF-8"))?.into_owned();
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => String::from_utf8_lossy(host.value).into_owned(),
        _ => return Err(Rejected(400, "a request names one host")),
    };
    Ok(Some(Request { path, host, is_head }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<Request>, Rejected> {
        read(text.as_bytes()).map_err(|(rejected, is_head)| {
            assert_eq!(is_head, text.starts_with("HEAD "));
            rejected
        })
    }

    #[test]
    fn whole_requests() {
        let want = Request { path: "/a b/é".into(), host: "localhost:1".into(), is_head: false };
        let found = of("GET /a%20b/%C3%A9?open=x HTTP/1.1\r\nHost: localhost:1\r\n\r\n");
        assert_eq!(found, Ok(Some(want)));
        let head = of("HEAD / HTTP/1.1\r\nhost: h\r\nAccept: */*\r\n\r\n");
        assert!(head.is_ok_and(|it| it.is_some_and(|it| it.is_head && it.host == "h")));
        assert_eq!(of(""), Ok(None));
    }

    #[test]
    fn refused_requests() {
        let status = |text: &str| of(text).expect_err(text).0;
        assert_eq!(status("GET / HTTP/1.1\r\nHost: h\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(status("GET /%FF HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
        assert_eq!(status("HEAD /%FF HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
        assert_eq!(status("\u{16}\u{3}\u{1}"), 400);
        assert_eq!(status("POST / HTTP/1.1\r\nHost: h\r\n\r\n"), 405);
        assert_eq!(status(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(40_000))), 431);
        let many: String = (0..100).map(|at| format!("H{at}: x\r\n")).collect();
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{many}\r\n")), 431);
    }
}
