import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { runtimeProjectionSchema } from '@svc/contracts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { lower } from '#ir'
import { hostProbe, runtimeProjection } from '#projection'
import { checkFile, readSources, runCheck } from '#root'
import { parse } from '#syntax'
import { compilerPlugin } from './compiler-plugin.ts'

const TABLES = '@table type Note { text: str } @table type Ad { text: str }\n'

function projectionOf(body: string) {
  const source = `${TABLES}fn f() { ${body} }`
  const projection = runtimeProjection(lower(parse(source).module, source), null)
  const valid = new Ajv2020({ strict: false }).compile(runtimeProjectionSchema)
  t.ok(valid(JSON.parse(JSON.stringify(projection))), JSON.stringify(valid.errors))
  return projection
}

t.test('the projection omits operations that only read or write rows', t => {
  t.same(projectionOf('db.Note.all()\n db.Note.insert({ text: "a" })\n db.Note.count()'), {
    schema_version: 1,
    db_planning_policies: []
  })
  t.end()
})

t.test('the projection lists each other operation once, by table, operation and requirement', t => {
  const projection = projectionOf(
    'db.Note.filter({ text: "a" }).sync()\n db.Note.all().live("b")\n db.Note.all().live("a")\n' +
      '{ { db.Note.all().live("a").limit(3) } }\n db.Ad.where({ text: "x" }).using("fts")\n db.Note.all().sync()'
  )
  const none = { requires_sync: false, emits_change_log: false }
  t.same(projection, {
    schema_version: 1,
    db_planning_policies: [
      { table: 'Ad', op: 'filter_record', ...none, retrieval_mode: 'fts' },
      { table: 'Note', op: 'all', requires_sync: false, emits_change_log: true, live_topic: 'a' },
      { table: 'Note', op: 'all', requires_sync: false, emits_change_log: true, live_topic: 'b' },
      { table: 'Note', op: 'all', requires_sync: true, emits_change_log: false },
      { table: 'Note', op: 'filter_record', requires_sync: true, emits_change_log: false }
    ]
  })
  t.end()
})

t.test('vector searches require a GPU, and scopes require a label', t => {
  const projection = projectionOf(
    'db.Note.all().using("vector")\n db.Ad.all().using("hybrid").scope("team")\n db.Note.all().scope("a")'
  )
  t.same(projection.module_task_capability_hints, {
    prefer_gpu_compute: true,
    labels: [
      'vox:db_retrieval:hybrid',
      'vox:db_retrieval:vector',
      'vox:orchestration_scope:a',
      'vox:orchestration_scope:team'
    ]
  })
  t.same(projectionOf('db.Note.all().scope("a")').module_task_capability_hints, {
    labels: ['vox:orchestration_scope:a']
  })
  t.end()
})

t.test('the host probe describes the machine', t => {
  const probe = hostProbe({ HOSTNAME: 'box' })
  t.ok(probe.cpu_cores >= 1)
  t.match(probe, { arch: /^[a-z0-9_]+$/, hostname: 'box' })
  t.equal(hostProbe({ COMPUTERNAME: 'pc' }).hostname, 'pc')
  t.equal(hostProbe({}).hostname, hostname())
  t.end()
})

t.test('svc check --emit-projection prints the projection, or writes it to a file', async t => {
  const folder = t.testdir({ 'a.vox': `${TABLES}fn f() { db.Note.all().sync() }`, 'bad.vox': 'fn f() { g }' })
  const check = runCheck({
    read: paths => readSources(paths, false),
    check: async file => checkFile(file, { script: false, allowComponentFunctions: false, suppressHookLints: false }),
    project: ({ parsed, file }) => runtimeProjection(lower(parsed.module, file.text), null)
  })
  const run = async (input: Record<string, unknown>) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const code = await check(input, { stdin, stdout, stderr, json: false, signal: new AbortController().signal })
    stdout.end()
    stderr.end()
    return { code, out: await text(stdout), err: await text(stderr) }
  }
  const files = [join(folder, 'a.vox')]
  const printed = await run({ files, emit_projection: true })
  t.equal(printed.code, 0)
  t.match(JSON.parse(printed.out), { schema_version: 1, db_planning_policies: [{ table: 'Note', op: 'all' }] })
  const out = join(folder, 'out.json')
  t.match(await run({ files, emit_projection: true, out }), { code: 0, out: '' })
  t.equal(readFileSync(out, 'utf8'), printed.out)
  t.match(await run({ files: [join(folder, 'bad.vox')], emit_projection: true }), { code: 1, out: '' })
  t.match(await run({ files, emit_projection: true, emit_ir: true }), { code: 2, err: /each write a document/ })
  t.match(await run({ files, out }), { code: 2, err: /--emit-ir or --emit-projection/ })
  t.match(await run({ files: [folder], emit_projection: true }), { code: 2, err: /one file, found 2/ })
})

t.test('compiler.projection describes the machine if the setting is on', async t => {
  const source = `${TABLES}fn f() { db.Note.all().sync() }`
  for (const on of [false, true]) {
    const plugin = await compilerPlugin({ projection_include_host_probe: on })
    t.teardown(() => plugin.close())
    const projection = (await plugin.callById('compiler.projection', { source })) as object
    t.equal('host_capability_probe' in projection, on)
    await t.rejects(plugin.callById('compiler.projection', { source: 'fn f() { g }' }), {
      code: 'CMP_SOURCE_INVALID'
    })
  }
})
