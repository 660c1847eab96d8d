import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { runSvc } from '../../../../test/e2e/run-svc.ts'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { type Command, svc } from '../serving/svc-command.ts'

t.setTimeout(300_000)

const NOTES = `@table type Note { title: str }
@mutation fn add(title: str) { db.Note.insert({ title: title }) }
`
const OTHER = '@table type Item { size: int }\n@query fn items() to int { db.Item.count() }\n'

async function serving(command: Command): Promise<string> {
  const line = await command.line(/app listens on/)
  await command.line(/generation 1/)
  return /http:\/\/[\d.:]+/.exec(line)?.[0] as string
}

/** Files of the processes that serve programs of a project. */
function files(folder: string): string[] {
  const path = join(folder, '.vox/plugins/app-runtime/serving')
  return readdirSync(path).map(name => join(path, name))
}

t.test('commands find the process that serves a program, on any port, and forget it when it has ended', async t => {
  const folder = makeProject(t, { 'app.vox': NOTES, 'other.vox': OTHER })
  const none = await runSvc(folder, ['app', 'activity'])
  t.equal(none.code === 0, false)
  t.match(none.stderr, /APP_NO_SERVER/)
  t.ok(none.stderr.includes(`looked for a daemon, and for svc dev and svc run of ${folder}`), none.stderr)
  t.match((await runSvc(folder, ['app', 'list'])).stdout, /serves no program.*looked for a daemon/)

  const app = svc(t, folder, 'dev', 'app.vox', '--port', '0')
  const url = await serving(app)
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"title":"one"}' }
  const id = (await fetch(`${url}/api/mutation/add`, init)).headers.get('x-request-id')
  await app.line(new RegExp(`"event":"request".*"request_id":"${id}"`))
  const { code, stdout } = await runSvc(folder, ['app', 'activity', '--json'])
  t.equal(code, 0)
  t.match(
    JSON.parse(stdout).upsert.filter((row: { request_id: string }) => row.request_id === id),
    [
      { event: 'sql', text: /^INSERT/ },
      { event: 'sql', text: 'COMMIT' },
      { event: 'request', status: 200 }
    ]
  )
  t.match(JSON.parse((await runSvc(folder, ['app', 'list', '--json'])).stdout), {
    apps: [{ name: 'app', state: 'serving', url }],
    note: ''
  })
  const read = await runSvc(folder, ['app', 'table', 'rows', 'app', 'Note', '--json'])
  t.match(JSON.parse(read.stdout), { rows: [{ title: 'one' }] })

  const other = svc(t, folder, 'run', 'other.vox', '--port', '0')
  const otherUrl = await serving(other)
  const both = JSON.parse((await runSvc(folder, ['app', 'list', '--json'])).stdout)
  t.same(both.apps.map((each: { name: string }) => each.name).sort(), ['app', 'other'])
  t.match(JSON.parse((await runSvc(folder, ['app', 'describe', 'app', '--json'])).stdout), { app: { url } })
  t.match(JSON.parse((await runSvc(folder, ['app', 'describe', 'other', '--json'])).stdout), { app: { url: otherUrl } })
  t.match((await runSvc(folder, ['app', 'describe', 'third'])).stderr, /APP_UNKNOWN/)

  other.child.kill('SIGTERM')
  await other.ended
  t.equal(files(folder).length, 1, 'a process that ends removes its file')
  const [file = ''] = files(folder)
  const { socket } = JSON.parse(readFileSync(file, 'utf8')) as { socket: string }
  writeFileSync(`${file}.tmp`, 'half of a file')
  utimesSync(`${file}.tmp`, 0, 0)
  app.child.kill('SIGKILL')
  await app.ended
  t.ok(existsSync(socket))
  t.match((await runSvc(folder, ['app', 'feed'])).stderr, /APP_NO_SERVER/)
  t.same(files(folder), [], 'the files of a killed process are removed')
  t.notOk(existsSync(dirname(socket)), 'and the folder of its socket')
})

t.test('the socket is for this user, with the token of the file, and for operations on programs', async t => {
  const folder = makeProject(t, { 'app.vox': NOTES })
  await serving(svc(t, folder, 'dev', 'app.vox', '--port', '0'))
  const [file = ''] = files(folder)
  const { socket, token } = JSON.parse(readFileSync(file, 'utf8')) as { socket: string; token: string }
  for (const path of [file, join(socket, '..')]) t.equal(statSync(path).mode & 0o077, 0, path)
  const ask = async (request: object | string): Promise<string> => {
    const client = connect(socket)
    await once(client, 'connect')
    client.write(`${typeof request === 'string' ? request : JSON.stringify(request)}\n`)
    return text(client).catch(() => '')
  }
  t.match(JSON.parse(await ask({ token, operation: 'app.list', input: {} })), { result: { apps: [{ name: 'app' }] } })
  for (const wrong of ['', 'x'.repeat(token.length)]) {
    t.equal(await ask({ token: wrong, operation: 'app.list', input: {} }), '')
  }
  const refused = JSON.parse(await ask({ token, operation: 'kernel.stop', input: {} }))
  t.match(refused, { error: { code: 'APP_REQUEST_INVALID' } })
  t.match(JSON.parse(await ask('GET / HTTP/1.1')), { error: { code: 'APP_REQUEST_FAILED' } })
  t.match(JSON.parse(await ask({ token, operation: 'app.list', input: {} })), { result: {} }, 'it goes on')
  writeFileSync(file, '{"pid":')
  t.match((await runSvc(folder, ['app', 'activity'])).stderr, /APP_NO_SERVER/, 'a file that is cut is no process')
})
