import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { surfaceTables } from './surface-table.ts'

t.test('the README lists every operation with its name on each surface', t => {
  const text = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const [, tables = ''] = /<!-- operations -->\n\n([\s\S]*?)\n\n<!-- end of operations -->/.exec(text) ?? []
  t.equal(tables, surfaceTables())
  t.end()
})
