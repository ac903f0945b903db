// Snapshot: the page's DOM as HTML text for a replay without scripts.
// Larder evaluates this text, followed by "(" + JSON of the options + ")", in an isolated world of the main frame.
// Options: url, the URL of the captured response; limit, the most characters; milliseconds, the longest time.
// The answer is null when a limit is reached or the document is not HTML.
// The walk is read-only and has a stack of its own: getHTML and cloneNode recurse, and deep pages crash them.
(function snapshot(options) {
  "use strict";
  const stopped = new Error("a limit was reached");
  const htmlNamespace = "http://www.w3.org/1999/xhtml";
  const knownNamespaces = new Set([htmlNamespace, "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"]);
  const voidNames = new Set("area base basefont bgsound br col embed frame hr img input link meta param source track wbr".split(" "));
  const droppedNames = new Set(["noscript", "noembed", "noframes"]);
  const canvasPixels = 16e6, frameDepth = 3;
  const layoutProperties = ["display", "position", "inset", "float", "width", "height", "margin", "padding", "border",
    "box-sizing", "transform", "z-index", "object-fit", "opacity", "visibility", "background"];
  const deadline = performance.now() + options.milliseconds;
  let size = 0, visits = 0;

  // Forms and documents let a page hide their properties behind named elements, so getters come from the prototypes.
  const getter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const nodeType = getter(Node, "nodeType"), lastChild = getter(Node, "lastChild"), previousSibling = getter(Node, "previousSibling");
  const firstChild = getter(Node, "firstChild"), textContent = getter(Node, "textContent"), data = getter(CharacterData, "data");
  const localName = getter(Element, "localName"), tagName = getter(Element, "tagName"), namespace = getter(Element, "namespaceURI");
  const shadowRoot = getter(Element, "shadowRoot"), { getAttributeNames, getAttribute } = Element.prototype;
  const rootOf = getter(Document, "documentElement"), headOf = getter(Document, "head"), bodyOf = getter(Document, "body");
  const doctypeOf = getter(Document, "doctype"), addressOf = getter(Document, "URL"), contentType = getter(Document, "contentType");
  const find = (tree, selector) => Document.prototype.querySelector.call(tree, selector);

  const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\u00a0": "&nbsp;" };
  const escapeText = text => text.replace(/[&<>\u00a0]/g, c => escapes[c]);
  const attribute = (name, value) => ` ${name}="${value.replace(/[&<>"\u00a0]/g, c => escapes[c])}"`;
  const escapeStyle = css => css.replace(/<\/(?=style)/gi, "<\\/");
  const withoutFragment = address => address.split("#")[0];

  const ruleTexts = (sheet, kept) => Array.from(sheet.cssRules).filter(kept).map(rule => rule.cssText);
  const ruleText = sheet => ruleTexts(sheet, () => true).join("\n");
  // Constructed sheets ignore @import, so the comparison leaves those rules out.
  function isChanged(sheet, text) {
    const parsed = new CSSStyleSheet();
    parsed.replaceSync(text);
    const notImport = rule => !(rule instanceof CSSImportRule);
    return ruleTexts(sheet, notImport).join("\n") !== ruleTexts(parsed, notImport).join("\n");
  }
  const styleText = (sheet, text) => sheet && isChanged(sheet, text) ? ruleText(sheet) : text;
  const currentStyle = element => styleText(element.sheet, textContent(element));
  const adoptedStyle = sheet => `<style${attribute("media", sheet.media.mediaText || "all")}>${escapeStyle(ruleText(sheet))}</style>`;
  const adoptedStyles = tree => Array.from(tree.adoptedStyleSheets).filter(sheet => !sheet.disabled).map(adoptedStyle).join("");

  const isDrawable = (width, height) => width * height > 0 && width * height <= canvasPixels;
  function canvasURL(canvas) {
    try { return isDrawable(canvas.width, canvas.height) ? canvas.toDataURL() : null; } catch { return null; }
  }
  function imageURL(image) {
    const canvas = Document.prototype.createElement.call(document, "canvas");
    if (!image.complete || !isDrawable(image.naturalWidth, image.naturalHeight)) return null;
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvasURL(canvas);
  }
  // Rules for "canvas" do not match an image, so the layout goes along as a style.
  const layoutStyle = (style, own) => layoutProperties.map(name => `${name}:${style.getPropertyValue(name)}`).join(";") + ";" + own;
  // Rewriters change the attributes of one kind of HTML element; the answer may name another element or give its content.
  const setFlag = (attributes, name, on) => on ? attributes.set(name, "") : attributes.delete(name);
  const isSecret = input => ["password", "file"].includes(input.type) || /password|one-time-code|\bcc-/i.test(input.autocomplete);
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
      const url = canvasURL(element);
      if (!url) return {};
      const { width, height } = element, style = layoutStyle(getComputedStyle(element), attributes.get("style") ?? "");
      for (const [name, value] of Object.entries({ src: url, width, height, style })) attributes.set(name, String(value));
      return { name: "img" };
    },
    img(element, attributes) {
      const url = element.currentSrc.startsWith("blob:") && imageURL(element);
      if (url) { attributes.set("src", url); attributes.delete("srcset"); }
    },
    // Frames without a URL of their own exist only in the DOM; the others are resources of the capture.
    iframe(element, attributes, depth) {
      const inner = element.contentDocument;
      const isOwn = inner && depth < frameDepth && /^about:(blank|srcdoc)/.test(addressOf(inner)) && bodyOf(inner) && firstChild(bodyOf(inner));
      if (isOwn) attributes.set("srcdoc", serialize(inner, "", depth + 1));
      return { content: "" };
    },
    xmp() { return { name: "pre" }; },
    plaintext() { return { name: "pre" }; },
  };

  function doctypeText(doctype) {
    if (!doctype) return "";
    const { name, publicId, systemId } = doctype;
    return `<!DOCTYPE ${name}${publicId ? ` PUBLIC "${publicId}"` : systemId && " SYSTEM"}${systemId && ` "${systemId}"`}>`;
  }
  function baseText(tree) {
    const moved = withoutFragment(addressOf(tree)) !== withoutFragment(options.url);
    return moved && !find(tree, "base[href]") ? `<base${attribute("href", addressOf(tree))}>` : "";
  }
  function isDropped(element, name) {
    if (name === "script") return !/^application\/ld\+json$/i.test(element.getAttribute("type")?.trim() ?? "");
    return droppedNames.has(name) && namespace(element) === htmlNamespace;
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
    function writeElement(element) {
      const space = namespace(element), isHTML = space === htmlNamespace;
      let name = knownNamespaces.has(space) ? localName(element) : tagName(element), content;
      if (isDropped(element, name)) return;
      const rewriter = isHTML && Object.hasOwn(rewriters, name) ? rewriters[name] : null;
      const attributes = new Map();
      for (const key of getAttributeNames.call(element)) attributes.set(key, getAttribute.call(element, key) ?? "");
      if (rewriter) ({ name = name, content } = rewriter(element, attributes, depth) ?? {});
      let start = "<" + name;
      for (const [key, value] of attributes) start += attribute(key, value);
      write(start + ">");
      if (isHTML && voidNames.has(name)) return;
      work.push(`</${name}>`);
      if (content !== undefined) return write(content);
      // Parsers drop the first line feed of these elements.
      if (name === "pre" || name === "listing") write("\n");
      if (element === root) work.push(adoptedStyles(tree));
      if (!isHTML && name === "style") work.push(escapeText(currentStyle(element)));
      else addChildren(isHTML && name === "template" ? element.content : element);
      if (shadowRoot(element)) addShadow(shadowRoot(element));
      if (element === baseParent) work.push(base);
    }
    function writeItem(item) {
      if (typeof item === "string") return write(item);
      const type = nodeType(item);
      if (type === Node.ELEMENT_NODE) writeElement(item);
      else if (type === Node.TEXT_NODE || type === Node.CDATA_SECTION_NODE) write(escapeText(data(item)));
    }
    write(doctypeText(doctypeOf(tree)));
    while (work.length) {
      if (++visits % 256 === 0 && performance.now() > deadline) throw stopped;
      writeItem(work.pop());
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
