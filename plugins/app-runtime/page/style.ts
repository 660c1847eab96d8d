/** Style of the pages. Uses the custom properties of the console. */
export const STYLE = `
  :host { display: block; }
  *, *::before, *::after { box-sizing: border-box; }
  .page { display: grid; gap: 12px; padding: 4px 0 24px; color: var(--text); }
  p, h2 { margin: 0; }
  h2 { font-size: 15px; font-weight: 650; }
  a { color: var(--accent); }
  .bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
  .grow { flex: 1; }
  .dim { color: var(--text-dim); }
  .problem { color: var(--bad); overflow-wrap: anywhere; }
  .notice { padding: 8px 12px; border-radius: var(--radius); background: var(--warn-soft); color: var(--warn); }
  .empty { padding: 24px; border: 1px dashed var(--border-strong); border-radius: var(--radius); color: var(--text-dim); }
  button, input, select, textarea {
    font: inherit; color: var(--text); background: var(--surface); border: 1px solid var(--border-strong);
    border-radius: 6px; padding: 5px 10px; min-height: 32px;
  }
  button { cursor: pointer; }
  button:disabled { cursor: default; opacity: 0.6; }
  button.primary { background: var(--accent); border-color: var(--accent); color: var(--accent-text); }
  button.danger { border-color: var(--bad); color: var(--bad); }
  button.plain { border: 0; background: none; padding: 0; min-height: 24px; font-weight: 650; text-align: left; }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
  label { display: inline-flex; gap: 6px; align-items: center; }
  .scroll { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); background: var(--surface); }
  table { border-collapse: collapse; width: 100%; }
  th, td { padding: 6px 12px; text-align: left; vertical-align: top; border-top: 1px solid var(--border); }
  thead th { border-top: 0; white-space: nowrap; }
  td { max-width: 36ch; overflow-wrap: anywhere; }
  td.number { font-variant-numeric: tabular-nums; }
  .none { color: var(--text-dim); font-style: italic; }
  code { font-family: var(--font-mono); font-size: 12.5px; }
  .chip { display: inline-flex; gap: 6px; align-items: center; padding: 2px 4px 2px 10px; border-radius: 999px; background: var(--accent-soft); }
  .chip button { min-height: 24px; padding: 0 8px; border: 0; background: none; }
  dialog {
    width: min(560px, calc(100vw - 32px)); max-height: calc(100vh - 64px); overflow: auto; padding: 20px;
    color: var(--text); background: var(--surface); border: 1px solid var(--border); border-radius: var(--radius);
    box-shadow: var(--shadow);
  }
  dialog::backdrop { background: rgb(0 0 0 / 45%); }
  form.edit { display: grid; gap: 12px; }
  .field { display: grid; gap: 4px; border: 0; padding: 0; margin: 0; min-width: 0; }
  .field .name { font-weight: 650; }
  .field .type { font-weight: 400; color: var(--text-dim); }
  textarea { width: 100%; resize: vertical; }
  textarea.code { font-family: var(--font-mono); font-size: 12.5px; }
  .field input[type='text'], .field select { width: 100%; }
  form.request { display: grid; gap: 12px; max-width: 720px; }
  .answer { display: grid; gap: 8px; padding: 12px 16px; border: 1px solid var(--border); border-radius: var(--radius); background: var(--surface); }
  .badge { padding: 2px 10px; border-radius: 999px; font-weight: 650; background: var(--ok-soft); color: var(--ok); }
  .badge.warn { background: var(--warn-soft); color: var(--warn); }
  ul.findings { display: grid; gap: 6px; margin: 0; padding: 0; list-style: none; overflow-wrap: anywhere; }
  .badge.bad { background: var(--bad-soft); color: var(--bad); }
  pre { margin: 0; max-height: 420px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; font: 12.5px/1.5 var(--font-mono); }
  summary { cursor: pointer; }
  @media (max-width: 600px) {
    thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    tr { display: block; padding: 8px 0; border-top: 1px solid var(--border); }
    td { display: grid; grid-template-columns: minmax(80px, 35%) 1fr; gap: 8px; max-width: none; border: 0; padding: 3px 12px; }
    td::before { content: attr(data-label); color: var(--text-dim); }
  }
`
