import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import t from 'tap'

interface Finding {
  readonly sink: string
  readonly place: string
  readonly file: string
  readonly secret: string
  readonly form: string
  readonly context: string
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LEAKY = 'test/fixtures/secret-watch/leaky.test.mjs'
/** The modules of the watch are JavaScript: they run before any compiler. */
const load = (name: string): Promise<any> => import(new URL(name, import.meta.url).href)

// A process of a watched run writes its records elsewhere.
const skip = process.env.SECRET_WATCH_FOLDER === undefined ? false : 'the run is watched itself'

t.test('a leak to each place is found, with the test and the origin of the secret', { skip }, async t => {
  const { buildPreload } = await load('./build.mjs')
  const { reportOf } = await load('./report.mjs')
  const folder = mkdtempSync(join(tmpdir(), 'svc-leaky-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const records = join(folder, 'records')
  const preload = await buildPreload(ROOT)
  const argv = ['--require', preload, '--import=./test/typescript.mjs', '--conditions=svc-source', LEAKY]
  const env = { SECRET_WATCH_FOLDER: records, SECRET_WATCH_ROOT: ROOT, CANARY_API_KEY: 'canary-of-the-environment' }
  await promisify(execFile)(process.execPath, argv, { cwd: ROOT, env: { ...process.env, NODE_OPTIONS: '', ...env } })
  const report = reportOf(records)
  const findings: Finding[] = report.findings
  t.same([...new Set(findings.map(({ file }) => file))], [LEAKY])
  const at = (sink: string, place: RegExp): string[] =>
    findings
      .filter(found => found.sink === sink && place.test(found.place))
      .map(({ secret, form }) => `${form}: ${secret}`)
  const token = /^plain: variable LEAKY_TOKEN, a setting or an input$/
  const escaped = /^JSON: variable LEAKY_TOKEN, a setting or an input$/
  t.match(at('output', /^stdout$/), [token, escaped], 'standard output')
  t.match(
    at('output', /^stderr$/).sort(),
    [/^Base64 \d: variable LEAKY_TOKEN/, /^plain: random bytes of /, token],
    'log'
  )
  t.match(at('operation', /^leaky\.leak$/), [escaped], 'result')
  t.match(
    at('operation', /^leaky\.fail$/).sort(),
    [/^JSON: a setting or an input$/, escaped],
    'error, built and from sources'
  )
  t.match(at('response', /^GET \/page$/), [/^percent-encoded: variable LEAKY_TOKEN/], 'response')
  t.match(at('export', /^POST \/v1\/traces$/), [escaped], 'exported trace')
  t.match(at('argument', /^true from /), [token], 'argument of a process')
  const inFile = [
    'variable LEAKY_TOKEN',
    'auth.json',
    'encrypted by ',
    'variable CANARY_API_KEY',
    'header authorization'
  ]
  const crash = findings
    .filter(({ sink, place }) => sink === 'file' && place === 'crash.txt')
    .map(({ secret }) => secret)
  for (const origin of inFile)
    t.ok(
      crash.some(secret => secret.includes(origin)),
      `${origin} in a crash report`
    )
  t.notMatch(JSON.stringify(report.findings), /canary|from-the-auth-file|from-a-header/, 'no finding shows a value')
})

t.test('the search finds exactly the patterns that a text contains', async t => {
  const { Search } = await load('./search.mjs')
  const text = fc.uint8Array({ minLength: 8, maxLength: 40, max: 3 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), fc.array(text, { maxLength: 8 }), (patterns, parts) => {
      const bytes = Buffer.concat(parts)
      const search = new Search()
      for (const [key, pattern] of patterns.entries()) search.add(Buffer.from(pattern), key)
      const expected = patterns.flatMap((pattern, key) => {
        const at = bytes.indexOf(Buffer.from(pattern))
        return at < 0 ? [] : [[key, at] as const]
      })
      t.strictSame([...search.find(bytes)].sort(), expected.sort())
    })
  )
})

t.test('a secret is found in the Base64 of any text around it', async t => {
  const { formsOf } = await load('./forms.mjs')
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 5 }),
      fc.uint8Array({ minLength: 12 }),
      fc.uint8Array({ maxLength: 5 }),
      (a, b, c) => {
        const encoded = Buffer.concat([a, b, c]).toString('base64')
        const forms: Buffer[] = [...formsOf(b)].flatMap(([name, form]) => (name.startsWith('Base64') ? [form] : []))
        t.ok(forms.some(form => encoded.includes(form.toString())))
      }
    )
  )
})
