// The page: head, facts, the explorer, then blocks of charts, tables, text and code.
const began = performance.now();
const data = JSON.parse(document.getElementById("data").textContent);
const afterwards = [];
let explorer = null;
const cellOf = (cell, head) => {
  const tag = head ? "th" : "td", rich = cell !== null && typeof cell === "object" ? cell : { text: cell };
  const found = make(tag, { class: rich.class, scope: head ? "col" : null });
  if (rich.badge) found.append(make("span", { class: `badge ${rich.badge}` }, rich.text));
  else if (rich.show != null && explorer) found.append(make("button", { type: "button", "aria-label": `Show run ${rich.text} above`, onclick: () => { explorer.chosen(rich.show); document.getElementById("explore").scrollIntoView(); } }, rich.text));
  else found.append(String(rich.text ?? "–"));
  return found;
};
const BLOCKS = {
  text: (item) => make("p", { class: "note" }, item.text),
  table: (item) => make("div", { class: "table", tabindex: 0, role: "region", "aria-label": `Table: ${item.caption}` },
    make("table", {}, make("caption", { class: "sr" }, item.caption),
      make("thead", {}, make("tr", {}, ...item.columns.map((each) => cellOf(each, true)))),
      make("tbody", {}, ...item.rows.map((row) => make("tr", {}, ...row.map((each) => cellOf(each, false))))))),
  code: (item) => {
    const text = make("pre", { tabindex: 0, role: "region", "aria-label": item.title }, make("code", {}, item.text));
    const button = make("button", { type: "button", "aria-label": `Copy: ${item.title}` }, "Copy");
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(item.text); button.textContent = "Copied"; }
      catch { const range = document.createRange(); range.selectNodeContents(text); getSelection().removeAllRanges(); getSelection().addRange(range); button.textContent = "Selected"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    return make("div", {}, make("h3", {}, item.title), make("div", { class: "code" }, text, button));
  },
  chart: (item) => {
    const view = chart(item.title, item.about || "");
    afterwards.push(() => view.update({ ...item, hover: undefined }));
    return make("div", { class: "card" }, make("h3", {}, item.title), item.about ? make("p", { class: "note" }, item.about) : null, view.host);
  },
  picture: (item) => make("figure", { class: "wide" }, make("img", { src: item.source, alt: item.alt, loading: "lazy", style: "max-width:100%;height:auto;background:#fff;border-radius:10px" }), make("figcaption", {}, item.alt)),
  pair: (item) => make("div", { class: "pair" }, ...item.items.map(blockOf)),
  fold: (item) => {
    const inner = make("div", {}, ...item.items.map(blockOf));
    return make("details", { open: item.open }, make("summary", {}, item.title), inner);
  },
};
const blockOf = (item) => BLOCKS[item.type](item);
const root = document.getElementById("page"), main = make("main", { id: "main" });
const header = make("header", { class: "top" }, make("p", { class: "eyebrow" }, data.eyebrow), make("h1", {}, data.title), make("p", { class: "lede" }, data.lede));
if (data.verdict) header.append(make("div", { class: `verdict ${data.verdict.tone}` }, make("strong", {}, data.verdict.head), data.verdict.text));
if (data.facts.length) main.append(make("dl", { class: "facts" }, ...data.facts.map((fact) => make("div", {}, make("dt", {}, fact.label), make("dd", { class: "value" }, fact.value), fact.small ? make("dd", { class: "small" }, fact.small) : null))));
if (data.explore) { explorer = exploreView(data.explore); main.append(explorer.section); }
for (const block of data.blocks) {
  const id = fresh("part");
  main.append(make("section", { "aria-labelledby": id }, make("h2", { id }, block.title), block.note ? make("p", { class: "note" }, block.note) : null, ...block.items.map(blockOf)));
}
root.replaceChildren(header, main, make("footer", {}, data.footer));
if (explorer) explorer.refresh();
afterwards.forEach((each) => each());
window.mflno = { data, ready: performance.now(), took: performance.now() - began, ...(explorer ? explorer.hook : {}) };
