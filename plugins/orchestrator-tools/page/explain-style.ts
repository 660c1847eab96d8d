/** Style of the page. Uses the custom properties of the console. */
export const STYLE = `
  .page { display: grid; gap: 12px; padding: 4px 0 24px; color: var(--text); }
  p { margin: 0; max-width: 72ch; }
  a { color: var(--accent); }
  .dim, .why { color: var(--text-dim); }
  .problem { color: var(--bad); }
  .empty { padding: 24px; border: 1px dashed var(--border); border-radius: var(--radius); }
  table {
    width: 100%; max-width: 900px; border-collapse: collapse; table-layout: fixed;
    background: var(--surface); border: 1px solid var(--border); border-radius: var(--radius);
  }
  table.chosen { border-color: var(--accent); }
  caption { text-align: left; font-weight: 650; padding: 8px 0; }
  .badge {
    margin-left: 8px; padding: 1px 8px; border-radius: 999px; font-size: 12px;
    background: var(--accent); color: var(--accent-text);
  }
  th, td { padding: 6px 12px; text-align: left; vertical-align: top; font-weight: 400; border-top: 1px solid var(--border); }
  thead th { color: var(--text-dim); font-size: 12px; border-top: 0; }
  tfoot th, .total { font-weight: 650; }
  .why { display: block; font-size: 12px; overflow-wrap: anywhere; }
  .zero th, .zero .value { color: var(--text-dim); }
  .points { display: flex; gap: 12px; align-items: center; }
  .value { min-width: 7ch; margin-left: auto; text-align: right; font-family: var(--font-mono); font-size: 12.5px; }
  .track {
    position: relative; flex: 1; height: 16px; border-radius: 4px; overflow: hidden;
    background: linear-gradient(var(--border-strong, var(--text-dim)) 0 0) center / 1px 100% no-repeat, var(--surface-2);
  }
  .bar { position: absolute; top: 3px; bottom: 3px; min-width: 1px; border-radius: 2px; }
  .positive { background: var(--ok); }
  .negative { background: var(--bad); }
`
