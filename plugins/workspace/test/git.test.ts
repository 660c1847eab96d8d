import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testKernel } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import workspace from '#plugin'
import { parseStatus } from '#root'

interface World {
  readonly root: string
  git(...args: string[]): string
  write(path: string, text: string): void
  call(id: string, input?: object): Promise<Record<string, any>>
}

async function world(t: Test): Promise<World> {
  const kernel = await testKernel([workspace])
  t.teardown(() => kernel.close())
  const { root } = kernel
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: root,
      encoding: 'utf8'
    })
  git('init', '--quiet', '--initial-branch=main')
  return {
    root,
    git,
    write(path, text) {
      mkdirSync(join(root, path, '..'), { recursive: true })
      writeFileSync(join(root, path), text)
    },
    call: (id, input = {}) => kernel.callById(`workspace.${id}`, input) as Promise<Record<string, any>>
  }
}

t.test('shows branch, staged, unstaged, renamed and untracked files of a repository', async t => {
  const { git, write, call } = await world(t)
  t.match(await call('gitStatus'), { branch: 'main', commit: null, clean: true, files: [] })
  write('kept.txt', 'a\n')
  write('old name.txt', 'one\ntwo\nthree\n')
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
  write('kept.txt', 'b\n')
  git('mv', 'old name.txt', 'new näme.txt')
  write('more/untracked.txt', 'x')
  const status = await call('gitStatus')
  t.match(status, { branch: 'main', commit: /^[0-9a-f]{40}$/, upstream: null, ahead: null, clean: false, changed: 3 })
  t.same(
    [...status.files].sort((a, b) => (a.path < b.path ? -1 : 1)),
    [
      { path: 'kept.txt', staged: null, unstaged: 'modified' },
      { path: 'more/untracked.txt', staged: null, unstaged: 'untracked' },
      { path: 'new näme.txt', from: 'old name.txt', staged: 'renamed', unstaged: null }
    ]
  )
  t.match(await call('gitStatus', { limit: 1 }), { changed: 3, files: { length: 1 } })
})

t.test('shows the commits that an upstream lacks, and conflicts', async t => {
  const { git, write, call } = await world(t)
  write('a.txt', '1\n')
  git('add', '.')
  git('commit', '--quiet', '-m', '1')
  git('checkout', '--quiet', '-b', 'other')
  write('a.txt', '2\n')
  git('commit', '--quiet', '-am', '2')
  git('checkout', '--quiet', 'main')
  write('a.txt', '3\n')
  git('commit', '--quiet', '-am', '3')
  git('branch', '--quiet', '--set-upstream-to=other')
  t.match(await call('gitStatus'), { upstream: 'other', ahead: 1, behind: 1 })
  t.throws(() => git('merge', 'other'))
  t.same((await call('gitStatus')).files, [{ path: 'a.txt', staged: 'conflict', unstaged: 'conflict' }])
})

t.test('shows changed lines against the index, HEAD or a revision, and cuts long diffs', async t => {
  const { git, write, call } = await world(t)
  write('a.txt', 'one\n')
  write('b.bin', 'x\0y')
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
  write('a.txt', 'two\n')
  write('b.bin', 'x\0z')
  const diff = await call('gitDiff')
  t.match(diff, {
    truncated: false,
    files: [
      { path: 'a.txt', added: 1, deleted: 1 },
      { path: 'b.bin', added: null, deleted: null }
    ]
  })
  t.match(diff.diff, /^-one\n\+two$/m)
  t.same((await call('gitDiff', { staged: true })).diff, '')
  git('commit', '--quiet', '-am', 'second')
  t.match((await call('gitDiff', { base: 'HEAD~1', path: 'a.txt' })).files, [{ path: 'a.txt' }])
  write('a.txt', 'line\n'.repeat(1_000))
  const long = await call('gitDiff', { max_bytes: 1_000 })
  t.equal(long.truncated, true)
  t.equal(Buffer.byteLength(long.diff), 1_000)
})

t.test('leaves secrets out of diffs, and refuses a path that names one', async t => {
  const { git, write, call } = await world(t)
  const secrets = [
    '.env',
    'deep/.env.local',
    '.envrc',
    'deep/prod.env',
    'a.tfvars',
    'deep/tls.KEY',
    'svc.local.toml',
    'credentials.json'
  ]
  for (const path of [...secrets, 'plain.txt']) write(path, 'SECRET-1\n')
  git('add', '--force', '.')
  git('commit', '--quiet', '-m', 'first')
  for (const path of [...secrets, 'plain.txt']) write(path, 'SECRET-2\n')
  const { files, diff } = await call('gitDiff')
  t.same(
    files.map(({ path }: { path: string }) => path),
    ['plain.txt']
  )
  t.equal(diff.match(/SECRET-2/g)?.length, 1)
  for (const path of secrets) await t.rejects(call('gitDiff', { path }), { code: 'WSP_FILE_REFUSED' })
})

