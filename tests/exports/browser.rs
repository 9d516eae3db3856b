//! A browser without a window, told what to do through a pipe (Chrome DevTools Protocol).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than anything here takes, however loaded the machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A page in a browser.
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    /// What the page complained of: exceptions, and violations of its policy.
    pub(crate) complaints: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// A browser with a window of that width; none, and a word of it, where there is none to start.
    pub(crate) fn start(width: u32) -> Option<Browser> {
        let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
            let version = Command::new(name).arg("--version").output();
            version.is_ok_and(|run| run.status.success())
        });
        let Some(program) = found else {
            println!("skipped: no chromium");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The browser reads descriptor 3 and writes to descriptor 4.
        let script = format!(
            "exec {program} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
             --no-first-run --remote-debugging-pipe --window-size={width},900 \
             --user-data-dir='{}' about:blank 3<&0 4>&1 >/dev/null 2>&1",
            profile.path().display()
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (commands, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { return };
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let (session, complaints) = (None, Vec::new());
        let mut browser = Browser {
            child,
            commands,
            answers,
            session,
            last_id: 0,
            complaints,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a file, and waits until it is there.
    pub(crate) fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", json!({ "url": url }));
        loop {
            let message = self.message();
            if message["method"] == "Page.loadEventFired" {
                return;
            }
        }
    }

    /// What an expression of the page's language gives.
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let ask = json!({ "expression": expression, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", ask);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Clicks on the middle of the element that an expression gives.
    pub(crate) fn click(&mut self, element: &str) {
        let place = self.ask(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{ block: 'center' }}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1
            });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Types into whatever has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// The page's scripts run no more.
    pub(crate) fn forbid_scripts(&mut self) {
        self.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).unwrap();
        loop {
            let message = self.message();
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    fn message(&mut self) -> Value {
        let message = self.answers.recv_timeout(PATIENCE).expect("the browser is silent");
        if message["method"] == "Runtime.exceptionThrown" || message["method"] == "Log.entryAdded" {
            self.complaints.push(message["params"].clone());
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill().is_ok();
        let _ = self.child.wait().is_ok();
    }
}
