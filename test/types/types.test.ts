import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
const folder = fileURLToPath(new URL('.', import.meta.url))

t.test('correct uses of the SDK compile, and incorrect ones do not', t => {
  // Child processes inherit the test runner's hooks, which cannot load the compiler.
  const argv = ['-u', 'NODE_OPTIONS', process.execPath, TSC, '-p', folder]
  const { status, stdout } = spawnSync('env', argv, { encoding: 'utf8' })
  t.equal(stdout, '')
  t.equal(status, 0)
  t.end()
})
