import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'

const TOOL = join(import.meta.dirname, '../../tools/node-matrix.mjs')

/** Prints what tap prints for a run in which one test fails, which is then run again. */
const MIXED = `
console.log(\`# Subtest: .tap/groups/001-kernel.test.mjs
    # kernel/test/good.test.ts
    # Subtest: starts
        ok 1 - should be equal
        1..1
    ok 1 - starts # time=3.1ms
    # kernel/test/bad.test.ts
    # Subtest: stops
        not ok 1 - should be equal
        1..1
    not ok 2 - stops # time=4.2ms
    1..2
not ok 1 - .tap/groups/001-kernel.test.mjs # time=12ms
# { total: 12, pass: 10, fail: 1, skip: 1 }
run again
# { total: 2, pass: 1, fail: 1 }\`)
console.error(process.execPath, process.argv.slice(2).join(' '))
process.exitCode = 1
`
const PASSES = "console.log('# { total: 2, pass: 2 }')"
const BREAKS = "console.log('ok 1 - first')\nprocess.exitCode = 7"

const project = (test: string) => ({
  'package.json': JSON.stringify({ private: true, scripts: { test: 'node test.mjs' } }),
  'test.mjs': test
})

const matrix = (cwd: string, ...argv: string[]) =>
  spawnSync(process.execPath, [TOOL, ...argv], { cwd, encoding: 'utf8' })

t.test('each Node.js of the matrix runs the tests of the folder, and failed tests are named', async t => {
  const folder = t.testdir(project(MIXED))
  const node = `${process.execPath},${process.execPath}`
  const { status, stdout, stderr } = matrix(folder, '--node', node, '--json', 'kernel/test/bad.test.ts')
  t.equal(status, 1)
  t.match(stderr, `${process.execPath} kernel/test/bad.test.ts`)
  const { runs } = JSON.parse(stdout)
  t.equal(runs.length, 2)
  t.match(runs[0], { node: process.versions.node, passed: 10, failed: 1, skipped: 1, exit_code: 1 })
  t.strictSame(runs[0].failures, [{ file: 'kernel/test/bad.test.ts', test: 'stops' }])
})

t.test('the matrix passes if every run passes', async t => {
  const folder = t.testdir(project(PASSES))
  const { status, stdout } = matrix(folder, '--node', process.execPath)
  t.equal(status, 0)
  t.match(stdout, new RegExp(`^${process.versions.node} +2 +0 +0 +\\d+\\.\\d`, 'm'))
})

t.test('a run that ends without a summary fails the matrix', async t => {
  const folder = t.testdir(project(BREAKS))
  const { status, stdout } = matrix(folder, '--node', process.execPath)
  t.equal(status, 1)
  t.match(stdout, 'no summary, status 7')
})

t.test('a clone holds what is committed, and is removed', async t => {
  const folder = t.testdir({ ...project(PASSES), temp: {} })
  const lock = spawnSync('npm', ['install', '--package-lock-only', '--offline'], { cwd: folder, encoding: 'utf8' })
  t.equal(lock.status, 0, lock.stderr)
  const git = (...argv: string[]) =>
    spawnSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', ...argv], { cwd: folder })
  for (const argv of [
    ['init', '-q'],
    ['add', 'package.json', 'package-lock.json', 'test.mjs'],
    ['commit', '-qm', 'All']
  ])
    t.equal(git(...argv).status, 0)
  const temp = join(folder, 'temp')
  const { status, stdout, stderr } = spawnSync(process.execPath, [TOOL, '--clone', '--node', process.execPath], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: temp }
  })
  t.equal(status, 0, stderr)
  t.match(stdout, new RegExp(`^${process.versions.node} +2`, 'm'))
  t.strictSame(
    readdirSync(temp).filter(name => name.startsWith('svc-node-matrix-')),
    []
  )
})

t.test('a Node.js that is neither a version nor a file is refused', async t => {
  const { status, stderr } = matrix(t.testdir(project(PASSES)), '--node', 'lts')
  t.equal(status, 1)
  t.equal(stderr, '--node lts: neither a version nor a file; write a version such as 24, or the path of a binary\n')
})
