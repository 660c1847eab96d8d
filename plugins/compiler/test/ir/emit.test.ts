import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { lower } from '#ir'
import { runtimeProjection } from '#projection'
import { checkFile, readSources, runCheck } from '#root'
import { compilerPlugin } from '../compiler-plugin.ts'

const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
const check = runCheck({
  read: paths => readSources(paths, false),
  check: async file => checkFile(file, options),
  project: ({ parsed, file }) => runtimeProjection(lower(parsed.module, file.text), null)
})

async function run(input: Record<string, unknown>, json = false) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const code = await check(input, { stdin, stdout, stderr, json, signal: new AbortController().signal })
  stdout.end()
  stderr.end()
  return { code, out: await text(stdout), err: await text(stderr) }
}

const GOOD = '@table type A { id: int }\nfn f() to int { 1 }\n'
const BAD = 'fn f() { g }\n'

t.test('--emit-ir prints only the document to the standard output', async t => {
  const path = join(t.testdir({ 'a.vox': GOOD }), 'a.vox')
  for (const json of [false, true]) {
    const { code, out, err } = await run({ files: [path], emit_ir: true }, json)
    t.equal(code, 0)
    t.match(JSON.parse(out), { version: '2.0.0', module: { functions: [{ name: 'f' }] } })
    t.match(err, 'lint.table_id_column')
  }
})

t.test('--emit-ir fails with exit code 1 for a file with errors', async t => {
  const folder = t.testdir({ 'a.vox': BAD })
  const out = join(folder, 'a.json')
  const result = await run({ files: [join(folder, 'a.vox')], emit_ir: true, out })
  t.match(result, { code: 1, out: '', err: 'typecheck.undefined' })
  t.throws(() => readFileSync(out), { code: 'ENOENT' })
})

t.test('--out writes the document to a file', async t => {
  const folder = t.testdir({ 'a.vox': GOOD })
  const out = join(folder, 'a.json')
  const result = await run({ files: [join(folder, 'a.vox')], emit_ir: true, out })
  t.match(result, { code: 0, out: '', err: 'no errors' })
  t.match(JSON.parse(readFileSync(out, 'utf8')), { version: '2.0.0' })
  const nowhere = await run({ files: [join(folder, 'a.vox')], emit_ir: true, out: join(folder, 'no', 'a.json') })
  t.match(nowhere, { code: 1, err: 'cannot be written' })
})

t.test('conflicting options are rejected with exit code 2', async t => {
  const folder = t.testdir({ 'a.vox': GOOD, 'b.vox': GOOD })
  t.match(await run({ files: [folder], emit_ir: true }), { code: 2, out: '', err: 'found 2' })
  t.match(await run({ files: [folder], out: join(folder, 'a.json') }), { code: 2, err: '--emit-ir' })
})

t.test('a file that is not UTF-8 is rejected', async t => {
  const path = join(t.testdir(), 'a.vox')
  writeFileSync(path, Buffer.from([0x66, 0x6e, 0xff]))
  t.match(await run({ files: [path], emit_ir: true }), {
    code: 1,
    out: '',
    err: /no UTF-8[\s\S]*save the file as UTF-8/
  })
})

t.test('compiler.ir returns the document, or fails with the diagnostics', async t => {
  const kernel = await compilerPlugin()
  t.teardown(() => kernel.close())
  t.match(await kernel.callById('compiler.ir', { source: GOOD }), {
    version: '2.0.0',
    module: { tables: [{ name: 'A' }] }
  })
  t.match(await kernel.callById('compiler.ir', { source: 'fn f() { 9223372036854775807 }' }), { version: '2.0.0' })
  t.match(await kernel.callById('compiler.ir', { source: 'print(1)', script: true }), {
    module: { functions: [{ name: 'main' }] }
  })
  await t.rejects(kernel.callById('compiler.ir', { source: BAD }), {
    code: 'CMP_SOURCE_INVALID',
    data: { diagnostics: [{ error_code: 'typecheck.undefined' }] }
  })
})
