/** Creates elements without parsing markup: data from elsewhere becomes only text nodes and attributes. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} name as `p`, or with classes as `p.muted.small`
 * @param {object} properties functions become listeners of the event with their name; `true` becomes an attribute
 *     without a value; `null`, `undefined` and `false` are left out
 * @param {...(Node|string|number|null|undefined|false)} children values that are no nodes become text nodes
 */
export function h(name, properties = {}, ...children) {
    const [tag, ...classes] = name.split(".");
    const element = document.createElement(tag);
    if (classes.length > 0) element.className = classes.join(" ");
    return furnish(element, properties, children);
}

/** Creates an SVG element. Properties and children are as for `h`. */
export function svg(tag, properties = {}, ...children) {
    return furnish(document.createElementNS(SVG, tag), properties, children);
}

export function fill(element, ...children) {
    element.replaceChildren(...children.filter(isChild));
    return element;
}

/** Sets a text only if it differs, so that unchanged text neither moves nor is read out again. */
export function say(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

let lastId = 0;

export function newId() {
    lastId += 1;
    return `e${lastId}`;
}

function furnish(element, properties, children) {
    for (const [name, value] of Object.entries(properties)) {
        if (typeof value === "function") element.addEventListener(name, value);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter(isChild));
    return element;
}

function isChild(child) {
    return child !== null && child !== undefined && child !== false;
}
