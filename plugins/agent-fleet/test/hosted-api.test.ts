import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { toolsetOf } from './fake-toolset.ts'
import { openFleet } from './open-fleet.ts'

interface Exchange {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Server-sent events, or the body of an error. */
  readonly events: readonly string[]
  /** Whether the connection is lost after the events. */
  readonly broken?: boolean
}

const RECORD = JSON.parse(readFileSync(new URL('./fixtures/hosted-api.json', import.meta.url), 'utf8')) as readonly {
  readonly of: string
  readonly exchange: Exchange
}[]

/** Starts a server that replays the recorded responses in order, and requires the API key. */
async function replay(t: Test, record: readonly Exchange[]) {
  const requests: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== 'Bearer sk-test')
      return void response.writeHead(401).end('{"error":"no key"}')
    if (request.url === '/v1/models')
      return void response.end(JSON.stringify({ object: 'list', data: [{ id: 'toy', object: 'model' }] }))
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end('{}')
    requests.push((await json(request)) as Record<string, unknown>)
    const exchange = record[requests.length - 1]
    if (exchange === undefined) response.writeHead(500).end('{"error":"the recording has no more responses"}')
    else write(exchange, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: requests }
}

function write({ status, headers, events, broken = false }: Exchange, response: ServerResponse): void {
  response.writeHead(status, headers)
  if (status !== 200) return void response.end(events.join(''))
  response.write(events.map(event => `${event}\n\n`).join(''))
  if (broken) setImmediate(() => response.destroy())
  else response.end()
}

t.test('a task is completed with a hosted API despite rate limits, lost connections and tool calls', async t => {
  const hosted = await replay(
    t,
    RECORD.map(({ exchange }) => exchange)
  )
  const { toolset, called } = toolsetOf({ name: 'read_file', description: 'Reads a file' })
  const { submit, until, events, tasks } = await openFleet(t, {
    url: hosted.url,
    client: { api_key: 'sk-test' },
    toolset,
    fleet: { prices: [{ model: 'toy', input_usd: 1, output_usd: 4 }] }
  })
  const task = await submit({ description: 'Write a greeting for Ada' })
  const { status, agent_id, transcript } = await until(task, 'Completed', 'Failed')
  t.same(status, { kind: 'Completed' })
  t.equal(hosted.asked.length, RECORD.length)
  t.match(called, [{ args: { path: 'names.txt' } }, { args: { path: 'tone.txt' } }])
  t.match(hosted.asked[1]?.messages, [
    { role: 'system' },
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ id: 'call_Aa1' }, { id: 'call_Bb2' }] },
    { role: 'tool', tool_call_id: 'call_Aa1' },
    { role: 'tool', tool_call_id: 'call_Bb2' }
  ])
  t.match(hosted.asked.at(-1)?.response_format, { type: 'json_schema' })
  t.match(transcript, [{ message: /^The greeting for Ada was written/ }])
  const costs = events.flatMap(({ kind }) => (kind.type === 'cost_incurred' ? [kind] : []))
  t.match(costs[0], { provider: 'openai', model: 'toy', input_tokens: 412, output_tokens: 38, cost_usd: 0.000564 })
  const counted = costs.reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens, 0)
  t.equal(tasks.budgets.of(agent_id).tokens_used, counted)
  const seen = events.flatMap(({ kind }) => (kind.type === 'endpoint_reliability_observation' ? [kind] : []))
  t.equal(seen.filter(({ rate_limit_hit }) => rate_limit_hit).length, 1)
  t.equal(seen.filter(({ infra_failure }) => infra_failure).length, 2)
  t.notOk(JSON.stringify(events).includes('sk-test'))
})

t.test('an error of the hosted API becomes the failure reason of the task', async t => {
  const refused: Exchange = {
    status: 400,
    headers: { 'content-type': 'application/json' },
    events: ['{"error":{"message":"This account is not active.","type":"billing_not_active","code":"billing"}}']
  }
  const hosted = await replay(t, [refused])
  const { submit, until } = await openFleet(t, { url: hosted.url, client: { api_key: 'sk-test' } })
  t.match((await until(await submit(), 'Failed')).status, {
    reason: /rejected the request \(400\): This account is not active/
  })
  t.equal(hosted.asked.length, 1, 'the request is not repeated')
  const locked = await openFleet(t, { url: hosted.url, client: { api_key: 'sk-wrong' } })
  const { status } = await locked.until(await locked.submit(), 'Failed')
  t.match(status, { reason: /does not accept the key/ })
  t.notMatch(status, { reason: /sk-wrong/ })
})
