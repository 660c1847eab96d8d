import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { makeProject, SVC_BIN } from '../../../../test/e2e/served-project.ts'

const SOURCE = '@query\nfn one() to int { 1 }\n'

/** Runs `svc run` of a program whose port is in use. */
async function runOnTakenPort(t: Test, settings = '') {
  const other = createServer()
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  const folder = makeProject(t, { 'one.vox': SOURCE, 'svc.toml': `[plugins.http]\nport = 0\n${settings}` })
  const argv = [SVC_BIN, 'run', 'one.vox', '--database', 'memory', '--port', String(port)]
  const child = spawn(process.execPath, argv, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  return { child, port }
}

t.test('svc run reports why a program cannot be served, and ends', async t => {
  const { child, port } = await runOnTakenPort(t)
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  t.equal(code, 1)
  t.match(err, `port ${port} on 127.0.0.1 is in use`)
  t.match(err, 'HTTP_PORT_IN_USE')
  t.notMatch(err, 'next retry in')
})

t.test('with the setting on, svc run tries again', async t => {
  const { child } = await runOnTakenPort(t, '[plugins.app-runtime]\non_boot_failure = "retry"\n')
  let err = ''
  for await (const chunk of child.stderr) {
    err += chunk
    if (err.includes('next retry in')) break
  }
  t.match(err, 'HTTP_PORT_IN_USE')
  t.equal(child.exitCode, null)
})
