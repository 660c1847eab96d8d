import { tokens } from './scan.ts'

/**
 * Rewrites the parameters of a statement. `write` receives each parameter with its SQLite position, and returns its
 * replacement, or null to keep it.
 */
export function rewriteParameters(sql: string, write: (position: number, text: string) => string | null): string {
  const parts: string[] = []
  const names = new Map<string, number>()
  let copied = 0
  let highest = 0
  for (const { kind, text, at } of tokens(sql)) {
    if (kind !== 'parameter') continue
    const numbered = /^\?(\d+)$/.exec(text)?.[1]
    const known = numbered === undefined ? names.get(text) : Number(numbered)
    const position = known ?? highest + 1
    highest = Math.max(highest, position)
    if (text !== '?') names.set(text, position)
    const written = write(position, text)
    if (written === null) continue
    parts.push(sql.slice(copied, at), written)
    copied = at + text.length
  }
  return parts.join('') + sql.slice(copied)
}
