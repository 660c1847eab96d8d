import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ErrorSpec } from '@svc/plugin-sdk'
import t from 'tap'
import { pluginErrors, settings } from '#root'

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')

t.test('the README lists every code with its meaning, and no other', t => {
  const rows = [...readme.matchAll(/^\| `(SPP_[A-Z_]+)` \| (\d+) \| (.+) \|$/gm)]
  t.same(
    rows.map(([, code, status, message]) => [code, Number(status), message]),
    Object.entries<ErrorSpec>(pluginErrors.specs).map(([code, spec]) => [code, spec.status ?? 500, spec.message])
  )
  t.end()
})

t.test('the README names every setting', t => {
  const names = Object.keys((settings as unknown as { properties: object }).properties)
  t.same(
    names.filter(name => !readme.includes(`\`${name}\``)),
    []
  )
  t.end()
})
