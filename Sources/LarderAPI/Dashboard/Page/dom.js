/** Elements, made without ever parsing markup: what came from elsewhere becomes text nodes and attributes, no more. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element.
 *
 * @param {string} name as `p`, or with classes as `p.muted.small`
 * @param {object} properties functions are listeners, by the name of their event; `true` is an attribute without a
 *     value; what is `null`, `undefined` or `false` is left out
 * @param {...(Node|string|number|null|undefined|false)} children what is no node becomes a text node
 */
export function h(name, properties = {}, ...children) {
    const [tag, ...classes] = name.split(".");
    const element = document.createElement(tag);
    if (classes.length > 0) element.className = classes.join(" ");
    return furnish(element, properties, children);
}

/** An SVG element; the same otherwise. */
export function svg(tag, properties = {}, ...children) {
    return furnish(document.createElementNS(SVG, tag), properties, children);
}

/** Puts children into an element in place of those that it has. */
export function fill(element, ...children) {
    element.replaceChildren(...children.filter(isChild));
    return element;
}

/** Sets a text only when it differs: nothing moves, and nothing is read out, that stays the same. */
export function say(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

let lastId = 0;

/** An id that no other element of the page has. */
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
