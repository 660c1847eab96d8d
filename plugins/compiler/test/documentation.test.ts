import { readFileSync } from 'node:fs'
import t from 'tap'
import { diagnosticCodes, reservedCodes } from '#diagnostics'
import { compilerErrors } from '#root'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const rows = [...readme.matchAll(/^\| `([^`]+)` \| (error|warning|\d{3}) \| (.+) \|$/gm)].map(([, ...row]) => row)

t.test('the README lists every diagnostic code with severity and meaning, in the order of diagnosticCodes', t => {
  t.same(
    rows.filter(([, severity]) => severity === 'error' || severity === 'warning'),
    Object.entries(diagnosticCodes).map(([code, { severity, meaning }]) => [code, severity, meaning])
  )
  t.end()
})

t.test('the README lists every reserved code, and no diagnostic uses one', t => {
  const [, table = ''] = readme.split('| Reserved | Reason |\n|---|---|\n')
  const reserved = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, ...row]) => row)
  t.same(reserved, Object.entries(reservedCodes))
  const codes = Object.keys(diagnosticCodes)
  for (const [code = ''] of reserved) {
    const family = code.endsWith('*') ? code.slice(0, -1) : null
    t.notOk(
      codes.some(each => each === code || (family !== null && each.startsWith(family))),
      code
    )
  }
  t.end()
})

t.test('the README lists every error code of the operations', t => {
  t.same(
    rows.filter(([code]) => code?.startsWith('CMP_')),
    Object.entries<{ status?: number; message: string }>(compilerErrors.specs).map(([code, { status, message }]) => [
      code,
      String(status ?? 500),
      message
    ])
  )
  t.end()
})
