"""The browser without a window that opens pages for the tests; ``python tests/browser.py`` finds or
installs one.

``BROWSER_BIN`` names the browser to use, or is ``none``.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from factories import HANG_SECONDS

NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge", "microsoft-edge-stable",
)  # fmt: skip
MACOS = ("Google Chrome", "Chromium", "Microsoft Edge")
# Without a sandbox and without /dev/shm it also runs as root and in containers; the rest keeps it
# off the network.
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
    "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
INSTALLERS = {
    "apt-get": ("apt-get update -qq", "apt-get install -y -qq --no-install-recommends chromium"),
    "dnf": ("dnf install -y -q chromium",),
    "pacman": ("pacman -S --noconfirm chromium",),
}
REMEDY = (
    "install Chromium, Chrome or Edge (Debian: apt-get install chromium), or set BROWSER_BIN to one"
)


def find() -> str | None:
    """Return the browser of ``BROWSER_BIN``, or the first that is here and works."""
    if chosen := os.environ.get("BROWSER_BIN"):
        return None if chosen == "none" else _checked(chosen)
    return next(filter(works, _candidates()), None)


def _checked(chosen: str) -> str:
    path = shutil.which(chosen)
    if path is None or not works(path):
        raise ValueError(
            f"BROWSER_BIN={chosen!r} is no browser that can open a page without a window"
        )
    return path


def _candidates() -> Iterator[str]:
    yield from filter(None, map(shutil.which, NAMES))
    usual = [Path(f"/Applications/{name}.app/Contents/MacOS/{name}") for name in MACOS]
    yield from (str(path) for path in usual if path.is_file())


def works(program: str) -> bool:
    """Say whether a browser opens a page: some must not read other folders than their own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "page.html"
        page.write_text("<p id=p></p><script>p.textContent = 6 * 7</script>", encoding="utf-8")
        profile = f"--user-data-dir={folder}/profile"
        command = [program, *FLAGS, profile, "--dump-dom", page.as_uri()]
        try:
            run = subprocess.run(command, capture_output=True, timeout=HANG_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError):
            return False
        return b">42<" in run.stdout


# What the pointer reads at the first mark of every selector.
LOOK = """
const middle = mark => {  // of a line a point near its beginning, of anything else the middle
  if (mark.getPointAtLength && !mark.closest(".marks") && getComputedStyle(mark).fill === "none")
    return mark.getPointAtLength(mark.getTotalLength() / 10).matrixTransform(mark.getScreenCTM());
  const box = mark.getBoundingClientRect();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
};
const readout = selector => {
  const mark = document.querySelector(selector);
  if (!mark) return "nothing is " + selector;
  mark.scrollIntoView({ block: "center" });
  const { x, y } = middle(mark), under = document.elementFromPoint(x, y);
  if (!under) return "nothing is under the pointer";
  for (const kind of ["pointerover", "pointermove"])
    under.dispatchEvent(new PointerEvent(kind, { bubbles: true, clientX: x, clientY: y }));
  const line = under.closest("figure, .plate")?.querySelector(".readout")
    ?? (under.closest("#maps") && document.getElementById("maps-readout"));
  if (line) return line.textContent;
  return under.closest(":has(> title)")?.querySelector(":scope > title").textContent ?? "";
};
const scrolls = e => e.scrollHeight > e.clientHeight + 1
    && ["auto", "scroll"].includes(getComputedStyle(e).overflowY);
const hidden = [...document.querySelectorAll("main *")].filter(scrolls)
  .map(e => e.tagName + "." + e.className);
const wide = document.documentElement.scrollWidth;
return { said: SELECTORS.map(readout), hidden, wide };
"""
LOADED = """await new Promise(resolve =>
  document.readyState === "complete" ? resolve() : addEventListener("load", resolve));
await new Promise(resolve => requestAnimationFrame(resolve));
"""
PATIENCE = 120  # seconds for an answer of a busy machine


