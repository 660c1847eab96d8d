import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import compiler from '@svc/plugin-compiler'
import database from '@svc/plugin-database'
import type { Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import web from '@svc/plugin-web'
import t from 'tap'
import workspace from '#plugin'

const FILES = {
  'good.json': '{ "a": [1, 2] }',
  'bad.json': '{\n  "a": 1,\n}',
  'good.toml': 'a = 1\n',
  'bad.toml': 'a = 1\nb = \n',
  'good.yaml': 'a: 1\n---\nb: 2\n',
  'bad.yaml': 'a: [1\nb: 2\n',
  'good.mjs': 'import fs from "node:fs"\nexport default fs\n',
  'bad.js': 'const a = 1\nconst = 2\n',
  'good.vox': 'fn main() {\n    print("Hello")\n}\n',
  'bad.vox': 'fn main() {\n    print(missing)\n}\n',
  'image.png': 'x',
  '.env': 'TOKEN=1'
}

function writeAll(root: string): void {
  for (const [path, text] of Object.entries(FILES)) writeFileSync(join(root, path), text)
}

t.test('checks files in their languages, and reports the places of problems', async t => {
  const kernel = await testKernel([workspace, compiler, web] as Plugin[])
  t.teardown(() => kernel.close())
  writeAll(kernel.root)
  const check = (path: string) => kernel.callById('workspace.validateFile', { path }) as Promise<Record<string, any>>
  for (const path of ['good.json', 'good.toml', 'good.yaml', 'good.mjs', 'good.vox'])
    t.match(await check(path), { valid: true, path, problems: [] })
  for (const [path, line] of [
    ['bad.json', 3],
    ['bad.toml', 2],
    ['bad.yaml', 2],
    ['bad.js', 2],
    ['bad.vox', 2]
  ] as const) {
    const { valid, problems } = await check(path)
    t.equal(valid, false, path)
    t.match(problems[0], { line, severity: 'error', message: /\w+/ }, path)
  }
  t.match(await kernel.callById('workspace.validateSource', { source: 'a: 1', language: 'yaml' }), { valid: true })
  t.match(await kernel.callById('workspace.validateSource', { source: '{', language: 'json' }), {
    valid: false,
    path: null
  })
  const source = `print("${'a'.repeat(131_072)}")`
  const long = kernel.callById('workspace.validateSource', { source, language: 'vox' })
  await t.rejects(long, {
    code: 'WSP_FILE_REFUSED',
    message: /source\.vox: the text has 131081 characters/,
    hint: /svc check/
  })
})

t.test('a JavaScript text of empty lines is checked in linear time', async t => {
  const kernel = await testKernel([workspace, web] as Plugin[])
  t.teardown(() => kernel.close())
  const source = `${'\n'.repeat(2_000_000)}export const a = 1\n`
  t.match(await kernel.callById('workspace.validateSource', { source, language: 'javascript' }), { valid: true })
})

t.test('refuses files outside the project, secrets, unknown kinds and unreadable text', async t => {
  const outside = t.testdir({ 'secret.json': '{}' })
  const kernel = await testKernel([workspace])
  t.teardown(() => kernel.close())
  const { root } = kernel
  writeAll(root)
  symlinkSync(join(outside, 'secret.json'), join(root, 'link.json'))
  writeFileSync(join(root, 'latin.json'), Buffer.from([0x22, 0xe9, 0x22]))
  writeFileSync(join(root, 'long.json'), ' '.repeat(4_000_001))
  execFileSync('mkfifo', [join(root, 'pipe.json')])
  const check = (path: string) => kernel.callById('workspace.validateFile', { path })
  for (const path of [
    'link.json',
    join(outside, 'secret.json'),
    '../other.json',
    'latin.json',
    'long.json',
    'pipe.json',
    'none.json',
    'a\0.json'
  ])
    await t.rejects(check(path), { code: 'WSP_FILE_REFUSED' }, path)
  await t.rejects(check('image.png'), { code: 'WSP_LANGUAGE_UNKNOWN', hint: /json/ })
  await t.rejects(check('good.vox'), { code: 'WSP_LANGUAGE_UNKNOWN', message: /plugin compiler/ })
})

t.test('stores preferences of users, and counts the search index', async t => {
  const kernel = await testKernel([workspace, database] as Plugin[])
  t.teardown(() => kernel.close())
  execFileSync('git', ['init', '--quiet'], { cwd: kernel.root })
  const set = (input: object) => kernel.callById('workspace.setPreference', input)
  const get = async (input: object) =>
    ((await kernel.callById('workspace.getPreference', input)) as { preferences: object[] }).preferences
  await set({ key: 'answers', value: 'short' })
  await set({ key: 'answers', value: 'long', user_id: 'ada' })
  await set({ key: 'answers', value: 'brief' })
  t.match(await get({}), [{ key: 'answers', value: 'brief' }])
  t.match(await get({ key: 'answers', user_id: 'ada' }), [{ value: 'long', user_id: 'ada' }])
  await set({ key: 'answers', value: null })
  t.same(await get({}), [])
  await t.rejects(get({ key: 'answers' }), { code: 'WSP_PREFERENCE_UNKNOWN', message: /answers/ })
  t.match(await kernel.callById('workspace.repoIndexStatus', {}), {
    repository: true,
    database: true,
    documents: 0,
    chunks: 0,
    last_indexed_at: null
  })
})

t.test('says what is missing without a repository or a database', async t => {
  const kernel = await testKernel([workspace])
  t.teardown(() => kernel.close())
  await t.rejects(kernel.callById('workspace.gitStatus', {}), { code: 'WSP_NOT_REPOSITORY', hint: /git init/ })
  await t.rejects(kernel.callById('workspace.setPreference', { key: 'a', value: 'b' }), { code: 'WSP_NO_DATABASE' })
  t.match(await kernel.callById('workspace.repoIndexStatus', {}), { repository: false, files: null, database: false })
})
