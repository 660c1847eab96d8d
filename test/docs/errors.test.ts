import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXIT } from '@svc/kernel/cli'
import t from 'tap'
import { definedCodes, packages, ROOT, sourcesOf } from './error-codes.ts'

interface DocumentedCode {
  readonly code: string
  readonly status: number
  readonly meaning: string
  readonly advice: string
  /** Package of the section. */
  readonly owner: string
}

const text = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8')

function documentedCodes(): DocumentedCode[] {
  let owner = ''
  return text.split('\n').flatMap(line => {
    owner = /^## `(.+)`$/.exec(line)?.[1] ?? owner
    const row = /^\| `([A-Z][A-Z0-9]*_[A-Z0-9_]+)` \| (\d{3}) \| (.+?) \| (.+) \|$/.exec(line)
    if (row === null) return []
    const [, code = '', status, meaning = '', advice = ''] = row
    return [{ code, status: Number(status), meaning, advice, owner }]
  })
}

t.test('docs/errors.md documents exactly the defined codes, with their messages', async t => {
  const defined = await definedCodes()
  const documented = documentedCodes()
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
  const documented = new Set(documentedCodes().map(({ code }) => code))
  const prefixes = new Set([...documented].map(code => code.slice(0, code.indexOf('_'))))
  // A reason of plugin states, and a part of an environment variable: no error codes.
  const reasons = new Set(['KRN_WAITING', 'HTTP_TIMEOUT_MS'])
  const used = new Set<string>()
  for (const each of packages()) {
    for (const file of sourcesOf(each)) {
      const source = readFileSync(join(ROOT, file), 'utf8')
      for (const [, code = ''] of source.matchAll(/'([A-Z][A-Z0-9]*_[A-Z0-9_]+)'/g)) {
        if (!prefixes.has(code.slice(0, code.indexOf('_'))) || reasons.has(code)) continue
        used.add(code)
        if (!documented.has(code)) t.fail(`${file} uses ${code}, which is missing in docs/errors.md`)
      }
    }
  }
  t.same(
    [...documented].filter(code => !used.has(code)),
    [],
    'every documented code is used'
  )
  t.end()
})

t.test('exit codes are documented', t => {
  const rows = [...text.matchAll(/^\| (\d+) \| `(\w+)` \|/gm)].map(([, number, name]) => [name, Number(number)])
  t.same(Object.fromEntries(rows), EXIT)
  t.end()
})
