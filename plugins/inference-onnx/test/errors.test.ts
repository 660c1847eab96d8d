import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ErrorSpec } from '@svc/plugin-sdk'
import t from 'tap'
import { inferenceErrors } from '#root'

t.test('the README lists exactly the existing error codes, with their messages', async t => {
  const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8')
  const rows = [...readme.matchAll(/^\| `(INF_[A-Z_]+)` \| (\d+) \| (.+) \|$/gm)]
  t.same(
    rows.map(([, code, status, message]) => [code, Number(status), message]),
    Object.entries<ErrorSpec>(inferenceErrors.specs).map(([code, spec]) => [code, spec.status ?? 500, spec.message])
  )
})
