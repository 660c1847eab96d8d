import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t from 'tap'
import { runSvc } from './run-svc.ts'
import { makeProject, SVC_BIN } from './served-project.ts'

const CONFIG = `
kernel.only = ["http", "dashboard", "cli", "daemon"]
[plugins.http]
port = 0
[plugins.daemon]
socket = "127.0.0.1:0"
`

t.test('svc up serves a folder and hands out an address that signs in; again, it uses the running server', async t => {
  const folder = makeProject(t, { 'svc.toml': CONFIG })
  const child = spawn(process.execPath, [SVC_BIN, 'up', '--json', '--no-open'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const log: string[] = []
  createInterface({ input: child.stderr }).on('line', line => log.push(line))
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { url, role } = JSON.parse(line)
  t.equal(role, 'owner')
  const { origin, hash } = new URL(url)
  const code = hash.replace('#code=', '')
  t.notMatch(log.join('\n'), code, 'the code is not in the log')
  const page = await fetch(`${origin}/`)
  t.match([page.status, page.headers.get('content-type')], [200, 'text/html'])
  const signedIn = await fetch(`${origin}/ui/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ code })
  })
  t.ok(signedIn.ok, String(signedIn.status))
  const again = await runSvc(folder, ['up', '--no-open'])
  t.match(again, { code: 0, stdout: new RegExp(`^${origin}/#code=`), stderr: /60 seconds/ })
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
})
