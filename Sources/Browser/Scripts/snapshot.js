// Snapshot: the page's DOM as HTML text for a replay without scripts.
// Larder evaluates this text, followed by "(" + JSON of the options + ")", in an isolated world of the main frame.
// Options: url, the URL of the captured response; limit, the most characters; milliseconds, the longest time (null when reached).
// The walk is read-only and has a stack of its own: getHTML and cloneNode recurse, and deep pages crash them.
(function snapshot(options) {
  "use strict";
  const htmlNamespace = "http://www.w3.org/1999/xhtml";
  const knownNamespaces = new Set([htmlNamespace, "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"]);
  const voidNames = new Set("area base basefont bgsound br col embed frame hr img input link meta param source track wbr".split(" "));
  const layoutNames = "display position inset float width height margin padding border box-sizing transform z-index opacity background".split(" ");
  const canvasPixels = 16e6, frameDepth = 3, stopped = new Error("a limit was reached");
  const deadline = performance.now() + options.milliseconds;
  let size = 0, visits = 0;
  // Forms and documents let a page hide their properties behind named elements, so getters come from the prototypes.
  const getter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const [nodeType, firstChild, lastChild, previousSibling, textContent] =
    ["nodeType", "firstChild", "lastChild", "previousSibling", "textContent"].map(name => getter(Node, name));
  const [localName, tagName, namespace, shadowRoot] =
    ["localName", "tagName", "namespaceURI", "shadowRoot"].map(name => getter(Element, name));
  const [rootOf, headOf, bodyOf, doctypeOf, addressOf, contentType] =
    ["documentElement", "head", "body", "doctype", "URL", "contentType"].map(name => getter(Document, name));
  const data = getter(CharacterData, "data"), { createElement, querySelector } = Document.prototype;
  const { getAttributeNames, getAttribute } = Element.prototype;

  const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\u00a0": "&nbsp;" };
  const escapeText = text => text.replace(/[&<>\u00a0]/g, c => escapes[c]);
  const attribute = (name, value) => ` ${name}="${value.replace(/[&<>"\u00a0]/g, c => escapes[c])}"`;
  const escapeStyle = css => css.replace(/<\/(?=style)/gi, "<\\/");
  const withoutFragment = address => address.split("#")[0];
  const ruleTexts = (sheet, kept) => Array.from(sheet.cssRules).filter(kept).map(rule => rule.cssText).join("\n");
  // Constructed sheets ignore @import, so the comparison leaves those rules out.
  function isChanged(sheet, text) {
    const parsed = new CSSStyleSheet(), notImport = rule => !(rule instanceof CSSImportRule);
    parsed.replaceSync(text);
    return ruleTexts(sheet, notImport) !== ruleTexts(parsed, notImport);
  }
  const styleText = (sheet, text) => sheet && isChanged(sheet, text) ? ruleTexts(sheet, () => true) : text;
  const currentStyle = element => styleText(element.sheet, textContent(element));
  const adoptedStyle = sheet => `<style${attribute("media", sheet.media.mediaText || "all")}>${escapeStyle(ruleTexts(sheet, () => true))}</style>`;
  const adoptedStyles = tree => Array.from(tree.adoptedStyleSheets).filter(sheet => !sheet.disabled).map(adoptedStyle).join("");

  const isDrawable = (width, height) => width * height > 0 && width * height <= canvasPixels;
  function canvasURL(canvas) {
    try { return isDrawable(canvas.width, canvas.height) ? canvas.toDataURL() : null; } catch { return null; }
  }
  function imageURL(image) {
    if (!image.complete || !isDrawable(image.naturalWidth, image.naturalHeight)) return null;
    const canvas = createElement.call(document, "canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvasURL(canvas);
  }
  // Rules for "canvas" do not match an image, so the layout goes along as a style.
  const layoutStyle = (style, own) => layoutNames.map(name => `${name}:${style.getPropertyValue(name)}`).join(";") + ";" + own;
  const setFlag = (attributes, name, on) => on ? attributes.set(name, "") : attributes.delete(name);
  const isSecret = field => ["password", "file"].includes(field.type) || /password|one-time-code|\bcc-/i.test(field.autocomplete);
  // Rewriters change the attributes of one kind of HTML element; the answer may give another name or the content.
  const rewriters = {
    input(element, attributes) {
      if (isSecret(element)) attributes.delete("value");
      else if (["checkbox", "radio"].includes(element.type)) setFlag(attributes, "checked", element.checked);
      else if (element.value !== (attributes.get("value") ?? "")) attributes.set("value", element.value);
    },
    option(element, attributes) { setFlag(attributes, "selected", element.selected); },
    textarea(element) { return { content: "\n" + (isSecret(element) ? "" : escapeText(element.value)) }; },
    style(element, attributes) {
      if (element.sheet?.disabled) attributes.set("media", "not all");
      return { content: escapeStyle(currentStyle(element)) };
    },
    script(element) { return { content: textContent(element).replace(/</g, "\\u003c") }; },
    canvas(element, attributes) {
      const { width, height } = element, src = canvasURL(element);
      if (!src) return {};
      const style = layoutStyle(getComputedStyle(element), attributes.get("style") ?? "");
      for (const [name, value] of Object.entries({ src, width, height, style })) attributes.set(name, String(value));
      return { name: "img" };
    },
    img(element, attributes) {
      const url = element.currentSrc.startsWith("blob:") && imageURL(element);
      if (url) attributes.set("src", url).delete("srcset");
    },
    // Frames without a URL of their own exist only in the DOM; the others are resources of the capture.
    iframe(element, attributes, depth) {
      const inner = depth < frameDepth && element.contentDocument, body = inner && bodyOf(inner);
      const isOwn = body && firstChild(body) && /^about:(blank|srcdoc)/.test(addressOf(inner));
      if (isOwn) attributes.set("srcdoc", serialize(inner, "", depth + 1));
      return { content: "" };
    },
    xmp: () => ({ name: "pre" }), plaintext: () => ({ name: "pre" }),
  };

  function doctypeText(doctype) {
    if (!doctype) return "";
    const { name, publicId, systemId } = doctype, ids = publicId ? ` PUBLIC "${publicId}"` : systemId && " SYSTEM";
    return `<!DOCTYPE ${name}${ids}${systemId && ` "${systemId}"`}>`;
  }
  function baseText(tree) {
    const isMoved = withoutFragment(addressOf(tree)) !== withoutFragment(options.url);
    return isMoved && !querySelector.call(tree, "base[href]") ? `<base${attribute("href", addressOf(tree))}>` : "";
  }
  function isDropped(element, name) {
    if (name === "script") return !/^\s*application\/ld\+json\s*$/i.test(getAttribute.call(element, "type") ?? "");
    return ["noscript", "noembed", "noframes"].includes(name);
  }
  function serialize(tree, base, depth) {
    const root = rootOf(tree), baseParent = headOf(tree) ?? root, parts = [], work = [root];
    const write = part => { parts.push(part); if ((size += part.length) > options.limit) throw stopped; };
    const addChildren = node => { for (let child = lastChild(node); child; child = previousSibling(child)) work.push(child); };
    function addShadow(shadow) {
      work.push("</template>", adoptedStyles(shadow));
      addChildren(shadow);
      work.push(`<template shadowrootmode="open"${shadow.delegatesFocus ? " shadowrootdelegatesfocus" : ""}>`);
    }
    // The stack is read from its end, so the last part of the text is added first.
    function writeElement(element) {
      const space = namespace(element), isHTML = space === htmlNamespace, attributes = new Map();
      let name = knownNamespaces.has(space) ? localName(element) : tagName(element), content;
      if (isDropped(element, name)) return;
      for (const key of getAttributeNames.call(element)) attributes.set(key, getAttribute.call(element, key) ?? "");
      if (isHTML && Object.hasOwn(rewriters, name)) ({ name = name, content } = rewriters[name](element, attributes, depth) ?? {});
      write(`<${name}${Array.from(attributes, pair => attribute(...pair)).join("")}>`);
      if (isHTML && voidNames.has(name)) return;
      work.push(`</${name}>`);
      if (content !== undefined) return write(content);
      if (name === "pre" || name === "listing") write("\n"); // Parsers drop a first line feed.
      if (element === root) work.push(adoptedStyles(tree));
      if (!isHTML && name === "style") work.push(escapeText(currentStyle(element)));
      else addChildren(isHTML && name === "template" ? element.content : element);
      if (shadowRoot(element)) addShadow(shadowRoot(element));
      if (element === baseParent) work.push(base);
    }
    write(doctypeText(doctypeOf(tree)));
    while (work.length) {
      const item = work.pop(), type = typeof item === "string" ? 0 : nodeType(item);
      if (type === 0) write(item);
      else if (type === Node.ELEMENT_NODE) writeElement(item);
      else if (type === Node.TEXT_NODE || type === Node.CDATA_SECTION_NODE) write(escapeText(data(item)));
      if (++visits % 256 === 0 && performance.now() > deadline) throw stopped;
    }
    return parts.join("");
  }
  try {
    const isPage = ["text/html", "application/xhtml+xml"].includes(contentType(document)) && rootOf(document);
    return isPage ? serialize(document, baseText(document), 0).toWellFormed() : null;
  } catch (error) {
    if (error === stopped) return null;
    throw error;
  }
})