t.test('starts no program that the repository configures, and takes no option for a revision', async t => {
  const { root, git, write, call } = await world(t)
  const started = join(root, 'started')
  write('evil.sh', `#!/bin/sh\ntouch ${started}\n`)
  chmodSync(join(root, 'evil.sh'), 0o755)
  write('.gitattributes', '*.txt diff=evil\n')
  write('a.txt', '1\n')
  git('add', '.')
  git('commit', '--quiet', '-m', '1')
  for (const key of ['diff.evil.command', 'diff.evil.textconv', 'diff.external', 'core.fsmonitor', 'core.pager'])
    git('config', key, join(root, 'evil.sh'))
  write('a.txt', '2\n')
  t.match((await call('gitDiff')).diff, /\+2/)
  t.match((await call('gitStatus')).changed, 1)
  t.throws(() => execFileSync('test', ['-e', started]))
  await t.rejects(call('gitDiff', { base: '--output=x' }), { code: 'OPR_INPUT_INVALID' })
  await t.rejects(call('gitDiff', { base: 'nowhere' }), { code: 'WSP_REVISION_UNKNOWN', message: /nowhere/ })
})

t.test('lists packages and sources, and says which manifest cannot be read', async t => {
  const { write, call } = await world(t)
  write('package.json', '{ "name": "root", "version": "1.2.3" }')
  write('plugins/x/package.json', '{ "name": "x", "svc": { "plugin": "./x.cjs" } }')
  write('crate/Cargo.toml', '[package]\nname = "crate"\nversion = "0.1.0"\n')
  write('py/pyproject.toml', '[tool.poetry]\nname = "py"\n')
  write('go/go.mod', 'module example.org/go\n\ngo 1.22\n')
  write('broken/package.json', '{')
  write('src/main.vox', 'fn main() {}\n')
  write('.gitignore', 'node_modules\n')
  write('node_modules/y/package.json', '{ "name": "y" }')
  const { modules, total } = await call('modules')
  t.equal(total, 7)
  t.same(
    modules.map(({ kind, name, version }: Record<string, unknown>) => [kind, name, version]),
    [
      ['npm', 'broken', null],
      ['cargo', 'crate', '0.1.0'],
      ['go', 'example.org/go', '1.22'],
      ['npm', 'root', '1.2.3'],
      ['svc-plugin', 'x', null],
      ['python', 'py', null],
      ['vox', 'src/main', null]
    ]
  )
  t.match(modules[0].problem, /JSON/)
})

t.test('parses any list of changed files', t => {
  const path = fc.string({ minLength: 1, unit: fc.constantFrom('a', 'ä', ' ', '/', '"', '\n', '#', '?') })
  const state = fc.constantFrom('.', 'M', 'A', 'D')
  const entry = fc.oneof(
    path.map(path => ({ path, record: `? ${path}`, from: undefined })),
    fc
      .tuple(state, state, path)
      .map(([x, y, path]) => ({ path, record: `1 ${x}${y} N... 100644 100644 100644 a b ${path}`, from: undefined })),
    fc.tuple(path, path).map(([path, from]) => ({
      path,
      record: `2 R. N... 100644 100644 100644 a b R100 ${path}\0${from}`,
      from
    })),
    path.map(path => ({ path, record: `u UU N... 100644 100644 100644 100644 a b c ${path}`, from: undefined }))
  )
  fc.assert(
    fc.property(fc.array(entry), entries => {
      const { files } = parseStatus(entries.map(({ record }) => `${record}\0`).join(''))
      return (
        files.length === entries.length &&
        files.every((file, at) => file.path === entries[at]?.path && file.from === entries[at]?.from)
      )
    })
  )
  fc.assert(fc.property(fc.string(), text => Array.isArray(parseStatus(text).files)))
  t.pass()
  t.end()
})

t.test('finds commits by message and path, without those of hidden files', async t => {
  const { git, write, call } = await world(t)
  await t.rejects(call('repoHistory'), { code: 'WSP_GIT_FAILED' }, 'a repository without commits')
  for (const [path, message] of [
    ['src/a.txt', 'Add [a] to the zebra'],
    ['src/b.txt', 'Add b'],
    ['.env', 'Add the keys']
  ] as const) {
    write(path, 'x')
    git('add', '-f', path)
    git('commit', '--quiet', '-m', message)
  }
  const subjects = async (input: object) =>
    (await call('repoHistory', input)).commits.map(({ subject }: { subject: string }) => subject)
  t.same(await subjects({}), ['Add the keys', 'Add b', 'Add [a] to the zebra'])
  t.same(await subjects({ limit: 1 }), ['Add the keys'])
  t.same(await subjects({ query: '[A] TO' }), ['Add [a] to the zebra'])
  t.same(await subjects({ path: 'src' }), ['Add b', 'Add [a] to the zebra'])
  t.same(await subjects({ path: 'src/b.txt', query: 'zebra' }), [])
  t.match((await call('repoHistory')).commits[0], { commit: /^[0-9a-f]{40}$/, author: 't', at: /^\d{4}-/ })
  t.same(await subjects({ query: '--output=x' }), [], 'no query is an option')
  await t.rejects(call('repoHistory', { path: '.env' }), { code: 'WSP_FILE_REFUSED' })
})
