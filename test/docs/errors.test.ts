import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXIT } from '@svc/kernel/cli'
import { isOwnCode } from '@svc/plugin-sdk'
import t from 'tap'
import { errorRows } from '../../tools/reference/error-entries.ts'
import { definedCodes, packages, ROOT, sourcesOf } from './error-codes.ts'

const text = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8')
const documented = errorRows(ROOT)

t.test('docs/errors.md documents exactly the defined codes, with their messages', async t => {
  const defined = await definedCodes()
  t.same(
    documented.map(({ owner, code, status, meaning }) => `${owner} ${code} ${status} ${meaning}`).sort(),
    defined.map(({ owner, code, spec: { status = 500, message } }) => `${owner} ${code} ${status} ${message}`).sort()
  )
  const mute = documented.filter(({ advice }) => !/\w{3}.*\.$/.test(advice)).map(({ code }) => code)
  t.same(mute, [], 'every code has advice')
})

t.test('every code has one owner; other declarations use the entry of its table', async t => {
  const places = new Map<string, string[]>()
  for (const { code, file } of await definedCodes()) places.set(code, [...(places.get(code) ?? []), file])
  t.same(
    [...places].filter(([, files]) => files.length > 1),
    []
  )
})

t.test('every code in the sources is documented, and every documented code is used', t => {
  const codes = new Set(documented.map(({ code }) => code))
  const prefixes = new Set([...codes].map(code => code.slice(0, code.indexOf('_'))))
  // A reason of plugin states, and a part of an environment variable: no error codes.
  const reasons = new Set(['KRN_WAITING', 'HTTP_TIMEOUT_MS'])
  const used = new Set<string>()
  for (const each of packages()) {
    for (const file of sourcesOf(each)) {
      const source = readFileSync(join(ROOT, file), 'utf8')
      for (const [, code = ''] of source.matchAll(/'([A-Z][A-Z0-9]*_[A-Z0-9_]+)'/g)) {
        if (!prefixes.has(code.slice(0, code.indexOf('_'))) || reasons.has(code)) continue
        used.add(code)
        if (!codes.has(code)) t.fail(`${file} uses ${code}, which is missing in docs/errors.md`)
      }
    }
  }
  t.same(
    [...codes].filter(code => !used.has(code)),
    [],
    'every documented code is used'
  )
  t.end()
})

t.test('every code has a page on every surface, and codes of other authors have none', t => {
  t.same(
    documented.filter(({ code }) => !isOwnCode(code)).map(({ code }) => code),
    [],
    'add the first word of the code to plugin-sdk/src/error-docs.ts'
  )
  const page = readFileSync(join(ROOT, 'docs', 'reference', 'errors.md'), 'utf8')
  t.same(
    documented.filter(({ code }) => !page.includes(`\n## ${code}\n`)).map(({ code }) => code),
    []
  )
  t.notOk(isOwnCode('ACME_BROKEN'))
  t.notOk(isOwnCode('ENOENT'))
  t.end()
})

t.test('exit codes are documented', t => {
  const rows = [...text.matchAll(/^\| (\d+) \| `(\w+)` \|/gm)].map(([, number, name]) => [name, Number(number)])
  t.same(Object.fromEntries(rows), EXIT)
  t.end()
})
