/**
 * Opens a captured page in a new tab. A link cannot send the token, so the page asks for the address of the view, which
 * contains a ticket, and then the new tab loads this address without a token.
 *
 * @param {number|null} capture the number of the capture; `null` for the newest
 */
export async function openPage(api, key, capture) {
    // Browsers permit a new tab only directly after a click, so the tab opens before the address is known.
    const tab = window.open("about:blank");
    if (tab === null) throw new Error("the browser has blocked the new tab; allow this page to open tabs");
    // The captured page must not reach the dashboard through its opener.
    tab.opener = null;
    try {
        const path = `pages/${encodeURIComponent(key)}/view`;
        const response = await api.open("GET", path, { query: { capture }, redirect: "follow" });
        await response.body?.cancel();
        tab.location.replace(response.url);
    } catch (error) {
        tab.close();
        throw error;
    }
}
