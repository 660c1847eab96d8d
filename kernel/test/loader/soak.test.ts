import t from 'tap'
import { plainNode } from '../fixtures/loader/plain-node.ts'
import { folder, packageJson, pluginSource } from '../fixtures/loader/plugin-folder.ts'

t.test('many reloads free the old code', async t => {
  const head = `import { createServer } from 'node:http'
import { EventEmitter } from 'node:events'
import { version } from './version.ts'
export const state = Array.from({ length: 2000 }, (_, index) => ({ index, text: 'row ' + index + ' of ' + version }))`
  const body = `
  setInterval(() => state.length, 1000)
  setTimeout(() => state.length, 60000)
  process.on('SIGUSR2', () => state.length)
  createServer(() => state.length)
  new EventEmitter().on('x', () => state.length)
  return version`
  const root = folder(t, { 'package.json': packageJson('sample'), 'src/plugin.ts': pluginSource('sample', body, head) })
  const { perCycle, stale, collected, leaks } = await plainNode('soak.ts', [root, '200'], ['--expose-gc'])
  t.equal(stale, 0, 'each cycle runs the new code')
  t.equal(leaks, 241 * 3, 'leaks are closed; a server that never listened counts as none')
  t.ok(collected >= 230, `${collected} of 241 old modules were collected`)
  t.ok(perCycle <= 2048, `${perCycle} bytes per reload`)
})
