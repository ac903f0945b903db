import { fill, h, newId } from "./dom.js";
import { lineEndOf } from "./line-diff.js";

/** A form with a body that the user has merged. The user's text stays while the versions change. */
export class MergeEditor {
    #text;
    #starts = h("div.actions");
    #submit = h("button.primary", { type: "submit" }, "Send this body");
    #isJSON = false;
    /** The text from which the user started. */
    #start = "";
    #isEdited = false;
    #isWanted = false;
    #isOffered = false;

    /** @param {(text: string) => Promise<boolean>} send sends the body, and returns whether the server has taken it */
    constructor(send) {
        const hint = h("p.hint", { id: newId() }, "The merged text has ours where both sides clash. The body replaces "
            + "the version of the origin. If the origin has a still newer version by then, Larder merges the body into "
            + "it, or asks again.");
        this.#text = h("textarea.mono", {
            id: newId(), rows: 14, spellcheck: "false", autocomplete: "off", "aria-describedby": hint.id,
            input: () => {
                this.#isEdited = true;
                this.#check();
            },
        });
        this.element = h(
            "form.panel.merge-editor", { hidden: true, "aria-label": "Merged body", submit: (event) => {
                event.preventDefault();
                this.#send(send);
            } },
            h("div.field", {}, h("label", { for: this.#text.id }, "Merged body"), this.#text, hint),
            this.#starts, h("div.actions", {}, this.#submit));
    }

    get isOpen() { return this.#isWanted && this.#isOffered; }

    /** Opens or closes the form. The user's text stays for the next time. */
    toggle() {
        this.#want(!this.#isWanted);
        if (this.isOpen) this.#text.focus();
    }

    /** Hides an open form while the server would not take a body. */
    offer(isOffered) {
        this.#isOffered = isOffered;
        this.element.hidden = !this.isOpen;
    }

    #want(isWanted) {
        this.#isWanted = isWanted;
        this.element.hidden = !this.isOpen;
    }

    /** @param {object} comparison as of `compare` */
    show({ merged, texts, isJSON }) {
        this.#isJSON = isJSON;
        if (!this.#isEdited) this.#fill(merged ?? "");
        const starts = [["merged", merged], ["ours", texts.ours], ["theirs", texts.theirs], ["base", texts.base]];
        fill(this.#starts, h("span.small.muted", {}, "Start from"), ...starts.filter(([, text]) => text !== null).map(
            ([name, text]) => h("button.small", { type: "button", click: () => {
                this.#isEdited = name !== "merged";
                this.#fill(text);
            } }, name)));
    }

    #fill(text) {
        this.#start = text;
        this.#text.value = text;
        this.#check();
    }

    /** The text with the line ends of the start. The field itself has only line feeds. */
    get #body() {
        const { value } = this.#text;
        if (value === this.#start.replace(/\r\n?/g, "\n")) return this.#start;
        return value.replaceAll("\n", lineEndOf([this.#start]));
    }

    /** A text that is not JSON cannot be sent in the place of JSON. */
    #check() {
        let problem = "";
        if (this.#isJSON) {
            try {
                JSON.parse(this.#text.value);
            } catch (error) {
                problem = `This text is not JSON: ${error.message}`;
            }
        }
        this.#text.setCustomValidity(problem);
    }

    async #send(send) {
        if (this.#submit.getAttribute("aria-disabled") === "true") return;
        this.#submit.setAttribute("aria-disabled", "true");
        if (await send(this.#body)) {
            this.#isEdited = false;
            this.#want(false);
        }
        this.#submit.removeAttribute("aria-disabled");
    }
}
