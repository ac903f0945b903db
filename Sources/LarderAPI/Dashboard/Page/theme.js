/** Light, dark, or as the system has it. What was chosen is kept in this browser. */

const KEY = "larder.theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const WORDS = { system: "as the system has it", light: "light", dark: "dark" };

let theme = stored();
show();

/** Makes a button of an element that goes from one theme to the next. */
export function themeButton(button) {
    const name = () => {
        button.setAttribute("aria-label", `Theme: ${WORDS[theme]}. Change it to ${WORDS[NEXT[theme]]}`);
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

/** A browser may forbid it; then the choice lasts as long as the page does. */
function store() {
    try {
        localStorage.setItem(KEY, theme);
    } catch {
        return;
    }
}
