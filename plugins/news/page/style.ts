/** Style of the page. Uses the custom properties of the console. */
export const STYLE = `
  :host { display: block; }
  *, *::before, *::after { box-sizing: border-box; }
  .page { display: grid; gap: 16px; padding: 4px 0 24px; color: var(--text); }
  p, h2, h3 { margin: 0; }
  h2 { font-size: 15px; font-weight: 650; }
  h3 { font-size: 13px; font-weight: 650; }
  .dim { color: var(--text-dim); }
  .bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
  .problem { color: var(--bad); overflow-wrap: anywhere; }
  .columns { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(280px, 100%), 1fr)); gap: 12px; align-items: start; }
  .card { display: grid; gap: 8px; padding: 12px 16px; border: 1px solid var(--border); border-radius: var(--radius); background: var(--surface); min-width: 0; }
  .text { white-space: pre-wrap; overflow-wrap: anywhere; padding: 8px 10px; border-radius: 6px; background: var(--accent-soft); max-height: 320px; overflow: auto; }
  .count { color: var(--text-dim); font-size: 12px; font-variant-numeric: tabular-nums; }
  .count.over { color: var(--bad); font-weight: 650; }
  .badge { padding: 2px 10px; border-radius: 999px; font-weight: 650; background: var(--ok-soft); color: var(--ok); }
  .badge.bad { background: var(--bad-soft); color: var(--bad); }
  .badge.open { background: var(--warn-soft); color: var(--warn); }
  button { font: inherit; color: var(--text); background: var(--surface); border: 1px solid var(--border-strong); border-radius: 6px; padding: 5px 10px; min-height: 32px; cursor: pointer; }
  button:disabled { cursor: default; opacity: 0.6; }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
  code { font-family: var(--font-mono); font-size: 12.5px; overflow-wrap: anywhere; }
`
