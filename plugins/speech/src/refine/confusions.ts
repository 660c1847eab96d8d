import { Replacements } from './replacements.ts'

/** Words of this product that recognisers mishear. */
export const CONFUSIONS = new Replacements([
  ["men's", 'mens'],
  ['men’s', 'mens'],
  ['oratia', 'oratio'],
  ['orazio', 'oratio'],
  ['oracio', 'oratio'],
  ['vocs', 'vox'],
  ['voks', 'vox']
])

/** Names that are spoken as several words, and their official spelling. */
export const PHRASES = new Replacements([
  ['s v c', 'svc'],
  ['m c p', 'MCP'],
  ['code x', 'codex'],
  ['web socket', 'WebSocket'],
  ['web sockets', 'WebSockets'],
  ['type script', 'TypeScript'],
  ['java script', 'JavaScript'],
  ['git hub', 'GitHub'],
  ['get hub', 'GitHub'],
  ['sequel lite', 'SQLite'],
  ['jay son', 'JSON']
])
