import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { runSvc } from './run-svc.ts'
import { makeProject, SVC_BIN, serve } from './served-project.ts'

const PROGRAM = `@query fn nth(n: int) to int {
    [1][n]
}
`

/** Runs `svc run` or `svc dev` until it listens. */
async function serveProgram(t: Test, folder: string, command: string, argv: readonly string[] = []) {
  const set = ['--set', 'plugins.http.port=0', ...argv]
  const child = spawn(process.execPath, [SVC_BIN, '--json', command, 'app.vox', '--port', '0', ...set], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  const ended = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  t.teardown(stop)
  let url: string | undefined
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    url = /app listens on (http:\/\/[^\s"]+)/.exec(line)?.[1] ?? url
    if (/"msg":"generation 1"/.test(line)) break
  }
  child.stderr?.resume()
  const get = async (n: string, id: string): Promise<number> =>
    (await fetch(`${url}/api/query/nth?n=${n}`, { headers: { 'x-request-id': id } })).status
  return { get, stop }
}

async function found(folder: string, ...argv: string[]) {
  const { stdout, stderr } = await runSvc(folder, [...argv, '--json'])
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}

for (const command of ['run', 'dev']) {
  t.test(`every request of svc ${command} is found by its id, while it runs and afterwards`, async t => {
    const folder = makeProject(t, { 'app.vox': PROGRAM })
    const program = await serveProgram(t, folder, command)
    t.equal(await program.get('0', 'r-1'), 200)
    t.equal(await program.get('7', 'r-2'), 500)
    t.equal(await program.get('x', 'r-3'), 400)
    const expected = [
      { request_id: 'r-1', status: 200, error_code: null },
      { request_id: 'r-2', status: 500, error_code: 'RUN_INDEX' },
      { request_id: 'r-3', status: 400, error_code: 'RUN_ARGUMENTS' }
    ]
    const all = await found(folder, 'requests')
    t.match(all.requests, expected)
    t.equal(all.requests.length, 3)
    t.match(all.note, /all requests of svc run and svc dev/)
    t.match(await found(folder, 'logs', '--request', 'r-2'), {
      lines: [
        { plugin: 'app-runtime', fields: { request_id: 'r-2', code: 'RUN_INDEX' } },
        { plugin: 'http', level: 'error', fields: { error_code: 'RUN_INDEX' } }
      ]
    })
    await program.stop()
    t.match((await found(folder, 'requests', '--request', 'r-1')).requests, [{ request_id: 'r-1', status: 200 }])
  })
}

t.test('a server of the project finds requests and lines of svc run by id', async t => {
  const folder = makeProject(t, { 'app.vox': PROGRAM })
  const server = await serve(t, folder, ['--only', 'http,daemon,observability'])
  const program = await serveProgram(t, folder, 'run')
  t.equal(await program.get('0', 'r-1'), 200)
  t.equal(await program.get('7', 'r-2'), 500)
  const one = await found(folder, 'requests', '--request', 'r-1')
  t.match(one, { requests: [{ request_id: 'r-1', plugin: 'app-runtime' }], note: /svc run/ })
  t.ok((await found(folder, 'logs', '--request', 'r-2')).lines.length >= 2)
  await fetch(`${server.url}/health`, { headers: { 'x-request-id': 'r-9' } })
  t.match(await found(folder, 'requests', '--request', 'r-9'), { requests: [{ path: '/health' }], note: '' })
  t.match(await found(folder, 'requests', '--request', 'r-none'), { requests: [], note: '' })

  const { stdout } = await runSvc(folder, ['logs', '--request', 'r-1'])
  t.match(stdout, /no log line has the request id r-1; svc requests --request r-1 shows the request itself/)
})

t.test('svc run serves without observability if it is disabled', async t => {
  const folder = makeProject(t, { 'app.vox': PROGRAM, 'svc.toml': '[plugins.observability]\nenabled = false\n' })
  const program = await serveProgram(t, folder, 'run')
  t.equal(await program.get('0', 'r-1'), 200)
})
