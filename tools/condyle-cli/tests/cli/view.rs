//! `condyle view`: what the server answers, and to whom.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::common::{Folder, condyle, transcript};

/// A running server, ended when dropped.
struct Served {
    program: Child,
    /// Address and port.
    host: String,
    /// The first part of every path, with slashes.
    token: String,
    query: String,
}

impl Served {
    fn of(folder: &Folder, model: &str) -> Self {
        Self::with(folder, &["view", model, "--no-open"])
    }

    fn with(folder: &Folder, arguments: &[&str]) -> Self {
        std::fs::create_dir_all(folder.path("page/assets")).expect("a folder");
        folder.write("page/index.html", "<p>the page</p>");
        folder.write("page/assets/page.js", "let page;");
        let mut program = Command::new(assert_cmd::cargo::cargo_bin!("condyle"))
            .args(arguments)
            .env("CONDYLE_WEB", folder.path("page"))
            .current_dir(folder.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(program.stdout.take().expect("piped")).read_line(&mut line).expect("an address");
        let address = line.trim_end().strip_prefix("http://").expect("an address").to_string();
        let (host, path) = address.split_once('/').expect("a path");
        let (token, query) = path.split_once('?').expect("a query");
        Self { program, host: host.into(), token: format!("/{token}"), query: query.into() }
    }

    /// Sends bytes, and returns the whole answer.
    fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).expect("a server");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> String {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host))
    }

    fn status(&self, path: &str) -> String {
        self.get(path).split(' ').nth(1).expect("a status").into()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Checks that an example of the documentation serves all files that it names.
pub(crate) fn serves(folder: &Folder, words: &[&str]) {
    let mut arguments = words.to_vec();
    if !words.contains(&"--no-open") {
        arguments.push("--no-open");
    }
    let it = Served::with(folder, &arguments);
    let models: Vec<_> = words[1..].iter().filter(|word| !word.starts_with("--")).collect();
    for (at, model) in models.iter().enumerate() {
        assert_eq!(it.status(&format!("{}model/{at}/{model}", it.token)), "200", "{words:?}");
    }
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("a head").1
}

#[test]
fn help_text() {
    insta::assert_snapshot!("view_help", transcript(condyle().args(["view", "--help"])));
}

#[test]
fn the_page_and_the_files_of_the_model() {
    let folder = Folder::with_ribbon();
    let it = Served::of(&folder, "ribbon.gltf");
    assert_eq!(it.query, "open=model/0/ribbon.gltf&open=model/0/ribbon.bin&watch");
    assert_eq!(it.token.len(), 34, "{}", it.token);
    let page = it.get(&it.token);
    assert!(page.contains("text/html") && page.contains("default-src 'self'"), "{page}");
    assert_eq!(body(&page), "<p>the page</p>");
    assert!(it.get(&format!("{}assets/page.js", it.token)).contains("text/javascript"));
    let model = it.get(&format!("{}model/0/ribbon.gltf", it.token));
    assert_eq!(body(&model).as_bytes(), folder.read("ribbon.gltf"));
    let length = format!("Content-Length: {}\r\n", folder.read("ribbon.bin").len());
    assert!(it.get(&format!("{}model/0/ribbon.bin", it.token)).contains(&length));
}

#[test]
fn a_changed_file_has_another_tag() {
    let folder = Folder::with_ribbon();
    let it = Served::of(&folder, "ribbon.gltf");
    let tag = || {
        let request = format!("HEAD {}model/0/ribbon.bin HTTP/1.1\r\nHost: {}\r\n\r\n", it.token, it.host);
        let answer = it.raw(&request);
        assert_eq!(body(&answer), "");
        answer.lines().find(|line| line.starts_with("ETag")).expect("a tag").to_string()
    };
    let before = tag();
    assert_eq!(tag(), before);
    folder.write("ribbon.bin", [0; 4]);
    assert_ne!(tag(), before);
}

#[test]
fn nothing_else_is_answered() {
    let folder = Folder::with_ribbon();
    folder.write("secret.txt", "secret");
    let it = Served::of(&folder, "ribbon.gltf");
    for path in ["/", "/model/0/ribbon.gltf", "/index.html", "/0123456789abcdef0123456789abcdef/"] {
        assert_eq!(it.status(path), "404", "{path}");
    }
    for name in ["secret.txt", "../secret.txt", "%2e%2e/secret.txt", "model/0/../../secret.txt", "model/0/"] {
        assert_eq!(it.status(&format!("{}{name}", it.token)), "404", "{name}");
    }
    let other = |host: &str| it.raw(&format!("GET {} HTTP/1.1\r\nHost: {host}\r\n\r\n", it.token));
    assert!(other("evil.example").starts_with("HTTP/1.1 403"));
    assert!(other(&it.host.replace("127.0.0.1", "localhost")).starts_with("HTTP/1.1 200"));
    let posted = it.raw(&format!("POST {} HTTP/1.1\r\nHost: {}\r\n\r\n", it.token, it.host));
    assert!(posted.starts_with("HTTP/1.1 405"), "{posted}");
    assert!(it.raw("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    // Answers to HEAD have no body.
    for (path, host) in [("/", &*it.host), ("/%FF", &*it.host), (&*it.token, "evil.example")] {
        let answer = it.raw(&format!("HEAD {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 40") && answer.contains("Content-Length: "), "{answer}");
        assert_eq!(body(&answer), "", "{path}");
    }
    // Still there.
    assert_eq!(it.status(&it.token), "200");
}

#[test]
fn refused_before_the_server_starts() {
    let folder = Folder::with_ribbon();
    std::fs::create_dir(folder.path("page")).expect("a folder");
    folder.write("page/index.html", "");
    folder.write("broken.glb", "glTF");
    let run = |args: &str| {
        let mut command = folder.run(&format!("view --no-open {args}"));
        command.env("CONDYLE_WEB", folder.path("page"));
        command
    };
    let text = |it: assert_cmd::assert::Assert| String::from_utf8_lossy(&it.get_output().stderr).into_owned();
    assert!(text(run("broken.glb").assert().code(1)).contains("broken.glb"));
    assert!(text(run("gone.glb").assert().code(1)).contains("gone.glb"));
    let without = folder.run("view --no-open ribbon.gltf").env("CONDYLE_WEB", folder.path("none")).assert();
    assert!(text(without.code(2)).contains("index.html"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    assert!(text(run(&format!("ribbon.gltf --port {port}")).assert().code(2)).contains("--port"));
}
