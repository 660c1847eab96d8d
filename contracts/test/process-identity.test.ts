import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { ownIdentity, presenceOf } from '@svc/contracts'
import t from 'tap'

const needsProc = { skip: existsSync('/proc/self') ? false : 'this system has no /proc' }

t.test('a process recognises itself as alive, and an ended process as dead', needsProc, async t => {
  const own = ownIdentity()
  t.match(own, { host: hostname(), pid: process.pid })
  t.equal(presenceOf(own), 'alive')
  const child = spawn(process.execPath, ['-e', '0'])
  await once(child, 'exit')
  t.equal(presenceOf({ ...own, pid: child.pid ?? 0 }), 'dead', 'ended')
  t.equal(presenceOf({ ...own, start: `${own.start}0` }), 'dead', 'another process with the same id')
  const [boot, namespace, ticks] = own.start?.split(' ') ?? []
  t.equal(presenceOf({ ...own, start: `boot ${namespace} ${ticks}` }), 'unknown', 'of another boot')
  t.equal(presenceOf({ ...own, start: `${boot} pid:[1] 1` }), 'unknown', 'of another table of processes')
  t.equal(presenceOf({ ...own, start: null }), 'unknown', 'where the number is all there is')
  t.equal(presenceOf({ ...own, pid: child.pid ?? 0, start: null }), 'dead')
  t.equal(presenceOf({ host: 'elsewhere', pid: 1, start: 'boot pid 1' }), 'unknown')
})
