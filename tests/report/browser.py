"""A headless Chromium driven over WebDriver, with the standard library alone."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]


class Browser:
    def __init__(self, address):
        self.address, self.session = address, ""
        options = {"binary": CHROMIUM, "args": ARGUMENTS}
        wanted = {"goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}  # fmt: skip
        body = {"capabilities": {"alwaysMatch": wanted}}
        self.session = f"/session/{self.call('/session', body)['sessionId']}"

    def call(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + self.session + path, data, method=method,
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, path):
        self.call("/url", {"url": path.absolute().as_uri()})

    def run(self, script):
        return self.call("/execute/sync", {"script": script, "args": []})

    def log(self, kind):
        return self.call("/se/log", {"type": kind})

    def devtools(self, command, **parameters):
        body = {"cmd": command, "params": parameters}
        return self.call("/goog/cdp/execute", body)

    def width(self, pixels, height=900):
        self.devtools("Emulation.setDeviceMetricsOverride", width=pixels, height=height,
                      deviceScaleFactor=1, mobile=False)  # fmt: skip

    def scheme(self, name):
        feature = {"name": "prefers-color-scheme", "value": name}
        self.devtools("Emulation.setEmulatedMedia", features=[feature])

    def press(self, key, *, shift=False):
        event = {"key": key, "code": key, "modifiers": 8 if shift else 0}
        code = {"Tab": 9, "ArrowRight": 39, "ArrowUp": 38}[key]
        for kind in ("rawKeyDown", "keyUp"):
            self.devtools(
                "Input.dispatchKeyEvent", type=kind, windowsVirtualKeyCode=code, **event
            )

    def picture(self, path):
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def requests(self):
        """Addresses of everything that was asked for beside the page itself."""
        events = [json.loads(each["message"])["message"] for each in self.log("performance")]
        sent = [e["params"]["request"]["url"] for e in events
                if e["method"] == "Network.requestWillBeSent"]  # fmt: skip
        return [url for url in sent if not url.startswith("data:")][1:]


@contextmanager
def browser():
    """A browser of one's own, gone when the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [DRIVER, f"--port={port}", "--silent"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = None
    try:
        for _ in range(100):
            try:
                found = Browser(f"http://127.0.0.1:{port}")
                break
            except OSError:
                time.sleep(0.1)
        yield found
    finally:
        if found:
            found.call("", method="DELETE")
        process.terminate()
        process.wait(timeout=10)
