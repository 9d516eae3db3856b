"use strict";
// The page is whole without this: it sorts and filters the tables, and zooms into the flame graph.

function valueOf(row, column) {
  const cell = row.cells[column];
  const number = cell.dataset.value;
  return number === undefined ? cell.textContent : Number(number);
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

function sortBy(table, heading) {
  const falls = heading.classList.contains("number")
    ? heading.getAttribute("aria-sort") !== "descending"
    : heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => [valueOf(row, heading.cellIndex), row]);
  rows.sort((a, b) => (falls ? compare(b[0], a[0]) : compare(a[0], b[0])));
  body.append(...rows.map((pair) => pair[1]));
}

function makeSortable(table) {
  for (const heading of table.tHead.rows[0].cells) {
    if (heading.classList.contains("plain")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.addEventListener("click", () => sortBy(table, heading));
    heading.replaceChildren(button);
  }
}

function makeFilterable(table) {
  const rows = Array.from(table.tBodies[0].rows);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const tools = document.createElement("div");
  tools.className = "tools";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "filter rows";
  input.setAttribute("aria-label", "filter rows");
  const count = document.createElement("span");
  count.className = "note";
  const filter = () => {
    const wanted = input.value.toLowerCase();
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !texts[place].includes(wanted);
      if (!row.hidden) shown += 1;
    });
    count.textContent = wanted ? shown + " of " + rows.length + " rows" : rows.length + " rows";
  };
  input.addEventListener("input", filter);
  filter();
  tools.append(input, count);
  table.parentElement.before(tools);
}

function makeZoomable(flame) {
  const frames = Array.from(flame.children, (element) => ({
    element,
    from: parseFloat(element.getAttribute("x")),
    width: parseFloat(element.getAttribute("width")),
    level: parseFloat(element.getAttribute("y")),
  }));
  const zoom = (to) => {
    const end = to.from + to.width;
    for (const frame of frames) {
      const inside = frame.level >= to.level && frame.from >= to.from - 0.002 && frame.from + frame.width <= end + 0.002;
      const around = frame.level < to.level && frame.from <= to.from + 0.002 && frame.from + frame.width >= end - 0.002;
      frame.element.style.display = inside || around ? "" : "none";
      frame.element.classList.toggle("around", around);
      frame.element.setAttribute("x", around ? "0%" : ((frame.from - to.from) / to.width) * 100 + "%");
      frame.element.setAttribute("width", around ? "100%" : (frame.width / to.width) * 100 + "%");
    }
  };
  flame.classList.add("zooms");
  for (const frame of frames) frame.element.addEventListener("click", () => zoom(frame));
}

for (const table of document.querySelectorAll("table.rows")) {
  makeSortable(table);
  makeFilterable(table);
}
document.querySelectorAll("svg.flame").forEach(makeZoomable);
