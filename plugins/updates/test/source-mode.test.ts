import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { markerFile } from '#root'
import { upgrade } from './upgrade.ts'

const GIT = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main']

/** Creates a repository with a commit, and a clone of it. Its build writes `built` with the content of `source`. */
function open(t: Test) {
  const folder = t.testdir()
  const [origin, clone, cargo] = [join(folder, 'origin'), join(folder, 'clone'), join(folder, 'cargo')]
  const git = (root: string, ...argv: string[]): string =>
    execFileSync('git', [...GIT, ...argv], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  const commit = (text: string, files: Readonly<Record<string, string>> = {}): string => {
    for (const [name, content] of Object.entries({ source: text, ...files })) writeFileSync(join(origin, name), content)
    git(origin, 'add', '.')
    git(origin, 'commit', '-qm', text)
    return git(origin, 'rev-parse', 'HEAD')
  }
  mkdirSync(origin)
  git(origin, 'init', '-q')
  writeFileSync(cargo, '#!/bin/sh\ngrep -q broken source && { echo "error: broken" >&2; exit 1; }\ncp source built\n', {
    mode: 0o755
  })
  const first = commit('one', { 'Cargo.toml': '', '.gitignore': 'built\n.vox\nnode_modules\n' })
  git(folder, 'clone', '-q', origin, clone)
  const run = (flags: object) =>
    upgrade(join(folder, 'home'), { cargo }, { source: 'repo', repo_root: clone, ...flags })
  const head = (): string => git(clone, 'rev-parse', 'HEAD')
  const built = (): string => readFileSync(join(clone, 'built'), 'utf8')
  return { clone, first, commit, run, head, built, git }
}

t.test('a checkout is reported, updated and built, and goes back', async t => {
  const { clone, first, commit, run, head, built, git } = open(t)
  t.match((await run({})).report, { status: 'up_to_date', source: `repo:${clone}`, target_triple: String })
  const second = commit('two')
  t.match((await run({})).report, { status: 'available', installed_version: first, available_version: second })
  t.equal(head(), first)
  t.match((await run({ apply: true })).report, { status: 'installed', installed_version: second })
  t.same([head(), built(), git(clone, 'rev-parse', '--abbrev-ref', 'HEAD')], [second, 'two', 'main'])
  t.match(JSON.parse(readFileSync(markerFile(clone), 'utf8')), { commit: first, to: second, branch: 'main' })
  t.match((await run({ rollback: true })).report, { status: 'rolled_back', installed_version: first })
  t.same([head(), built(), git(clone, 'rev-parse', '--abbrev-ref', 'HEAD')], [first, 'one', 'main'])
  await t.rejects(run({ rollback: true }), { code: 'UPD_NO_PREVIOUS' })
  t.match((await run({ apply: true, ref: first })).report, { status: 'up_to_date' })
  t.match((await run({ apply: true, ref: 'main' })).report, { installed_version: second })
})

t.test('a checkout with changes is refused, and stays as it is', async t => {
  const { clone, first, commit, run, head } = open(t)
  commit('two')
  writeFileSync(join(clone, 'source'), 'mine')
  await t.rejects(run({ apply: true }), { code: 'UPD_SOURCE_DIRTY', data: { files: ['source'] } })
  t.same([head(), readFileSync(join(clone, 'source'), 'utf8')], [first, 'mine'])
})

t.test('a build that fails returns the checkout to its commit', async t => {
  const { first, commit, run, head, built, git, clone } = open(t)
  commit('broken')
  await t.rejects(run({ apply: true }), { code: 'UPD_SOURCE_FAILED', message: /error: broken/ })
  t.same([head(), built(), git(clone, 'rev-parse', '--abbrev-ref', 'HEAD')], [first, 'one', 'main'])
})

t.test('commits after an update are never lost by the way back', async t => {
  const { clone, commit, run, head, git } = open(t)
  commit('two')
  await run({ apply: true })
  writeFileSync(join(clone, 'source'), 'own work')
  git(clone, 'commit', '-qam', 'own work')
  const own = head()
  await t.rejects(run({ rollback: true }), { code: 'UPD_SOURCE_FAILED', message: /other commits/ })
  t.equal(head(), own)
  commit('three')
  await t.rejects(run({ apply: true }), { code: 'UPD_SOURCE_FAILED' }, 'a branch that has diverged is not merged')
  t.equal(head(), own)
  await t.rejects(run({ apply: true, ref: '--upload-pack=x' }), { code: 'UPD_SOURCE_FAILED' })
  await t.rejects(run({ apply: true, ref: 'none' }), { code: 'UPD_SOURCE_FAILED' })
})

t.test('a checkout with a package.json is built with npm', async t => {
  const { clone, commit, run, built } = open(t)
  const scripts = { build: `node -e "fs.copyFileSync('source', 'built')"` }
  const lock = { name: 'x', version: '1.0.0', lockfileVersion: 3, packages: { '': { name: 'x', version: '1.0.0' } } }
  commit('two', {
    'package.json': JSON.stringify({ name: 'x', version: '1.0.0', scripts }),
    'package-lock.json': JSON.stringify(lock)
  })
  t.match((await run({ apply: true })).report, { status: 'installed' })
  t.equal(built(), 'two')
  t.ok(existsSync(join(clone, 'package.json')))
})
