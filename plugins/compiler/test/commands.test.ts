import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { CommandHandler, CommandIo } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { lower } from '#ir'
import { runtimeProjection } from '#projection'
import { checkFile, formatFile, readSome, readSources, runCheck, runFormat, type SourceFile } from '#root'
import { compilerPlugin } from './compiler-plugin.ts'

const options = { allowComponentFunctions: false, suppressHookLints: false }
const check = runCheck({
  read: paths => readSome(paths, false),
  check: async (file: SourceFile, script: boolean) => checkFile(file, { ...options, script }),
  project: ({ parsed, file }) => runtimeProjection(lower(parsed.module, file.text), null)
})
const fmt = runFormat({
  read: paths => readSome(paths, false),
  format: async file => formatFile(file),
  retries: () => 3
})

async function run(command: CommandHandler, input: Record<string, unknown>, json = false) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const io: CommandIo = { stdin, stdout, stderr, json, signal: new AbortController().signal }
  const code = await command(input, io)
  stdout.end()
  stderr.end()
  return { code, out: await text(stdout), err: await text(stderr) }
}

const GOOD = 'fn a() to int {\n    1\n}\n'
const UGLY = 'fn a() -> int {\n  1\n}\n'
const BAD = 'fn a() {\n  let = 1\n}\n'

function project(t: Test): string {
  return t.testdir({
    'good.vox': GOOD,
    'ugly.vox': UGLY,
    'bad.vox': BAD,
    more: { 'skip.vox': `// vox:skip\n${BAD}`, 'x.txt': '' }
  })
}

t.test('check reports a valid program with exit code 0', async t => {
  const path = join(project(t), 'good.vox')
  t.same(await run(check, { files: [path] }), { code: 0, out: '', err: `checked ${path}: no errors\n` })
})

t.test('check prints errors to the standard error, with exit code 1', async t => {
  const path = join(project(t), 'bad.vox')
  const { code, out, err } = await run(check, { files: [path] })
  t.equal(code, 1)
  t.equal(out, '')
  t.match(err, `--> ${path}:2:7`)
  t.match(err, 'checked ')
  const lines = await run(check, { files: [path], format: 'lines' })
  t.match(lines.err, `error[E0001]: expected a pattern, found \`=\` at ${path}:2:7\n`)
})

t.test('check --json prints only the findings to the standard output', async t => {
  const path = join(project(t), 'bad.vox')
  for (const [input, json] of [[{ format: 'json' }, false] as const, [{}, true] as const]) {
    const { code, out, err } = await run(check, { files: [path], ...input }, json)
    t.equal(code, 1)
    t.equal(err, '')
    t.match(JSON.parse(out), [{ error_code: 'E0001', file_path: path, span: { start_line: 2, start_col: 7 } }])
  }
  const good = await run(check, { files: [join(project(t), 'good.vox')] }, true)
  t.same(JSON.parse(good.out), [])
})

t.test('every command fails with exit code 1 for folders without source files', async t => {
  const folder = t.testdir({ none: {}, more: { 'skip.vox': `// vox:skip\n${GOOD}`, 'x.txt': '' } })
  const files = [join(folder, 'none'), join(folder, 'more')]
  for (const command of [check, fmt]) {
    const { code, out, err } = await run(command, { files })
    t.same([code, out], [1, ''])
    t.match(err, `error: ${files.join(', ')} hold no source file\n  hint: name a folder`)
  }
  const json = await run(check, { files: [folder] }, true)
  t.match([json.code, JSON.parse(json.err)], [1, { error: { code: 'CMP_SOURCES_MISSING' } }])
  t.equal((await readSome([folder], true)).length, 1)
})

t.test('check of a folder checks its source files, except those with // vox:skip', async t => {
  const folder = project(t)
  const { err } = await run(check, { files: [folder] })
  t.match(err, 'checked 3 files: 1 error\n')
  t.equal((await readSources([folder], true)).length, 4)
})

t.test('check reports a missing file with exit code 1', async t => {
  const { code, err } = await run(check, { files: ['nowhere.vox'] })
  t.equal(code, 1)
  t.match(err, /error: nowhere.vox does not exist\n {2}hint: /)
  const json = await run(fmt, { files: ['nowhere.vox'] }, true)
  t.match(JSON.parse(json.err), { error: { code: 'CMP_FILE_UNREADABLE' } })
})

t.test('top-level statements are allowed only in a script', async t => {
  const path = join(t.testdir({ 's.vox': 'print(1)\n' }), 's.vox')
  t.equal((await run(check, { files: [path] })).code, 1)
  t.equal((await run(check, { files: [path], script: true })).code, 0)
})

t.test('fmt formats files in place and preserves their mode', async t => {
  const folder = project(t)
  const path = join(folder, 'ugly.vox')
  chmodSync(path, 0o640)
  const before = await run(fmt, { files: [path, join(folder, 'good.vox')], check: true })
  t.same(before, { code: 1, out: `would format ${path}\n`, err: '' })
  t.equal(readFileSync(path, 'utf8'), UGLY)
  t.same(await run(fmt, { files: [path] }), { code: 0, out: `formatted ${path}\n`, err: '' })
  t.equal(readFileSync(path, 'utf8'), GOOD)
  t.equal(statSync(path).mode & 0o777, 0o640)
  t.same(await run(fmt, { files: [path], check: true }), { code: 0, out: '', err: '' })
})

