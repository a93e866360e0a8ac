// Sorting of tables by a button in each heading; no character here is special to XML.
'use strict';
(function () {
  function keyOf(row, index) {
    const cell = row.cells[index];
    if (cell.className === 'none') return null;
    const value = cell.dataset.value;
    return value === undefined ? cell.textContent : Number(value);
  }
  function compare(a, b) {  // what is missing comes last, numbers before words
    if (typeof a === 'number') return typeof b === 'number' ? a - b : -1;
    return typeof b === 'number' ? 1 : a.localeCompare(b);
  }
  function sort(table, heading) {
    const index = heading.cellIndex;
    const order = heading.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending';
    const sign = order === 'ascending' ? 1 : -1;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).map(function (row) { return { row: row, key: keyOf(row, index) }; });
    const there = rows.filter(function (item) { return item.key !== null; });
    const missing = rows.filter(function (item) { return item.key === null; });
    there.sort(function (a, b) { return sign * compare(a.key, b.key); });
    there.concat(missing).forEach(function (item) { body.appendChild(item.row); });
    Array.from(heading.parentNode.cells).forEach(function (other) { other.removeAttribute('aria-sort'); });
    heading.setAttribute('aria-sort', order);
  }
  document.querySelectorAll('table.sortable').forEach(function (table) {
    table.querySelectorAll('thead th').forEach(function (heading) {
      heading.querySelector('button').addEventListener('click', function () { sort(table, heading); });
    });
  });
}());
