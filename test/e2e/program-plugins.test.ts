import t from 'tap'
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

const APP = `@query fn heard() to Result[str] {
    Speech.transcribe("note.txt")
}
`

t.test('a program that runs by itself has what plugins have that the command did without', async t => {
  const folder = makeProject(t, { 'script.vox': SCRIPT, 'note.txt': 'written, not spoken' })
  const { code, stdout, stderr } = await runSvc(folder, ['run', 'script.vox'])
  t.equal(code, 0, stderr)
  t.equal(stdout, 'written, not spoken\ntrue\nread_only\nwrite\nunknown\n')
})

t.test('a plugin that is switched off stays off, and is named', async t => {
  const files = { 'script.vox': SCRIPT, 'note.txt': '', 'svc.toml': '[plugins.speech]\nenabled = false\n' }
  const { code, stderr } = await runSvc(makeProject(t, files), ['run', 'script.vox'])
  t.equal(code, 1)
  t.match(stderr, /RUN_UNSUPPORTED.*Speech cannot be used, since speech is disabled; .*\[plugins\.speech\]/)
})

t.test('a served program has them, too, when it was started with few', async t => {
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
