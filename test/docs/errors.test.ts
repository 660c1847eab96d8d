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
    const row = /^\| `([A-Z]+_[A-Z0-9_]+)` \| (\d{3}) \| (.+?) \| (.+) \|$/.exec(line)
    if (row === null) return []
    const [, code = '', status, meaning = '', advice = ''] = row
    return [{ code, status: Number(status), meaning, advice, owner }]
  })
}

t.test('every defined code is documented with its text, and no other', async t => {
  const defined = await definedCodes()
  const documented = documentedCodes()
  t.same(
    documented.map(({ owner, code, status, meaning }) => `${owner} ${code} ${status} ${meaning}`).sort(),
    defined.map(({ owner, code, spec: { status = 500, message } }) => `${owner} ${code} ${status} ${message}`).sort()
  )
  const mute = documented.filter(({ advice }) => !/\w{3}.*\.$/.test(advice)).map(({ code }) => code)
  t.same(mute, [], 'each has an instruction')
})

t.test('every code has one owner: others that declare it use the entry of its table', async t => {
  const places = new Map<string, string[]>()
  for (const { code, file } of await definedCodes()) places.set(code, [...(places.get(code) ?? []), file])
  t.same(
    [...places].filter(([, files]) => files.length > 1),
    []
  )
})

t.test('every code in the sources is documented, and every documented one is used', t => {
  const documented = new Set(documentedCodes().map(({ code }) => code))
  const prefixes = new Set([...documented].map(code => code.slice(0, code.indexOf('_'))))
  // A reason of a state, not of an error.
  const reasons = new Set(['KRN_WAITING'])
  const used = new Set<string>()
  for (const each of packages()) {
    for (const file of sourcesOf(each)) {
      const source = readFileSync(join(ROOT, file), 'utf8')
      for (const [, code = ''] of source.matchAll(/'([A-Z]+_[A-Z0-9_]+)'/g)) {
        if (!prefixes.has(code.slice(0, code.indexOf('_'))) || reasons.has(code)) continue
        used.add(code)
        if (!documented.has(code)) t.fail(`${file} uses ${code}, which docs/errors.md does not have`)
      }
    }
  }
  t.same(
    [...documented].filter(code => !used.has(code)),
    [],
    'none is left over'
  )
  t.end()
})

t.test('exit codes are documented', t => {
  const rows = [...text.matchAll(/^\| (\d+) \| `(\w+)` \|/gm)].map(([, number, name]) => [name, Number(number)])
  t.same(Object.fromEntries(rows), EXIT)
  t.end()
})
