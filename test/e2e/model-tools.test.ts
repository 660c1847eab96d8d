import { spawnSync } from 'node:child_process'
import { callDaemon } from '@svc/contracts'
import t from 'tap'
import { daemonStateOf } from '../daemon-state.ts'
import { SVC, startModelServer } from './model-server-process.ts'

const PROMPT = 'a table of customers with a name and an email'

t.test('the bundled model gives the same answer over every surface', async t => {
  const settings = ['plugins.http.port=0', 'plugins.model-server.port=0'].flatMap(setting => ['--set', setting])
  const server = await startModelServer(t, [SVC, 'serve', ...settings], {
    SVC_ORCHESTRATOR_DAEMON_SOCKET: '127.0.0.1:0'
  })
  const main = server.addressOf('main')
  const input = { prompt: PROMPT, temperature: 0, max_tokens: 12 }
  const post = (url: string, body: object, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })

  const { response: said } = (await (
    await post(`${server.url}/api/generate`, {
      prompt: PROMPT,
      stream: false,
      options: { temperature: 0, num_predict: 12 }
    })
  ).json()) as { response: string }
  t.match(said, /\w/)
  const answer = { text: said, model: 'vox-tiny', completion_tokens: 12, finish_reason: 'length' }

  t.test('over HTTP', async t => {
    t.match(await (await post(`${main}/api/models/generate`, input)).json(), answer)
    const models = await (await fetch(`${main}/api/models`)).json()
    t.match(models, { models: [{ name: 'vox-tiny', status: 'ready', device: 'cpu', adapter: true }] })
  })

  t.test('over MCP', async t => {
    const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }
    const params = { name: 'svc_generate_text', arguments: input }
    const reply = await post(`${main}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)
    const data = /^data: (.*)$/m.exec(await reply.text())?.[1] ?? ''
    t.match(JSON.parse(data), { id: 1, result: { structuredContent: answer } })
  })

  t.test('over JSON-RPC, with the pieces of the text as events', async t => {
    const daemon = await daemonStateOf(server.folder)
    const pieces: unknown[] = []
    t.match(await callDaemon(daemon, 'model.generate', input, { onEvent: event => pieces.push(event) }), answer)
    t.equal(pieces.join(''), said)
  })

  t.test('as a command, with and without a daemon', async t => {
    for (const mode of [[], ['--in-process']]) {
      const flags = ['--temperature', '0', '--max-tokens', '12', '--json', ...mode]
      const { stdout, stderr, status } = spawnSync(process.execPath, [SVC, 'model', 'generate', PROMPT, ...flags], {
        cwd: server.folder,
        encoding: 'utf8'
      })
      t.equal(status, 0, stderr)
      t.match(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''), answer)
    }
  })
})
