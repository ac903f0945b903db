"""The dashboard of a server, in Chromium."""

from browser import DESKTOP, Page


class Dashboard(Page):
    """The dashboard's page, with its views."""

    def open(self, server, address="#/overview", size=DESKTOP, dark=False, calm=True):
        """Loads the page anew, without the state of the previous page."""
        self.show_as(size, dark, calm)
        self.driver.get("about:blank")
        self.driver.get(server.url + "/" + address)
        self.find("main h1")

    def go(self, address):
        """Follows an address within the page, as a link does."""
        self.driver.execute_script("location.hash = arguments[0]", address)

    def entry(self, key):
        """Goes to the page of an entry."""
        self.driver.execute_script("location.hash = '#/entry/' + encodeURIComponent(arguments[0])", key)
        self.find(".countdown")
