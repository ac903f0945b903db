/** Draws the parts of an element again only after a change of their values, so that the focus and a selection stay. */
export class Parts {
    /** The values of each part that is drawn. */
    #drawn = {};

    draw(part, values, draw) {
        const drawn = JSON.stringify(values);
        if (this.#drawn[part] === drawn) return;
        this.#drawn[part] = drawn;
        draw();
    }
}

/**
 * Makes the elements the only children of their parent, in this order. An element that is in its place does not move,
 * because a moved element loses the focus.
 */
export function arrange(parent, elements) {
    const wanted = new Set(elements);
    for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
    elements.forEach((element, index) => {
        const there = parent.children[index] ?? null;
        if (there !== element) parent.insertBefore(element, there);
    });
}
