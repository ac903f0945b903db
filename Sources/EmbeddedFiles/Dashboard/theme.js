/** The theme: light, dark, or the system's. This browser stores the choice. */

const KEY = "larder.theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const WORDS = { system: "as the system setting", light: "light", dark: "dark" };

let theme = stored();
show();

/** Makes an element a button that switches to the next theme. */
export function themeButton(button) {
    const name = () => {
        button.setAttribute("aria-label", `Theme: ${WORDS[theme]}. Change to ${WORDS[NEXT[theme]]}`);
        button.title = `Theme: ${WORDS[theme]}`;
    };
    button.addEventListener("click", () => {
        theme = NEXT[theme];
        show();
        store();
        name();
    });
    name();
}

function show() {
    const root = document.documentElement;
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
}

function stored() {
    try {
        const value = localStorage.getItem(KEY);
        return Object.hasOwn(NEXT, value) ? value : "system";
    } catch {
        return "system";
    }
}

/** Stores the choice. If the browser forbids it, the choice lasts as long as the page. */
function store() {
    try {
        localStorage.setItem(KEY, theme);
    } catch {
        return;
    }
}
