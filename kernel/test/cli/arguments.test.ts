import { definePlugin, describePlugin, t as s } from '@svc/plugin-sdk'
import t from 'tap'
import { candidates, collectInput, commandString, commandTree } from '#cli'
import type { Catalog } from '#host'

const shape = {
  command: 'demo run',
  args: ['target', 'files'],
  aliases: {},
  input: s.object({
    target: s.string(),
    files: s.optional(s.array(s.string())),
    maxTokens: s.optional(s.integer()),
    retry_after: s.optional(s.number()),
    options: s.optional(s.object({ deep: s.boolean() })),
    limits: s.optional(s.array(s.integer())),
    note: s.optional(s.nullable(s.string())),
    either: s.optional(s.union([s.integer(), s.string()])),
    project: s.optional(s.string()),
    force: s.boolean({ default: false }),
    other_force: s.optional(s.boolean({ 'x-hidden': true }))
  })
}

t.test('positionals show whether they are required or repeatable', async t => {
  t.equal(commandString(shape), 'run <target> [files..]')
})

t.test('flag names are field names in kebab case; a field named like a global flag gets the prefix input-', async t => {
  const run = { command: shape.command, summary: 'Run', args: shape.args, input: shape.input }
  const manifest = describePlugin(definePlugin({ name: 'demo', commands: [run], activate() {} }), '1.0.0')
  const catalog = { manifests: [manifest], found: { sources: [] } } as unknown as Catalog
  const flags = candidates(['demo', 'run'], '--', commandTree([manifest]), catalog).map(({ value }) => value)
  for (const flag of ['--max-tokens', '--retry-after', '--force', '--input-project', '--project', '--json'])
    t.ok(flags.includes(flag), flag)
  t.notOk(flags.includes('--target'))
  t.notOk(flags.includes('--other-force'), 'a hidden field is not listed')
})

t.test('absent arguments stay absent', async t => {
  t.same(collectInput(shape, { target: 'x', files: [], project: '/elsewhere', json: true }), { target: 'x' })
})

t.test('a hidden field is accepted', async t => {
  t.same(collectInput(shape, { target: 'x', 'other-force': true }), { target: 'x', other_force: true })
})

t.test('converts values to the types of the schema', async t => {
  const input = collectInput(shape, {
    target: '12',
    files: ['a', 'b'],
    'max-tokens': 5,
    'retry-after': 0.5,
    options: '{"deep": true}',
    limits: ['1', '2'],
    note: 'null',
    either: '7',
    'input-project': 'mine',
    force: true
  })
  t.same(input, {
    target: '12',
    files: ['a', 'b'],
    maxTokens: 5,
    retry_after: 0.5,
    options: { deep: true },
    limits: [1, 2],
    note: 'null',
    either: 7,
    project: 'mine',
    force: true
  })
})

t.test('the last value of a repeated flag wins', async t => {
  t.same(collectInput(shape, { target: ['a', 'b'] }), { target: 'b' })
})

t.test('a value that is not JSON stays a string', async t => {
  t.same(collectInput(shape, { target: 'x', options: 'deep' }), { target: 'x', options: 'deep' })
})

t.test('rejects an invalid number with the name of the flag', async t => {
  t.throws(() => collectInput(shape, { 'max-tokens': Number.NaN }), {
    code: 'CLI_ARGUMENT_INVALID',
    message: '--max-tokens must be a number'
  })
})

t.test('parses an object of a list from key=value pairs or JSON, and a whole list from JSON', async t => {
  const files = s.array(
    s.object({ path: s.string(), access: s.enum(['read', 'write']), lines: s.optional(s.integer()) }),
    { description: 'Files.' }
  )
  const shape = { command: 'demo', args: [], aliases: {}, input: s.object({ files }) }
  const given = (...values: string[]) => collectInput(shape, { files: values }).files
  t.same(given('path=1,access=read', 'path=b=c,access=write,lines=3'), [
    { path: '1', access: 'read' },
    { path: 'b=c', access: 'write', lines: 3 }
  ])
  t.same(given('{"path": "a"}', '[{"path": "b"}, {"path": "c"}]'), [{ path: 'a' }, { path: 'b' }, { path: 'c' }])
  t.same(given('src/a.ts'), ['src/a.ts'], 'other text stays a string, which the schema rejects')
})

t.test('a plain word is the only required field of an object whose other fields have defaults', async t => {
  const files = s.array(s.object({ path: s.string(), access: s.enum(['read', 'write'], { default: 'write' }) }), {
    description: 'Files.'
  })
  const shape = { command: 'demo', args: [], aliases: {}, input: s.object({ files }) }
  const given = (...values: string[]) => collectInput(shape, { files: values }).files
  t.same(given('src/a.ts', 'a=b.ts', 'a,b.ts', '7'), [
    { path: 'src/a.ts' },
    { path: 'a=b.ts' },
    { path: 'a,b.ts' },
    { path: '7' }
  ])
  t.same(given('path=src/b.ts,access=read', '{"path": "c"}'), [{ path: 'src/b.ts', access: 'read' }, { path: 'c' }])
})