t.test('fmt does not change a file with errors, but formats the others', async t => {
  const folder = project(t)
  const { code, err } = await run(fmt, { files: [folder] })
  t.equal(code, 1)
  t.match(err, 'bad.vox:2:7')
  t.equal(readFileSync(join(folder, 'bad.vox'), 'utf8'), BAD)
  t.equal(readFileSync(join(folder, 'ugly.vox'), 'utf8'), GOOD)
  const json = await run(fmt, { files: [join(folder, 'bad.vox')] }, true)
  t.match(JSON.parse(json.out), [{ changed: false, diagnostics: [{ error_code: 'E0001' }] }])
})

t.test('fmt formats the target of a symbolic link and preserves the link', async t => {
  const folder = project(t)
  const link = join(folder, 'link.vox')
  symlinkSync(join(folder, 'ugly.vox'), link)
  t.equal((await run(fmt, { files: [link] })).code, 0)
  t.equal(readFileSync(join(folder, 'ugly.vox'), 'utf8'), GOOD)
})

t.test('operations accept source or a file of the project, and write nothing', async t => {
  const kernel = await compilerPlugin()
  t.teardown(() => kernel.close())
  const call = (id: string, input: object) => kernel.callById(`compiler.${id}`, input)
  t.match(await call('check', { source: BAD }), {
    ok: false,
    diagnostics: [{ error_code: 'E0001' }],
    text: /source.vox:2:7/
  })
  t.same(await call('check', { source: GOOD }), { ok: true, diagnostics: [], text: '' })
  t.match(await call('check', { source: 'print(1)', script: true }), { ok: true })
  t.same(await call('format', { source: UGLY }), { formatted: GOOD, changed: true })
  await t.rejects(call('format', { source: BAD }), { code: 'CMP_SOURCE_INVALID', data: { diagnostics: [{}] } })
  await t.rejects(call('format', {}), { code: 'CMP_INPUT_AMBIGUOUS' })
  await t.rejects(call('format', { source: '', path: 'a.vox' }), { code: 'CMP_INPUT_AMBIGUOUS' })
  await t.rejects(call('check', { path: '../outside.vox' }), { code: 'CMP_PATH_OUTSIDE' })
  await t.rejects(call('check', { path: '/etc/passwd' }), { code: 'CMP_PATH_OUTSIDE' })
  await t.rejects(call('check', { path: 'nowhere.vox' }), { code: 'CMP_FILE_UNREADABLE' })
})

t.test('settings can allow component functions and enable a log file', async t => {
  const log = join(t.testdir(), 'compiler.log')
  const legacy = '@component fn A() to Element { use_state(1) }'
  const settings = { allow_legacy_component_fn: true, suppress_legacy_hook_lints: true, log_file: log }
  const strict = await compilerPlugin()
  const lenient = await compilerPlugin(settings)
  t.teardown(() => Promise.all([strict.close(), lenient.close()]))
  t.match(await strict.callById('compiler.check', { source: legacy }), { ok: false })
  const { diagnostics } = (await lenient.callById('compiler.check', { source: legacy })) as {
    diagnostics: { error_code: string }[]
  }
  const codes = diagnostics.map(each => each.error_code)
  t.ok(codes.includes('lint.legacy_component_fn'))
  t.notOk(codes.includes('lint.component_react_hook'))
  t.match(JSON.parse(readFileSync(log, 'utf8')), { action: 'check', path: 'source.vox', lines: 1 })
})

t.test('hir_dump writes the HIR of a valid program', async t => {
  const log = join(t.testdir(), 'compiler.log')
  const kernel = await compilerPlugin({ log_file: log, hir_dump: true })
  t.teardown(() => kernel.close())
  await kernel.callById('compiler.check', { source: GOOD })
  await kernel.callById('compiler.check', { source: BAD })
  const [good, bad] = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  t.match(good, { hir: { functions: [{ name: 'a' }] } })
  t.notOk('hir' in bad)
})

t.test('a command succeeds and logs a warning if the log file is not writable', async t => {
  const folder = t.testdir({ file: '' })
  writeFileSync(join(folder, 'file'), '')
  const kernel = await compilerPlugin({ log_file: join(folder, 'file', 'inside') })
  t.teardown(() => kernel.close())
  t.match(await kernel.callById('compiler.check', { source: GOOD }), { ok: true })
})

t.test('fmt formats the new state of a file that is saved meanwhile', async t => {
  const path = join(t.testdir({ 'a.vox': UGLY }), 'a.vox')
  let saves = 2
  const format = runFormat({
    read: paths => readSources(paths, false),
    retries: () => 3,
    async format(file) {
      if (saves-- > 0) writeFileSync(path, `// ${saves}\n${UGLY}`)
      return formatFile(file)
    }
  })
  t.match(await run(format, { files: [path] }), { code: 0, out: `formatted ${path}\n` })
  t.equal(readFileSync(path, 'utf8'), `// 0\n${GOOD}`)
})

t.test('fmt does not change a file that is saved repeatedly, and fails with CMP_FILE_CHANGED', async t => {
  const path = join(t.testdir({ 'a.vox': UGLY }), 'a.vox')
  for (const retries of [0, 3]) {
    let saves = 0
    const format = runFormat({
      read: paths => readSources(paths, false),
      retries: () => retries,
      async format(file) {
        writeFileSync(path, `// ${retries}, ${++saves}\n${UGLY}`)
        return formatFile(file)
      }
    })
    const { code, err } = await run(format, { files: [path] })
    t.equal(code, 1)
    t.match(err, 'changed while it was being formatted')
    t.equal(saves, retries + 1)
    t.equal(readFileSync(path, 'utf8'), `// ${retries}, ${saves}\n${UGLY}`)
  }
})