class Seen(NamedTuple):
    """The content of a page in a browser: the tooltip of every mark, the elements that scroll
    inside the page, and the width of the page."""

    said: list[str]
    hidden: list[str]
    wide: int


class Browser:
    """A browser that opens one page after another, by its debugging protocol over two pipes."""

    def __init__(self, program: str, profile: Path) -> None:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        flags = (*FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}")
        actions = [
            (os.POSIX_SPAWN_DUP2, requests, 3),  # where the protocol has them
            (os.POSIX_SPAWN_DUP2, answers, 4),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        self._pid = os.posix_spawn(program, [program, *flags], os.environ, file_actions=actions)
        os.close(requests)
        os.close(answers)
        self._received, self._count = b"", 0

    def close(self) -> None:
        self._ask("Browser.close")
        os.close(self._requests)
        os.close(self._answers)
        os.waitpid(self._pid, 0)

    def open_page(
        self, page: Path, fragment: str = "", script: str = "", scheme: str = "light"
    ) -> str:
        """Return a page as it is after its scripts and another one, which may wait."""
        script += "return document.documentElement.outerHTML"
        return self._evaluate(page.as_uri() + fragment, script, 1280, scheme)

    def look(self, page: Path, selectors: Sequence[str] = (), width: int = 1280) -> Seen:
        """Point at the first mark of every selector, and see what is shown."""
        script = LOOK.replace("SELECTORS", json.dumps(list(selectors)))
        return Seen(**self._evaluate(page.as_uri(), script, width))

    def _evaluate(self, address: str, script: str, width: int, scheme: str = "light") -> Any:
        """What a script returns that runs when a page is loaded."""
        target = self._ask("Target.createTarget", url="about:blank")
        session = self._ask("Target.attachToTarget", **target, flatten=True)["sessionId"]
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", session, **size)
        colors = {"name": "prefers-color-scheme", "value": scheme}
        self._ask("Emulation.setEmulatedMedia", session, features=[colors])
        self._ask("Page.navigate", session, url=address)
        call = f"(async () => {{ {LOADED} {script} }})()"
        answer = self._ask(
            "Runtime.evaluate", session, expression=call, awaitPromise=True, returnByValue=True
        )
        self._ask("Target.closeTarget", **target)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"a script failed in {address}: {answer['exceptionDetails']}")
        return answer["result"]["value"]

    def _ask(self, method: str, session: str | None = None, **options: Any) -> Any:
        self._count += 1
        request = {"id": self._count, "method": method, "params": options}
        request |= {"sessionId": session} if session else {}
        os.write(self._requests, json.dumps(request).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._count:
            pass  # events
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE)
            part = os.read(self._answers, 2**20) if ready else b""
            if not part:
                raise TimeoutError("the browser has ended, or does not answer")
            self._received += part
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)


def installation() -> list[list[str]]:
    """Return the commands that install Chromium: none without a known package manager or the right
    to use it."""
    manager = next(filter(shutil.which, INSTALLERS), None)
    if manager is None or os.environ.get("BROWSER_BIN"):
        return []
    right = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if right and not (shutil.which("sudo") and _succeeds([*right, "true"])):
        return []
    return [
        [*right, "env", "DEBIAN_FRONTEND=noninteractive", *command.split()]
        for command in INSTALLERS[manager]
    ]


def _succeeds(command: list[str]) -> bool:
    run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    return run.returncode == 0


def install() -> None:
    """Install Chromium where that is allowed."""
    for command in installation():
        print("For the tests that open pages:", " ".join(command), flush=True)
        if not _succeeds(command):
            print("This failed; without a browser these tests are left out.", flush=True)
            return


def main() -> None:
    """Have a browser, if possible; with ``CI=true`` it must be."""
    if find() is None:
        install()
    if os.environ.get("CI") == "true" and find() is None:
        raise ValueError(f"no browser for the tests that open pages, and CI=true: {REMEDY}")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"tests/browser.py: {error}")
