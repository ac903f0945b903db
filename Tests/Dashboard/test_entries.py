"""The list of entries: search, filters, order, pages."""


def fill_cache(server, origin):
    for number in range(60):
        server.put(f"report-{number:03}", "x" * (number + 1), tags="odd" if number % 2 else "even", ttl=3600)
    for name in ("users", "orders", "prices"):
        server.download(origin.serve(f"/v1/{name}", "application/json", "[1]"), ttl=60, tags=["api"])


def names(page):
    return page.texts(".entries td.name")


def wait_for_names(page, expected):
    page.wait(lambda: names(page) == expected, f"the entries {expected}")


def reports(numbers):
    return [f"report-{number:03}" for number in numbers]


def test_pages_follow_one_another_and_lead_back(page, server, origin):
    fill_cache(server, origin)
    page.open(server, "#/entries?prefix=report-&limit=25")
    wait_for_names(page, reports(range(25)))
    assert "63 in this namespace" in page.find(".view-head").text
    assert page.find(".place").text == "25 entries on this page"
    page.picture("entries")
    page.link("Next").click()
    wait_for_names(page, reports(range(25, 50)))
    page.link("Next").click()
    wait_for_names(page, reports(range(50, 60)))
    assert page.find(".place").text == "10 entries on this page, the last"
    assert page.link("Next").get_attribute("aria-disabled") == "true"
    page.link("Previous").click()
    wait_for_names(page, reports(range(25, 50)))
    page.driver.back()
    wait_for_names(page, reports(range(50, 60)))
    # The address alone does not contain the previous pages.
    page.driver.refresh()
    wait_for_names(page, reports(range(50, 60)))
    page.link("First page").click()
    wait_for_names(page, reports(range(25)))


def test_filters_list_the_entries_that_match(page, server, origin):
    fill_cache(server, origin)
    page.open(server, "#/entries")
    page.type("URL or key begins with", "report-01")
    page.button("Search").click()
    wait_for_names(page, reports(range(10, 20)))
    page.type("Tag", "odd")
    page.button("Search").click()
    wait_for_names(page, reports(range(11, 20, 2)))
    assert "prefix=report-01" in page.driver.current_url and "tag=odd" in page.driver.current_url
    page.button("Clear").click()
    page.wait(lambda: len(names(page)) == 50, "all entries again")
    page.type("Host", "127.0.0.1")
    page.button("Search").click()
    page.wait(lambda: len(names(page)) == 3, "what was downloaded")
    for option in page.field("Kind").find_elements("tag name", "option"):
        if option.text == "Data":
            option.click()
    page.wait_for_text(".empty", "No entries match.")


def test_the_order_is_chosen_at_the_head_of_a_column(page, server, origin):
    fill_cache(server, origin)
    page.open(server, "#/entries?prefix=report-&limit=25")
    wait_for_names(page, reports(range(25)))
    sizes = page.find(".entries th:nth-child(5)")
    assert sizes.get_attribute("aria-sort") is None
    page.driver.find_element("xpath", "//th[5]/button").click()
    page.find("th[aria-sort=ascending]")
    wait_for_names(page, reports(range(25)))
    page.driver.find_element("xpath", "//th[5]/button").click()
    page.find("th[aria-sort=descending]")
    wait_for_names(page, reports(range(59, 34, -1)))
    assert page.texts(".entries td:nth-child(5)")[0] == "60 B"


def test_a_refused_listing_and_an_unknown_entry_are_reported(page, server):
    page.open(server, "#/entries?cursor=nonsense")
    note = page.wait_for_text(".note.failed", "The entries cannot be listed")
    assert "cursor" in note.text
    page.go("#/entry/none")
    page.wait_for_text(".note", "No entry has this key.")
