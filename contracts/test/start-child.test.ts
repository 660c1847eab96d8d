import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { startChild } from '@svc/contracts'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../../test/child-arguments.ts'

t.test('a program runs with its streams, as with spawn', async t => {
  const child = startChild('cat', [], { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.end('in and out')
  t.equal(await text(child.stdout), 'in and out')
  t.equal(child.stderr, null)
  const options = { stdio: 'pipe' } as const
  const missing = startChild('/none/such', [], options)
  t.match(await once(missing, 'error'), [{ code: 'ENOENT' }])
  const large = startChild('cat', ['x'.repeat(4 << 20)], options)
  large.stdin.end('discarded')
  const [[error], output] = await Promise.all([once(large, 'error'), text(large.stdout)])
  t.match([error, output], [{ code: 'E2BIG', syscall: 'spawn' }, ''], 'spawn throws for it')
  t.throws(() => startChild('', [], options), { code: 'ERR_INVALID_ARG_VALUE' })
})

t.test('without file descriptors, the start of a program is an event, and the process lives', async t => {
  const args = [process.execPath, ...CHILD_ARGUMENTS, join(import.meta.dirname, 'start-child-program.ts')]
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', 'ulimit -n 256; exec "$@"', 'sh', ...args])
  t.same(JSON.parse(stdout), { code: 'EMFILE', streams: ['object', 'object', 'null', 'null', 'object'], output: '' })
})
