"""Find a browser without a window for the tests that open pages, or install one: ``python
tests/browser.py``.

``BROWSER_BIN`` names the browser to use, or is ``none``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge", "microsoft-edge-stable", "msedge",
)  # fmt: skip
MACOS = ("Google Chrome", "Chromium", "Microsoft Edge")
WINDOWS = ("Google/Chrome", "Chromium", "Microsoft/Edge")
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
    for root in filter(
        None, map(os.environ.get, ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"))
    ):
        usual += [
            Path(root, name, "Application", "msedge.exe" if "Edge" in name else "chrome.exe")
            for name in WINDOWS
        ]
    yield from (str(path) for path in usual if path.is_file())


def works(browser: str) -> bool:
    """Say whether a browser opens a page: some must not read other folders than their own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "page.html"
        page.write_text("<p id=p></p><script>p.textContent = 6 * 7</script>", encoding="utf-8")
        try:
            return ">42<" in opened(browser, page)
        except (OSError, subprocess.SubprocessError):
            return False


def opened(browser: str, page: Path, fragment: str = "", flags: Sequence[str] = ()) -> str:
    """Return a page as it is after its script has run."""
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [browser, *FLAGS, *flags, profile, "--dump-dom", page.as_uri() + fragment]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True
    ).stdout


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
