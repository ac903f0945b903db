// Scroll: the page is scrolled step by step to its end and back, so that it loads the images on the way.
// Larder evaluates this text, followed by "(" + JSON of the options + ")", with awaitPromise in an isolated world.
// Options: steps, the most steps for each container; milliseconds, the longest time; pause, milliseconds after a step.
// The answer says how far the page went: { steps, innerSteps, lazy, height, finished }.
(function scroll(options) {
  "use strict";
  const deadline = performance.now() + options.milliseconds;
  const pause = options.pause ?? 60, mostElements = 50000;
  const answer = { steps: 0, innerSteps: 0, lazy: 0, height: 0, finished: false };
  const isLate = () => performance.now() > deadline;
  const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
  const elementsOf = tree => (tree instanceof ShadowRoot ? ShadowRoot : Element).prototype.querySelectorAll.call(tree, "*");
  const getter = (type, name) => { const { get } = Object.getOwnPropertyDescriptor(type.prototype, name); return node => get.call(node); };
  const shadowRoot = getter(Element, "shadowRoot"), clientHeight = getter(Element, "clientHeight"), clientWidth = getter(Element, "clientWidth");
  const scrollHeight = getter(Element, "scrollHeight"), scrollTop = getter(Element, "scrollTop");
  const scrollingElement = getter(Document, "scrollingElement"), rootElement = getter(Document, "documentElement");
  // Smooth scrolling, a wish of many style sheets, would not arrive before the next step.
  const scrollTo = (element, top) => Element.prototype.scrollTo.call(element, { top, behavior: "instant" });

  // Elements of open shadow roots are part of the list; huge pages are cut.
  function allElements() {
    const found = [], trees = [rootElement(document)];
    while (trees.length && found.length < mostElements && !isLate()) {
      for (const element of elementsOf(trees.pop())) {
        if (found.push(element) >= mostElements) break;
        const shadow = shadowRoot(element);
        if (shadow) trees.push(shadow);
      }
    }
    return found;
  }
  function loadLazy(elements) {
    for (const element of elements) {
      if (!["img", "iframe"].includes(element.localName) || element.loading !== "lazy") continue;
      element.loading = "eager";
      answer.lazy += 1;
    }
  }
  function isScrollable(element) {
    if (scrollHeight(element) < clientHeight(element) + 50 || clientHeight(element) < 100) return false;
    return /auto|scroll|overlay/.test(getComputedStyle(element).overflowY);
  }
  function largestContainer(elements, page) {
    let largest = null, area = 0;
    for (const element of elements) {
      if (isLate()) break;
      const own = clientHeight(element) * clientWidth(element);
      if (own > area && element !== page && isScrollable(element)) [largest, area] = [element, own];
    }
    return largest;
  }
  // Pages that grow at their end are followed until the steps or the time are used up.
  async function walk(element, height, counter) {
    for (let last = -1; answer[counter] < options.steps && scrollTop(element) > last && !isLate(); answer[counter] += 1) {
      last = scrollTop(element);
      scrollTo(element, last + Math.max(height() * 0.9, 100));
      await sleep(pause);
    }
    answer.height = Math.max(answer.height, scrollHeight(element));
    scrollTo(element, 0);
  }
  async function run() {
    const page = scrollingElement(document) ?? rootElement(document);
    if (!page) return;
    loadLazy(allElements());
    await walk(page, () => innerHeight, "steps");
    const elements = allElements(), inner = largestContainer(elements, page);
    if (inner) await walk(inner, () => clientHeight(inner), "innerSteps");
    loadLazy(elements);
    await sleep(pause);
    answer.finished = !isLate();
  }
  return Promise.race([run(), sleep(options.milliseconds)]).then(() => answer);
})
