import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import * as contracts from '@svc/contracts'
import t, { type Test } from 'tap'
import { Editor } from '../../plugins/compiler/test/lsp/editor.ts'
import { runSvc } from '../e2e/run-svc.ts'
import { makeProject, serve } from '../e2e/served-project.ts'

const fixture = (file: string): string =>
  readFileSync(new URL(`../fixtures/plugins/hook-watcher/${file}`, import.meta.url), 'utf8')

const PROGRAM = `
@table
type Note { text: str }

activity write(text: str) to Result[int] { db.Note.insert({ text: text }) }

workflow story(name: str) to Result[str] {
    write(name)?
    Ok("told " + name)
}

@server
fn tell(name: str) to Result[str] { story(name) with { id: "story-" + name } }
`

/** Starts a model server that calls a tool and answers with a password; records the questions. */
async function modelServer(t: Test): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    if (request.url === '/api/tags') {
      response.end(JSON.stringify({ models: [{ name: 'toy', model: 'toy' }] }))
      return
    }
    if (request.url !== '/api/chat') {
      response.writeHead(404).end('{}')
      return
    }
    const { messages } = (await json(request)) as { messages: { content: string }[] }
    asked.push(messages.map(({ content }) => content).join('\n'))
    const row = (value: object): void => void response.write(`${JSON.stringify({ model: 'toy', ...value })}\n`)
    row({ message: { role: 'assistant', content: 'the password is sword' }, done: false })
    row({ message: { role: 'assistant', content: 'fish' }, done: false })
    const call = { function: { name: 'look', arguments: { at: 'door' } } }
    row({ message: { role: 'assistant', content: '', tool_calls: [call] }, done: false })
    row({ message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', eval_count: 1 })
    response.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

interface Fired {
  readonly id: string
  readonly payload: Record<string, unknown>
}

t.test('every hook can be tapped, and fires when the surfaces are used', async t => {
  const model = await modelServer(t)
  const toml = [
    '[plugins.model-server]\nenabled = false',
    `[plugins.inference-client]\nurl = "${model.url}"\nmodel = "toy"`,
    '[plugins.app-runtime]\nprogram = "app.vox"\nport = 0',
    '[plugins.agent-fleet]\nprocessor = "stub"\nstub_completes = true\n'
  ].join('\n')
  const folder = makeProject(t, {
    'svc.toml': toml,
    'app.vox': PROGRAM,
    'plugins/hook-watcher/package.json': fixture('package.json'),
    'plugins/hook-watcher/src/plugin.ts': fixture('src/plugin.ts')
  })
  const server = await serve(t, folder, [])
  const program = /app listens on (http:\/\/[^\s"]+)/.exec(await server.line(/app listens on/))?.[1]
  const post = async (url: string, body: unknown): Promise<Record<string, unknown>> => {
    const headers = { 'content-type': 'application/json', 'x-request-id': 'r-1' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as Record<string, unknown>
  }
  const fired = (): Fired[] => {
    const file = join(folder, 'hooks.jsonl')
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    return text
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line))
  }
  const first = async (id: string, type?: string): Promise<Record<string, unknown>> => {
    for (let turn = 0; turn < 3_000; turn++) {
      const found = fired().find(each => each.id === id && (type === undefined || each.payload.type === type))
      if (found !== undefined) return found.payload
      await sleep(20)
    }
    throw new Error(`${id} did not fire; fired: ${[...new Set(fired().map(each => each.id))].join(', ')}`)
  }

  const answer = await post(`${server.url}/api/inference/chat`, { prompt: 'I say hunter2' })
  t.match(answer, { text: 'the password is ###' }, 'a tap redacted the answer')
  t.same(model.asked, ['I say ***'], 'a tap redacted the request')
  t.match(await first('inference.request'), { model: 'toy', messages: [{ content: 'I say hunter2' }] })
  t.match(await first('inference.tool-call'), { call: { name: 'look', arguments: { at: 'door' } } })
  t.match(await first('inference.answer'), { model: 'toy', text: 'the password is swordfish' })
  t.match(await first('kernel.operation-starting'), {
    operation: 'inference.chat',
    surface: 'http',
    requestId: 'r-1',
    input: { prompt: 'I say hunter2' }
  })
  t.match(await first('kernel.operation-ended'), { operation: 'inference.chat', error: null })
  t.match(await first('http.request-finished'), { method: 'POST', path: '/api/inference/chat', status: 200 })

  await post(`${server.url}/api/assistant/chat`, { prompt: 'Where is the door?' })
  t.match(await first('sessions.message'), { entry: { role: 'user', content: /door/ } })

  await post(`${server.url}/api/orchestrator/tasks`, { description: 'Look at the door of the house' })
  t.match(await first('orchestrator.submitting'), { request: { description: /door/ } })
  t.match(await first('orchestrator.goal'), { mode: 'auto' })
  t.match(await first('orchestrator.task-changed'), { type: 'task_submitted', task_id: Number })
  t.match(await first('orchestrator.task-ended'), { task_id: Number })

  t.same(await post(`${program}/api/tell`, { name: 'a' }), 'told a')
  t.match(await first('app-runtime.workflow-step'), { runId: 'story-a', workflow: 'story', activity: 'write' })
  t.match(await first('database.migrated'), { kind: /baseline|program/ })

  t.match(await first('kernel.flipped'), { generation: 1 })
  t.match(await first('kernel.plugin-state'), { state: 'active' })
  appendFileSync(join(folder, 'svc.toml'), 'task_timeout_ms = 1234567\n')
  t.match(await first('kernel.configuration-applied'), { plugins: ['agent-fleet'], keys: [/task_timeout_ms$/] })
  // Without a fleet, the task stays in its queue until it is doubted. A person is asked about the doubt.
  appendFileSync(join(folder, 'svc.toml'), 'enabled = false\n[plugins.speech]\nenabled = false\n')
  t.match(await first('mcp.changed'), { kind: 'tools' }, 'a disabled plugin changes the list of tools')

  const editor = await Editor.start(t, { cwd: folder })
  const file = await editor.open('a.vox', 'fn f() { missing }\n')
  t.equal((await file.diagnostics()).length, 1)
  await file.change({ text: 'fn f() { 1 }\n' })
  t.match(await first('reward.event', 'diagnostics_clean'), { file: 'file:///project/a.vox' })
  const submitted = await first('reward.event', 'task_submitted')
  t.match(submitted, { task_id: Number, agent_id: Number, ludus_dedupe_id: /^task_submitted:.+:\d+:\d+$/ })
  t.notMatch(JSON.stringify(submitted), /door/, 'texts of tasks are not part of the event')

  const doubted = await post(`${server.url}/api/orchestrator/tasks`, { description: 'Look at the window' })
  const task = String(doubted.task_id)
  await post(`${server.url}/api/orchestrator/tasks/${task}/doubt`, { reason: 'Which one?' })
  const pending = JSON.stringify({ session_id: `doubt:${task.replace(/\D+0*/, '')}` })
  while (!(await runSvc(folder, ['rpc', 'questioning.pending', pending])).stdout.includes('"open": true'))
    await sleep(100)
  const yes = JSON.stringify({ ...JSON.parse(pending), answer_text: 'validated' })
  await runSvc(folder, ['rpc', 'questioning.answer', yes])
  t.match(await first('questioning.answered'), { session_id: /^doubt:\d+$/, answer_text: 'validated' })

  const declared = Object.values<unknown>(contracts).flatMap(value => {
    const { kind, id } = (value ?? {}) as { kind?: unknown; id?: string }
    return kind === 'hook' && id !== undefined ? [id] : []
  })
  const seen = new Set(fired().map(({ id }) => id))
  t.same(
    declared.filter(id => !seen.has(id)),
    [],
    'every hook has fired'
  )

  const listed = await runSvc(folder, ['rpc', 'kernel.plugins.hooks', '{}'])
  const { hooks } = JSON.parse(listed.stdout) as { hooks: { id: string; taps: string[]; summary: string }[] }
  t.same(
    hooks.filter(hook => !hook.taps.includes('hook-watcher') || hook.summary === '').map(({ id }) => id),
    [],
    'svc plugins hooks lists each hook with its summary and tap'
  )
  t.same(hooks.map(({ id }) => id).sort(), [...declared].sort())
})
