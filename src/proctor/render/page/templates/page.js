"use strict";
(() => {
  const PIECE = 200;
  const BAD = ["failed", "error", "crash", "timeout"];
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, parent) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = make("textarea", text, document.body);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    const label = button.firstChild;
    label.data = "Copied";
    setTimeout(() => { label.data = "Copy"; }, 2000);
  });

  const list = byId("tests"), search = byId("search"), sort = byId("sort"), shown = byId("shown");
  if (!list) return;
  const whole = shown.textContent;
  const held = byId("data");
  const data = held && JSON.parse(held.textContent);
  let rows, found;
  if (data) for (const target of list.querySelectorAll("ol")) target.replaceChildren();

  const brief = (ms) => ms >= 1000 ? (ms / 1000).toFixed(2) + "s" : ms.toFixed(ms >= 10 ? 0 : 1) + "ms";
  const milliseconds = (text) => parseFloat(text) * (text.endsWith("ms") ? 1 : 1000);

  const fromData = (group, number) => Array.from(group.names, (name, at) => ({
    id: group.prefix + name, name, file: group.file, suite: group.suite, group: number,
    word: data.words[group.words[at]], ms: group.times[at] / 10, cause: (group.causes || {})[at],
    link: (group.links || {})[at],
  }));
  const fromPage = (details, number) => Array.from(details.querySelectorAll("li"), (node) => ({
    node, id: node.dataset.id, name: node.children[1].textContent, group: number,
    file: details.querySelector(".path").textContent,
    suite: details.dataset.suite, link: node.dataset.link,
    word: node.firstChild.textContent, ms: milliseconds(node.lastChild.textContent),
  }));
  const groups = () => data ? data.groups.map(fromData) : Array.from(list.querySelectorAll(".file"), fromPage);
  const all = () => rows || (rows = groups().flat());

  const element = (row) => {
    if (row.node) return row.node;
    const node = row.node = make("li");
    node.dataset.id = row.id;
    node.className = row.word.replace(" ", "_");
    make("b", row.word, node);
    const name = make(row.cause ? "a" : "span", row.name, node);
    if (row.cause) name.href = "#failure-" + row.cause;
    name.before(" ");
    name.after(" ");
    make("small", brief(row.ms), node);
    return node;
  };
  const flat = (row) => {
    const node = element(row), name = node.children[1];
    if (!name.querySelector("i") && row.id !== row.name) name.prepend(make("i", row.file + "::"));
    return node;
  };

  // Draws rows in pieces: the next piece follows when its button is reached.
  const draw = (target, wanted, drawn, from = 0) => {
    const piece = wanted.slice(from, from + PIECE);
    target.append(...piece.map(drawn));
    const next = from + PIECE;
    if (next >= wanted.length) return;
    const item = make("li", undefined, target);
    const button = make("button", "Show more (" + (wanted.length - next) + ")", item);
    button.type = "button";
    const go = () => { watch.disconnect(); item.remove(); draw(target, wanted, drawn, next); };
    const watch = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) go(); });
    button.addEventListener("click", go);
    watch.observe(item);
  };

  const test = (word) => {
    const slow = /^slow([<>])(=?)([\d.]+)(ms|s|m)?$/.exec(word);
    if (slow) {
      const limit = parseFloat(slow[3]) * { ms: 1, s: 1000, m: 60000 }[slow[4] || "s"];
      return (row) => (slow[1] === ">" ? row.ms > limit : row.ms < limit) || (slow[2] && row.ms === limit);
    }
    const [, key, value] = /^(is|suite|file):(.*)$/.exec(word) || [];
    if (key === "is") {
      return (row) => value === "bad" ? BAD.includes(row.word) : row.word.replace(" ", "_") === value || row.word === value;
    }
    if (key) return (row) => row[key].toLowerCase().includes(value);
    return (row) => row.id.toLowerCase().includes(word);
  };
  const matching = (text) => {
    const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
      if (word.length < 2 || word[0] !== "-") return test(word);
      const not = test(word.slice(1));
      return (row) => !not(row);
    });
    return all().filter((row) => tests.every((passes) => passes(row)));
  };
  const orders = {
    slow: (a, b) => b.ms - a.ms,
    bad: (a, b) => BAD.includes(b.word) - BAD.includes(a.word),
    name: (a, b) => a.id < b.id ? -1 : 1,
  };

  // Rows that are data are made when their file is unfolded.
  const fill = (details) => {
    const target = details.querySelector("ol");
    if (data && !target.firstChild) draw(target, all().filter((row) => row.group === Number(details.dataset.group)), element);
  };

  const restore = () => {
    if (!found) return;
    found.remove();
    found = undefined;
    const nodes = new Map();
    for (const row of data ? [] : rows) {
      if (!nodes.has(row.group)) nodes.set(row.group, []);
      nodes.get(row.group).push(row.node);
    }
    for (const details of list.querySelectorAll(".file")) {
      details.hidden = false;
      details.querySelector("ol").replaceChildren(...(nodes.get(Number(details.dataset.group)) || []));
      if (details.open) fill(details);
    }
  };
  const update = () => {
    const text = search.value.trim();
    restore();
    if (!text && !sort.value) {
      shown.textContent = whole;
      return;
    }
    const wanted = matching(text);
    if (sort.value) wanted.sort(orders[sort.value]);
    showOnly(wanted);
  };
  const showOnly = (wanted) => {
    for (const details of list.querySelectorAll(".file")) details.hidden = true;
    found = make("ol");
    list.prepend(found);
    draw(found, wanted, flat);
    shown.textContent = wanted.length + " of " + all().length + " tests";
  };
  search.addEventListener("input", update);
  sort.addEventListener("change", update);

  list.addEventListener("toggle", (event) => { if (event.target.open) fill(event.target); }, true);

  const jump = () => {
    if (!location.hash.startsWith("#test=")) {
      const target = location.hash && byId(location.hash.slice(1));
      if (!target) return;
      for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
      for (const folded of target.querySelectorAll(":scope > .fold")) folded.open = true;
      target.scrollIntoView();
      return;
    }
    let id;
    try { id = decodeURIComponent(location.hash.slice(6)); } catch { return; }
    const row = all().find((one) => id === (one.link ? decodeURIComponent(one.link) : one.id));
    search.value = sort.value = "";
    update();
    if (!row) {
      const file = Array.from(list.querySelectorAll(".path")).find((one) => id.startsWith(one.textContent + "::"));
      if (file) file.scrollIntoView({ block: "center", behavior: "instant" });
      return;
    }
    const details = list.querySelector('.file[data-group="' + row.group + '"]');
    if (!details) showOnly([row]);
    else {
      details.open = true;
      fill(details);
      const target = details.querySelector("ol");
      if (!element(row).isConnected) target.prepend(row.node);
    }
    for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
    row.node.setAttribute("aria-current", "true");
    row.node.tabIndex = -1;
    row.node.focus({ preventScroll: true });
    row.node.scrollIntoView({ block: "center", behavior: "instant" });
  };
  addEventListener("hashchange", jump);
  jump();
})();
