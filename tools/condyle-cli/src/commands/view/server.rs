//! A server of a few files, for the browser of the same machine.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use super::page::{Site, media_type};
use super::request::{self, Rejected, Request};
use crate::failure::Failure;

/// Connections that are answered at the same time.
const MAX_CONNECTIONS: usize = 32;
/// Time in which a client must send a request, and take each part of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The page loads nothing from elsewhere. WebAssembly is compiled, but no script from text. three.js makes
/// its images and workers as `blob:`.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
    img-src 'self' blob: data:; connect-src 'self' blob: data:; worker-src 'self' blob:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers requests that know the token.
pub(super) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    /// 32 random digits, the first part of every path. Other programs of this machine, and pages of other
    /// origins, do not know them.
    token: String,
    site: Site,
    connections: AtomicUsize,
}

impl Server {
    pub(super) fn new(listener: TcpListener, site: Site) -> Result<Self, Failure> {
        let address = listener.local_addr().map_err(|error| Failure::Data(format!("no address: {error}")))?;
        let mut token = [0; 16];
        getrandom::fill(&mut token).map_err(|error| Failure::Data(format!("no random numbers: {error}")))?;
        let token = token.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { listener, address, token, site, connections: AtomicUsize::new(0) })
    }

    /// Returns the address of the page.
    pub(super) fn address(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Answers until the program ends.
    pub(super) fn serve(&self) {
        thread::scope(|scope| {
            for stream in self.listener.incoming().flatten() {
                if self.connections.fetch_add(1, Ordering::Relaxed) < MAX_CONNECTIONS {
                    scope.spawn(move || {
                        // The client may have gone away.
                        let _ = self.answer(stream);
                        self.connections.fetch_sub(1, Ordering::Relaxed);
                    });
                } else {
                    self.connections.fetch_sub(1, Ordering::Relaxed);
                    let _ = refuse(stream, &Rejected(503, "too many connections"), false);
                }
            }
        });
    }

    fn answer(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        match request::read(&stream) {
            Ok(None) => Ok(()),
            Ok(Some(request)) => self.send(stream, &request),
            Err((rejected, is_head)) => refuse(stream, &rejected, is_head),
        }
    }

    fn send(&self, mut stream: TcpStream, request: &Request) -> io::Result<()> {
        // Another name for this address would give pages of another origin access to the files.
        let port = self.address.port();
        if ![format!("127.0.0.1:{port}"), format!("localhost:{port}")].contains(&request.host) {
            let rejected = Rejected(403, "this server answers to 127.0.0.1 and localhost only");
            return refuse(stream, &rejected, request.is_head);
        }
        let mut parts = request.path.trim_start_matches('/').splitn(2, '/');
        let is_known = parts.next() == Some(&self.token);
        let path = parts.next().filter(|_| is_known).and_then(|name| self.site.file(name));
        let Some((path, Ok(file))) = path.map(|path| (path, File::open(path))) else {
            return refuse(stream, &Rejected(404, "nothing is here"), request.is_head);
        };
        let about = file.metadata()?;
        let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nETag: \"{:x}-{:x}\"\r\n{}",
            media_type(path),
            about.len(),
            about.len(),
            changed.unwrap_or_default().as_nanos(),
            common_headers(),
        );
        stream.write_all(head.as_bytes())?;
        if !request.is_head {
            // The file may have grown since.
            io::copy(&mut file.take(about.len()), &mut stream)?;
        }
        Ok(())
    }
}

/// Answers with a line of text, or only with its length if the method was HEAD.
fn refuse(mut stream: TcpStream, Rejected(status, what): &Rejected, is_head: bool) -> io::Result<()> {
    let length = what.len() + 1;
    let head = format!(
        "HTTP/1.1 {status} {what}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n{}",
        common_headers()
    );
    let body = if is_head { String::new() } else { format!("{what}\n") };
    stream.write_all((head + &body).as_bytes())
}

/// Returns the headers of every answer, and the empty line.
fn common_headers() -> String {
    format!(
        "Connection: close\r\nCache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\r\n"
    )
}
