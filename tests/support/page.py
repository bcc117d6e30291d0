"""One page in a real browser: what it shows, what it tries, and what a person does to it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from support.devtools import GUARD, Connection, Message

KEYS = {  # what a key is, and what it types
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Backspace": ("Backspace", 8, ""),
}
WATCH = """
addEventListener("securitypolicyviolation", event => proctorNote(
    `CSP ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""
MIDDLE = """(() => {
    const element = document.querySelector(%s);
    element.scrollIntoView({block: "center", behavior: "instant"});
    const box = element.getBoundingClientRect();
    return {x: box.x + box.width / 2, y: box.y + box.height / 2};
})()"""


class Page:
    """`complaints` are console messages, exceptions, violations of the policy and the browser's own advice;
    `requests` are addresses that the page asked for, itself not among them."""

    def __init__(self, connection: Connection, session: str) -> None:
        self._connection, self._session = connection, session
        self._loaded: set[str] = set()
        self._scripts = True
        self.guard = GUARD
        self.complaints: list[str] = []
        self.requests: list[str] = []
        connection.listen(session, self._hear)
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        self.call("Runtime.addBinding", name="proctorNote")
        self.before_each_load(WATCH)

    def call(self, method: str, **params: Any) -> Message:
        return self._connection.call(method, self._session, self.guard, **params)

    def open(self, path: Path, fragment: str = "") -> None:
        """Show a file, and return when it has loaded and was drawn."""
        self.go_to(path.absolute().as_uri() + fragment)

    def go_to(self, address: str) -> None:
        answer = self.call("Page.navigate", url=address)
        assert not answer.get("errorText"), f"{address}: {answer['errorText']}"
        loader = answer.get("loaderId")
        if loader:  # none, where only the fragment differs
            self._connection.wait_until(lambda: loader in self._loaded, f"loading {address}", self.guard)
        self.settle()

    def settle(self) -> None:
        """Return when the page was drawn twice: what it has put off until then is done."""
        if self._scripts:
            self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        else:
            self.screenshot()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, or of the promise that it is."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            raise AssertionError(_thrown(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait_until(self, expression: str) -> None:
        """Return when an expression is true; it is looked at each time that the page is drawn."""
        self.evaluate(
            "new Promise(done => { const look = () =>"
            f" ({expression}) ? done() : requestAnimationFrame(look); look(); }})"
        )

    def before_each_load(self, script: str) -> None:
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    # What a reader's browser may be like.

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str, media: str = "") -> None:
        """`light` or `dark`; media: `print`, or the screen."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def turn_scripts_off(self) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=True)
        self._scripts = False

    def allow(self, *permissions: str) -> None:
        self.call("Browser.grantPermissions", permissions=list(permissions))

    # What a reader does.

    def press(self, key: str) -> None:
        """A key of KEYS, or a letter."""
        name, code, text = KEYS.get(key, (key, ord(key[0].upper()), key))
        common = {"key": name, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)
        self.settle()

    def click(self, selector: str) -> None:
        """In the middle of the first element that the selector finds, as a mouse does."""
        at = self.evaluate(MIDDLE % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
        self.settle()

    # What can be seen.

    def screenshot(self, whole: bool = False) -> bytes:
        """PNG of what the window shows, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def print_pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def heap(self) -> int:
        """Bytes that scripts hold, after a collection of garbage."""
        self.call("HeapProfiler.collectGarbage")
        return int(self.call("Runtime.getHeapUsage")["usedSize"])

    def _hear(self, message: Message) -> None:
        params = message["params"]
        match message["method"]:
            case "Page.lifecycleEvent" if params["name"] == "load":
                self._loaded.add(params["loaderId"])
            case "Runtime.consoleAPICalled":
                said = " ".join(str(one.get("value", one.get("description"))) for one in params["args"])
                self.complaints.append(f"console.{params['type']}: {said}")
            case "Runtime.exceptionThrown":
                self.complaints.append(_thrown(params["exceptionDetails"]))
            case "Runtime.bindingCalled" if params["name"] == "proctorNote":
                self.complaints.append(params["payload"])
            case "Log.entryAdded":
                entry = params["entry"]
                self.complaints.append(f"{entry['source']} {entry['level']}: {entry['text']}")
            case "Audits.issueAdded":
                self.complaints.append(f"issue: {params['issue']}")
            case "Network.requestWillBeSent" if not _is_the_page(params):
                self.requests.append(params["request"]["url"])


def _is_the_page(params: Message) -> bool:
    return params["requestId"] == params["loaderId"] and params["type"] == "Document"


def _thrown(details: Message) -> str:
    exception = details.get("exception", {})
    return f"exception: {exception.get('description') or details.get('text')}"
