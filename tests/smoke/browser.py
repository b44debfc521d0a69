# SPDX-License-Identifier: BSD-3-Clause
"""
browser - Chromium without a window, steered by selenium, for tests of our pages.

It runs in the namespaces of the test, where there is no network but the leaf's, and leaves its pictures in
ROCELEAF_SCREENSHOTS (meson: screenshots/ in the build folder).
"""

import os
import shutil

from lab import SLOW, WAIT_S, Skip, check_equal, wait_until

SIZE = (1280, 900)
PROGRAMS = ("chromium", "chromedriver")


class Browser:
    def __init__(self):
        try:
            from selenium import webdriver
            from selenium.webdriver.chrome.options import Options
            from selenium.webdriver.chrome.service import Service
        except ImportError as missing:
            raise Skip("python3-selenium is not installed") from missing
        chromium, driver = (shutil.which(name) for name in PROGRAMS)
        if chromium is None or driver is None:
            raise Skip("chromium or chromium-driver is not installed")
        options = Options()
        options.binary_location = chromium
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                         "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
                         "--force-device-scale-factor=1"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.set_script_timeout(WAIT_S * SLOW)
        self.driver.set_page_load_timeout(WAIT_S * SLOW)
        self.size(*SIZE)

    def size(self, width, height):
        """Of the page, not of the window around it."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1,
                                     "mobile": False})

    def open(self, url):
        self.driver.get(url)

    def js(self, expression, *arguments):
        """The value of an expression; `arguments` in it are these."""
        return self.driver.execute_script(f"return {expression}", *arguments)

    def text(self, selector):
        """What a person reads in the first element that fits, None without one."""
        return self.js("document.querySelector(arguments[0])?.innerText", selector)

    def count(self, selector):
        return self.js("document.querySelectorAll(arguments[0]).length", selector)

    def click(self, selector):
        self.driver.find_element("css selector", selector).click()

    def wait_for(self, expression, what, *arguments):
        return wait_until(lambda: self.js(expression, *arguments), what)

    def dark(self, on):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if on else "light"}]})

    def picture(self, name, whole=False):
        """Of what is to be seen, or of the whole page."""
        folder = os.environ.get("ROCELEAF_SCREENSHOTS", "screenshots")
        os.makedirs(folder, exist_ok=True)
        if whole:
            self.size(SIZE[0], max(SIZE[1], self.js("document.documentElement.scrollHeight")))
        # Two frames, so that charts have drawn themselves at their new sizes.
        self.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0], 200)))")
        self.driver.save_screenshot(os.path.join(folder, name + ".png"))
        self.size(*SIZE)

    def check_quiet(self, allowed=""):
        """Nothing was complained of since the last call, but messages with `allowed` in them."""
        said = [entry["message"] for entry in self.driver.get_log("browser")
                if not allowed or allowed not in entry["message"]]
        check_equal(said, [], "the browser's console")

    def requests(self):
        """Addresses of what the page has asked for beside itself."""
        return self.js("performance.getEntriesByType('resource').map((entry) => entry.name)")

    def close(self):
        self.driver.quit()
