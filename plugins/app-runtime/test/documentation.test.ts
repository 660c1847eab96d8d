import { readFileSync } from 'node:fs'
import t from 'tap'
import { appErrors, runErrors } from '#root'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

t.test('the README lists every error', t => {
  const rows = [...readme.matchAll(/^\| `((?:APP|RUN)_\w+)` \| (\d{3}) \| (.+) \|$/gm)].map(([, ...row]) => row)
  t.same(
    rows,
    Object.entries({ ...appErrors.specs, ...runErrors.specs }).map(([code, { status, message }]) => [
      code,
      String(status),
      message
    ])
  )
  t.end()
})
