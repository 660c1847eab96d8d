import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { declareSections, lostGuards, type Resolved, readSources, resolve, setGuards } from '@svc/config'
import { t as schema } from '@svc/plugin-sdk'
import t from 'tap'

const listener = schema.object({
  port: schema.integer({ default: 80 }),
  token: schema.optional(schema.secret()),
  hosts: schema.array(schema.string(), { default: [], 'x-guards': true }),
  strict: schema.boolean({ default: false, 'x-guards': true }),
  clients: schema.record(schema.object({ name: schema.string(), key: schema.optional(schema.secret()) }), {
    default: {}
  })
})
const registry = declareSections([{ name: 'listener', tables: [['listener']], schema: listener }])

t.test('lostGuards returns secrets and guards that were removed, emptied or reset to their default', async t => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-config-')))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const read = (text: string): Resolved => {
    writeFileSync(join(root, 'svc.toml'), text)
    return resolve(readSources({ cwd: root, env: { HOME: root }, defaultsFile: null }), registry)
  }
  const before = read(`[listener]
port = 81
token = "secret"
hosts = ["a", "b"]
strict = true
[listener.clients.one]
name = "one"
key = "secret"
`)
  const clients = '[listener.clients.one]\nname = "one"\n'
  const cases: Readonly<Record<string, readonly [text: string, lost: readonly string[]]>> = {
    'all tables removed': ['', ['listener.token', 'listener.hosts', 'listener.strict', 'listener.clients']],
    'the token removed': [`[listener]\nhosts = ["a"]\nstrict = true\n${clients}key = "secret"`, ['listener.token']],
    'values emptied': [
      `[listener]\ntoken = ""\nhosts = []\nstrict = false\n${clients}key = "secret"`,
      ['listener.token', 'listener.hosts', 'listener.strict']
    ],
    'a nested secret removed': [
      `[listener]\ntoken = "other"\nhosts = ["c"]\nstrict = true\n${clients}`,
      ['listener.clients']
    ],
    'only other settings changed': [
      `[listener]\nport = 82\ntoken = "secret"\nhosts = ["c"]\nstrict = true\n${clients}key = "other"`,
      []
    ]
  }
  for (const [name, [text, lost]] of Object.entries(cases)) t.same(lostGuards(before, read(text)), lost, name)
  t.same(lostGuards(read(''), before), [], 'guards that were added')
})

t.test('setGuards returns secrets and guards that have a value, and where a file sets them', async t => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-config-')))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const read = (text: string, set: readonly string[] = []): Resolved => {
    writeFileSync(join(root, 'svc.toml'), text)
    return resolve(readSources({ cwd: root, env: { HOME: root }, defaultsFile: null, set }), registry)
  }
  t.same(setGuards(read('[listener]\nport = 81\ntoken = ""\nhosts = []\nstrict = false')), [])
  const text = '[listener]\nstrict = true\n[listener.clients.one]\nname = "one"\nkey = "secret"\n'
  const resolved = read(text, ['listener.token="secret"'])
  t.ok(setGuards(resolved).includes('listener.clients.one.key'))
  t.ok(setGuards(resolved).includes('listener.token'))
  t.ok(setGuards(resolved, 'files').includes('listener.strict'))
  t.notOk(setGuards(resolved, 'files').includes('listener.token'), 'an override is not in a file')
})
