import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Row of docs/errors.md. */
export interface ErrorRow {
  readonly code: string
  readonly status: number
  readonly meaning: string
  readonly advice: string
  /** Package of the section. */
  readonly owner: string
}

const SECTION = /^## `(.+)`$/
const ROW = /^\| `([A-Z][A-Z0-9]*_[A-Z0-9_]+)` \| (\d{3}) \| (.+?) \| (.+) \|$/

/** Returns the codes that docs/errors.md documents, in its order. */
export function errorRows(root: string): ErrorRow[] {
  let owner = ''
  return readFileSync(join(root, 'docs', 'errors.md'), 'utf8')
    .split('\n')
    .flatMap(line => {
      owner = SECTION.exec(line)?.[1] ?? owner
      const row = ROW.exec(line)
      if (row === null) return []
      const [, code = '', status, meaning = '', advice = ''] = row
      return [{ code, status: Number(status), meaning, advice, owner }]
    })
}

/** Renders `errors.json` of the plugin cli: owner, status, meaning and advice by code, one line for each. */
export function renderErrorData(rows: readonly ErrorRow[]): string {
  const lines = sorted(rows).map(
    ({ code, owner, status, meaning, advice }) =>
      `  ${JSON.stringify(code)}: ${JSON.stringify([owner, status, plain(meaning), plain(advice)])}`
  )
  return `{\n${lines.join(',\n')}\n}\n`
}

export function sorted(rows: readonly ErrorRow[]): ErrorRow[] {
  return rows.toSorted((a, b) => (a.code < b.code ? -1 : 1))
}

/** Removes what only a table of Markdown needs. */
function plain(cell: string): string {
  return cell.replaceAll('\\|', '|')
}
