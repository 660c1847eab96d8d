/** Style sheet of the playground. The custom properties of the console are inherited. */
export const STYLE = `
:host { color-scheme: inherit; }
*, *::before, *::after { box-sizing: border-box; }
.playground {
  display: flex; flex-direction: column; gap: 12px; flex: 1;
  max-width: 1200px; min-height: calc(100vh - 130px);
  font: 14px/1.5 var(--font, system-ui, sans-serif); color: var(--text);
}
h3, h4, p, dl, dd, pre, blockquote { margin: 0; }
h3 { font-size: 13px; font-weight: 650; color: var(--text-dim); overflow-wrap: anywhere; }
h4 { font-size: 14px; font-weight: 650; }
.dim { color: var(--text-dim); }
.small { font-size: 12.5px; }
.ok { color: var(--ok); }
.bad-text { color: var(--bad); }
.grow { flex: 1; }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; }
.stack { display: flex; flex-direction: column; gap: 8px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }

button, select, input, textarea {
  font: inherit; color: var(--text); background: var(--surface);
  border: 1px solid var(--border-strong, var(--border)); border-radius: 6px;
}
button { min-height: 32px; padding: 4px 12px; font-weight: 550; cursor: pointer; }
button:hover:not(:disabled) { background: var(--surface-2); }
button:disabled { opacity: .55; cursor: not-allowed; }
button.small { min-height: 26px; padding: 1px 8px; font-size: 12.5px; }
button.primary { color: var(--accent-text); background: var(--accent); border-color: var(--accent); }
button.primary:hover:not(:disabled) { background: var(--accent); filter: brightness(1.1); }
button.danger { color: var(--bad); border-color: var(--bad); }
button[aria-pressed='true'], button[aria-expanded='true'] { background: var(--surface-2); }
select, input:not([type='checkbox']) { min-height: 32px; padding: 4px 8px; width: 100%; min-width: 0; }
textarea { width: 100%; padding: 6px 9px; resize: vertical; }
textarea.code, textarea.copy { font-family: var(--font-mono); font-size: 12.5px; }
input[type='checkbox'] { width: 16px; height: 16px; margin: 0; accent-color: var(--accent); }
[aria-invalid='true'] { border-color: var(--bad); }
::placeholder { color: var(--text-dim); opacity: 1; }
label { display: flex; flex-direction: column; gap: 4px; font-size: 12.5px; color: var(--text-dim); }
label.check { flex-direction: row; align-items: center; gap: 6px; color: var(--text); min-height: 32px; }

.bar { display: flex; flex-wrap: wrap; align-items: end; gap: 10px; }
.bar .model { min-width: 0; flex: 0 1 260px; }
.settings {
  display: flex; flex-direction: column; gap: 12px; padding: 14px;
  background: var(--surface); border: 1px solid var(--border); border-radius: var(--radius);
}
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 12px; align-items: end; }
details > summary { cursor: pointer; }
.settings details > .stack { padding-top: 8px; }
.notice { padding: 8px 12px; border: 1px solid var(--border); border-left: 3px solid var(--warn); border-radius: 6px; background: var(--surface); }
.notice.bad { border-left-color: var(--bad); }

.turns { flex: 1; display: flex; flex-direction: column; gap: 18px; }
.empty { margin: auto; padding: 32px 12px; text-align: center; max-width: 46ch; }
.end { scroll-margin-bottom: 140px; height: 1px; }
.turn { display: flex; flex-direction: column; gap: 10px; }
.message {
  align-self: end; max-width: min(85%, 720px); display: flex; flex-wrap: wrap; gap: 8px; align-items: start;
  padding: 8px 12px; border-radius: 12px; background: var(--surface-2);
}
.message > .plain { flex: 1 1 auto; }
.message:has(.editor) { width: 100%; }
.plain { white-space: pre-wrap; overflow-wrap: anywhere; }
.columns { display: grid; gap: 14px; grid-template-columns: minmax(0, 1fr); }
.columns[data-columns='2'] { grid-template-columns: repeat(2, minmax(0, 1fr)); }
.columns[data-columns='2'] .column { padding: 10px 12px; background: var(--surface); border: 1px solid var(--border); border-radius: var(--radius); }
.column, .answer, .step { display: flex; flex-direction: column; gap: 8px; min-width: 0; }
.editor { display: flex; flex-direction: column; gap: 8px; width: 100%; }

.markdown { display: flex; flex-direction: column; gap: 8px; overflow-wrap: anywhere; }
.markdown p, .markdown li { white-space: pre-wrap; }
.markdown ul, .markdown ol { margin: 0; padding-left: 22px; }
.markdown blockquote { padding-left: 12px; border-left: 3px solid var(--border); color: var(--text-dim); }
.markdown table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: 4px 10px; text-align: left; border-bottom: 1px solid var(--border); }
.markdown a { color: var(--accent); }
code, pre { font-family: var(--font-mono); font-size: 12.5px; }
pre { padding: 8px 10px; overflow-x: auto; background: var(--surface-2); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
.thinking { padding: 6px 10px; border: 1px solid var(--border); border-radius: 6px; color: var(--text-dim); }
.calls { display: flex; flex-direction: column; gap: 10px; }
.call { display: flex; flex-direction: column; gap: 8px; padding: 10px 12px; background: var(--surface); border: 1px solid var(--border); border-left: 3px solid var(--accent); border-radius: var(--radius); }
.figures { display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 12.5px; }
.figures div { display: flex; gap: 5px; }
.figures dt { color: var(--text-dim); }
.figures dd { font-variant-numeric: tabular-nums; }

.heat { display: flex; flex-direction: column; gap: 8px; }
.tokens { white-space: pre-wrap; overflow-wrap: anywhere; }
.token { border-radius: 3px; cursor: pointer; }
.token[aria-selected='true'] { box-shadow: 0 0 0 2px var(--accent); }
.alternatives { border-collapse: collapse; font-size: 12.5px; align-self: start; }
.alternatives caption { text-align: left; padding-bottom: 4px; color: var(--text-dim); }
.alternatives td:nth-child(n + 2) { text-align: right; font-variant-numeric: tabular-nums; }
.alternatives .chosen { font-weight: 650; }

.composer {
  position: sticky; bottom: 0; display: flex; flex-direction: column; gap: 8px; padding: 10px;
  background: var(--surface); border: 1px solid var(--border); border-radius: var(--radius);
  /* Covers text that scrolls through the padding below. */
  box-shadow: 0 44px 0 4px var(--bg);
}
@media (max-width: 640px) {
  .columns[data-columns='2'] { grid-template-columns: minmax(0, 1fr); }
  .bar .model { flex: 1 1 100%; }
  .message { max-width: 100%; }
  .keys { display: none; }
}
`
