import t from 'tap'
import { fakeGateway, sendJson } from '../../plugins/openclaw/test/fake-gateway.ts'
import { runSvc } from './run-svc.ts'
import { makeProject, serve } from './served-project.ts'

const SCRIPT = `fn main() {
    print(Speech.transcribe("note.txt").unwrap())
    print(Speech.transcribe("../note.txt").is_err())
    for tool in ["svc_oratio_status", "speech.download", "svc_of_nobody"] {
        print(std.agentos.mutation_kind_for_tool(tool))
    }
}
`

const GATEWAY = `fn main() {
    print(OpenClaw.list_skills().unwrap())
    print(OpenClaw.call("weather", { day: 1 }).unwrap())
    print(OpenClaw.notify("builds", "green"))
}
`

const APP = `@query fn heard() to Result[str] {
    Speech.transcribe("note.txt")
}
`

t.test('a program may call functions of plugins that svc run itself does not need', async t => {
  const folder = makeProject(t, { 'script.vox': SCRIPT, 'note.txt': 'written, not spoken' })
  const { code, stdout, stderr } = await runSvc(folder, ['run', 'script.vox'])
  t.equal(code, 0, stderr)
  t.equal(stdout, 'written, not spoken\ntrue\nread_only\nwrite\nunknown\n')
})

t.test('a program uses the configured skills gateway, and its token is never printed', async t => {
  const fake = await fakeGateway(t, {
    reply: frame =>
      frame.method === 'subscriptions.notify' ? { error: `not with ${frame.method}` } : { payload: frame },
    http: { '/v1/skills': sendJson([{ name: 'weather' }]) }
  })
  const token = 'token-that-nobody-may-see'
  const env = { SVC_EXTGW_URL: fake.url, SVC_EXTGW_WS_URL: fake.wsUrl, SVC_EXTGW_TOKEN: token }
  const folder = makeProject(t, { 'script.vox': GATEWAY })
  const ran = await runSvc(folder, ['run', 'script.vox'], { env })
  t.equal(ran.code, 0, ran.stderr)
  const [skills = '', answer = '', refusal] = ran.stdout.split('\n')
  t.match(JSON.parse(skills), [{ name: 'weather' }])
  t.match(JSON.parse(answer), { method: 'execute.skill', params: { skill_id: 'weather', command: '{"day":1}' } })
  t.equal(refusal, `Error(${fake.wsUrl}/ refused: not with subscriptions.notify)`)
  t.ok(fake.seen.some(({ url, authorization }) => url === '/v1/skills' && authorization === `Bearer ${token}`))
  t.same(fake.frames[0]?.params.auth, { token })
  const told = await runSvc(folder, ['openclaw', 'config', '--json'], { env })
  t.match(JSON.parse(told.stdout), { http_gateway_url: fake.url, ws_gateway_url: fake.wsUrl, token_configured: true })
  for (const { stdout, stderr } of [ran, told]) t.notMatch(stdout + stderr, token)
})

t.test('a disabled plugin stays off, and the error names it', async t => {
  const files = { 'script.vox': SCRIPT, 'note.txt': '', 'svc.toml': '[plugins.speech]\nenabled = false\n' }
  const { code, stderr } = await runSvc(makeProject(t, files), ['run', 'script.vox'])
  t.equal(code, 1)
  t.match(stderr, /RUN_UNSUPPORTED.*Speech cannot be used, since speech is disabled; .*\[plugins\.speech\]/)
})

t.test('a served program may call functions of plugins that were not started', async t => {
  const folder = makeProject(t, { 'app.vox': APP, 'note.txt': 'written, not spoken' })
  const settings = { program: 'app.vox', port: '0', database: 'memory' }
  const { lines, stop } = await serve(t, folder, [
    '--only',
    'app-runtime,http,mcp,database,compiler',
    ...Object.entries(settings).flatMap(([name, value]) => ['--set', `plugins.app-runtime.${name}=${value}`])
  ])
  const [, url] = /app listens on (http:\/\/[^\s"]+)/.exec(lines.join('\n')) ?? []
  for (let turn = 0; turn < 2; turn++) {
    const response = await fetch(`${url}/api/query/heard`)
    t.same([response.status, await response.json()], [200, 'written, not spoken'])
  }
  t.equal(await stop(), 0)
})
