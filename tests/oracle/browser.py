"""Headless Chromium: what a page looks like and does, what it asks the network for, and what it complains about."""

import base64
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "about:blank",
)


class Page:
    """One window of a browser."""

    def __init__(self, driver: Any):
        self.driver = driver

    def open(self, url: str, width: int = 1200, height: int = 900, scheme: str = "light", motion: str = "reduce") -> None:
        """Load ``url`` anew in a window of that size, for a reader who prefers that colour scheme."""
        self.resize(width, height)
        features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get("about:blank")
        self.complaints(), self.requests()
        self.driver.get(url)

    def resize(self, width: int, height: int = 900) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def run(self, script: str, *arguments: Any) -> Any:
        """What the body of a JavaScript function returns."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """Lines of the console since last asked: errors, blocked resources, whatever is there."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """What was asked for since last asked, the page itself included."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def press(self, key: str) -> None:
        """A key, wherever the focus is."""
        from selenium.webdriver import ActionChains, Keys

        ActionChains(self.driver).send_keys(getattr(Keys, key, key)).perform()

    def screenshot(self, most: int = 5000) -> bytes:
        """A PNG of the page from its top, at most ``most`` pixels high."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, most), "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        return base64.b64decode(shot["data"])


@contextmanager
def chromium() -> Iterator[Page]:
    """A browser of its own, with nothing remembered.  Raises RuntimeError where Chromium or its driver is missing."""
    if BROWSER is None or DRIVER is None:
        raise RuntimeError("Chromium and its driver are missing (Debian: apt-get install chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))  # a driver that is named is not looked for
        try:
            yield Page(driver)
        finally:
            driver.quit()


def url_of(path: Path) -> str:
    return path.resolve().as_uri()
