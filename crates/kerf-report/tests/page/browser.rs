//! A headless Chromium, driven through its debugging pipe.
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A page that is open.
pub struct Browser {
    child: Child,
    to: File,
    from: File,
    rest: Vec<u8>,
    next: u64,
    session: String,
    /// What the page complained about.
    pub complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors, which nobody else owns yet.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}

fn program() -> &'static str {
    let known = ["chromium", "chromium-browser", "google-chrome"];
    let there = |p: &&str| {
        let quiet = Command::new(p)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        quiet.is_ok_and(|s| s.success())
    };
    known
        .into_iter()
        .find(there)
        .expect("no Chromium: scripts/setup.sh --dev installs one")
}

impl Browser {
    /// Starts a browser with a window of this size and opens a file.
    pub fn open(file: &Path, width: u32, height: u32) -> Browser {
        let (commands, to) = pipe();
        let (from, answers) = pipe();
        let profile = tempfile::tempdir().expect("a folder");
        let (r, w) = (commands.as_raw_fd(), answers.as_raw_fd());
        let mut c = Command::new(program());
        c.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--remote-debugging-pipe",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},{height}"))
        .arg("about:blank")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
        // SAFETY: only async-signal-safe calls between fork and exec. Both ends are first moved out of the
        // way of 3 and 4, where the browser expects them.
        unsafe {
            c.pre_exec(move || {
                let (r, w) = (
                    libc::fcntl(r, libc::F_DUPFD, 10),
                    libc::fcntl(w, libc::F_DUPFD, 10),
                );
                libc::dup2(r, 3);
                libc::dup2(w, 4);
                Ok(())
            });
        }
        let child = c.spawn().expect("the browser starts");
        let mut b = Browser {
            child,
            to: to.into(),
            from: from.into(),
            rest: Vec::new(),
            next: 0,
            session: String::new(),
            complaints: Vec::new(),
            _profile: profile,
        };
        let made = b.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = made["targetId"].clone();
        let s = b.call(
            "Target.attachToTarget",
            json!({"targetId": target, "flatten": true}),
        );
        b.session = s["sessionId"].as_str().expect("a session").to_owned();
        b.call("Runtime.enable", json!({}));
        b.call("Log.enable", json!({}));
        b.call("Page.enable", json!({}));
        b.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
        b.call(
            "Page.navigate",
            json!({"url": format!("file://{}", file.display())}),
        );
        while b.eval("document.readyState + location.protocol") != json!("completefile:") {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        b
    }

    fn message(&mut self) -> Value {
        loop {
            if let Some(end) = self.rest.iter().position(|b| *b == 0) {
                let one: Vec<u8> = self.rest.drain(..=end).collect();
                return serde_json::from_slice(&one[..end]).expect("JSON");
            }
            let mut part = [0; 65536];
            let n = self.from.read(&mut part).expect("the browser answers");
            assert!(n > 0, "the browser ended");
            self.rest.extend_from_slice(&part[..n]);
        }
    }

    /// A command, and its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut m = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            m["sessionId"] = json!(self.session);
        }
        let mut text = m.to_string().into_bytes();
        text.push(0);
        self.to.write_all(&text).expect("the browser listens");
        loop {
            let m = self.message();
            match m["method"].as_str() {
                Some("Runtime.exceptionThrown") => {
                    self.complaints
                        .push(m["params"]["exceptionDetails"].to_string());
                }
                Some("Runtime.consoleAPICalled" | "Log.entryAdded") => {
                    self.complaints.push(m["params"].to_string());
                }
                _ => {}
            }
            if m["id"] == json!(self.next) {
                assert!(m["error"].is_null(), "{method}: {}", m["error"]);
                return m["result"].clone();
            }
        }
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let r = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true}),
        );
        assert!(r["exceptionDetails"].is_null(), "{expression}: {r}");
        r["result"]["value"].clone()
    }

    /// A key, pressed and let go.
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => 0,
        };
        for kind in ["keyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}),
            );
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
