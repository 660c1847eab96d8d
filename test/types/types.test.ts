import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
const folder = fileURLToPath(new URL('.', import.meta.url))

t.test('right uses of the SDK compile, and wrong ones do not', t => {
  // The test runner's hooks, which processes inherit, cannot load the compiler.
  const argv = ['-u', 'NODE_OPTIONS', process.execPath, TSC, '-p', folder]
  const { status, stdout } = spawnSync('env', argv, { encoding: 'utf8' })
  t.equal(stdout, '')
  t.equal(status, 0)
  t.end()
})
