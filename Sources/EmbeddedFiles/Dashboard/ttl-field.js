import { h, newId } from "./dom.js";

const UNITS = [["seconds", 1], ["minutes", 60], ["hours", 3600], ["days", 86_400]];

export class TTLField {
    #number;
    #unit;

    /** @param {string} hint the meaning of an empty field; without it the field is required */
    constructor(label, hint) {
        const id = newId();
        this.#number = h("input", {
            id, type: "number", min: 0, step: "any", inputmode: "decimal", required: hint === undefined,
            "aria-describedby": hint === undefined ? null : `${id}-hint`,
        });
        this.#unit = h(
            "select", { "aria-label": `${label}, unit` },
            ...UNITS.map(([name, size]) => h("option", { value: size, selected: size === 3600 }, name)));
        this.element = h(
            "div.field", {}, h("label", { for: id }, label), h("div.joined", {}, this.#number, this.#unit),
            hint !== undefined && h("p.hint", { id: `${id}-hint` }, hint));
    }

    /** The ttl in seconds; `undefined` if the field is empty. */
    get seconds() {
        return this.#number.value === "" ? undefined : this.#number.valueAsNumber * Number(this.#unit.value);
    }
}
