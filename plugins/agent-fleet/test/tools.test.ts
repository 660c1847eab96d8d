import t from 'tap'
import { type Tool, toolsetOf } from './fake-toolset.ts'
import { modelScript, type Reply } from './model-script.ts'
import { openFleet } from './open-fleet.ts'

const call = (name: string, args = {}): Reply => ({ calls: [{ name, arguments: args }] })
const READ_FILE: Tool = { name: 'read_file', description: 'Reads a file' }
const WRITE_FILE: Tool = { name: 'write_file', description: 'Writes a greeting', readOnly: false }
const namesIn = (body: Readonly<Record<string, unknown>>) =>
  ((body.tools ?? []) as { function: { name: string } }[]).map(({ function: { name } }) => name)

for (const api of ['ollama', 'openai'] as const) {
  t.test(`tool results are returned to the model, in the ${api} format`, async t => {
    const { toolset, called } = toolsetOf(READ_FILE)
    const model = await modelScript(t, {
      api,
      respond: ({ phase, count }) => (phase === 'inspect' && count === 1 ? call('read_file', { path: 'a' }) : undefined)
    })
    const { submit, until, tasks } = await openFleet(t, { url: model.url, toolset })
    await until(await submit(), 'Completed')
    t.match(called, [
      { name: 'read_file', args: { path: 'a' }, principal: { id: 'agent:A-01', role: 'read', scopes: [] } }
    ])
    t.match(model.requests[1]?.body.messages, [
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ function: { name: 'read_file' } }] },
      { role: 'tool', content: 'read_file says hello' }
    ])
    const withTools = model.requests.filter(({ body }) => namesIn(body).length > 0).map(({ phase }) => phase)
    t.same([...new Set(withTools)], ['inspect', 'localize', 'act', 'verify'])
    t.match(await tasks.executionTimes.query('read_file'), { sample_count: 1, timeout_rate: 0 })
  })
}

t.test('writing tools are offered only if the policy of the task allows them, and only in the phase act', async t => {
  const control: Tool = { name: 'cancel_task', readOnly: false, plugin: 'orchestrator-tools' }
  const { toolset, called } = toolsetOf(READ_FILE, WRITE_FILE, control)
  const model = await modelScript(t, {
    respond: ({ phase, count }) => (phase === 'act' && count === 1 ? call('write_file') : undefined)
  })
  const { submit, until } = await openFleet(t, { url: model.url, toolset })
  const policy = (...allowed_action_labels: string[]) => JSON.stringify({ allowed_action_labels })
  await until(await submit({ execution_policy_json: policy('read', 'write') }), 'Completed')
  t.match(called, [{ name: 'write_file', principal: { role: 'agent' } }])
  for (const { phase, body } of model.requests.filter(({ body }) => namesIn(body).length > 0))
    t.same(namesIn(body), phase === 'act' ? ['write_file', 'read_file'] : ['read_file'])

  const before = model.requests.length
  await until(await submit(), 'Completed')
  t.notOk(model.requests.slice(before).some(({ body }) => namesIn(body).includes('write_file')))
  await until(await submit({ execution_policy_json: policy() }), 'Completed')
  t.same(namesIn(model.requests.at(-1)?.body ?? {}), [], 'no tools are offered if the policy allows none')
  t.equal(called.length, 1)
})

t.test('tools in the hints of a task come first, and a call of an unknown tool returns a message', async t => {
  const others = Array.from(
    { length: 20 },
    (_, index): Tool => ({ name: `greeting_${index}`, description: 'Writes a greeting' })
  )
  const { toolset, called } = toolsetOf(...others, { name: 'odd', aliases: ['strange'] })
  const model = await modelScript(t, {
    respond: ({ phase, count }) => (phase === 'inspect' && count === 1 ? call('invented') : undefined)
  })
  const { submit, until, events } = await openFleet(t, { url: model.url, toolset, fleet: { offered_tools: 3 } })
  await until(await submit({ hints: { tool_hints: ['strange'] } }), 'Completed')
  t.same(namesIn(model.requests[0]?.body ?? {}), ['odd', 'greeting_0', 'greeting_1'])
  t.match(model.requests[1]?.prompt, /There is no tool invented\. Available tools: odd, greeting_0, greeting_1\./)
  t.equal(called.length, 0)
  const seen = events.flatMap(({ kind }) => (kind.type === 'endpoint_reliability_observation' ? [kind] : []))
  t.equal(seen[0]?.hallucination_proxy, 1)
})

t.test('a tool without a result times out; the timeout is reported as an event and recorded', async t => {
  const { toolset } = toolsetOf({ ...READ_FILE, run: () => new Promise(() => {}) })
  const model = await modelScript(t, {
    respond: ({ phase, count }) => (phase === 'inspect' && count === 1 ? call('read_file') : undefined)
  })
  const { submit, until, events, tasks } = await openFleet(t, {
    url: model.url,
    toolset,
    orchestrator: { exec_time_default_budget_ms: 20 }
  })
  await until(await submit(), 'Completed')
  t.match(
    events.map(({ kind }) => kind).find(({ type }) => type === 'tool_timed_out'),
    { tool_key: 'read_file', attempted_budget_ms: 20 }
  )
  t.match(model.requests[1]?.prompt, /The tool failed: no result within 20 ms/)
  t.match(await tasks.executionTimes.query('read_file'), { timeout_rate: 1 })
})

t.test('endless tool calls end after tool_rounds, and the agent is stopped if they cost money', async t => {
  const { toolset, called } = toolsetOf(READ_FILE)
  const model = await modelScript(t, {
    respond: ({ phase, body }) => (phase === 'inspect' && namesIn(body).length > 0 ? call('read_file') : undefined)
  })
  const free = await openFleet(t, { url: model.url, toolset, fleet: { tool_rounds: 3 } })
  await free.until(await free.submit(), 'Completed')
  t.equal(called.length, 3)

  const prices = [{ model: 'toy', input_usd: 0, output_usd: 60_000 }]
  const dear = await openFleet(t, { url: model.url, toolset, fleet: { prices } })
  const { status } = await dear.until(await dear.submit(), 'Failed')
  t.match(status, { reason: 'A-01 is stopped: read_file returned the same result repeatedly' })
  t.match(
    dear.events.map(({ kind }) => kind).find(({ type }) => type === 'budget_alert'),
    { agent_id: 1 }
  )
})

t.test('a model without tool support works without tools', async t => {
  const { toolset } = toolsetOf(READ_FILE)
  const model = await modelScript(t, {
    respond: ({ body }) =>
      namesIn(body).length === 0
        ? undefined
        : response => response.writeHead(400).end('{"error":"toy does not support tools"}')
  })
  const { submit, until } = await openFleet(t, { url: model.url, toolset })
  await until(await submit(), 'Completed')
  t.equal(model.requests.filter(({ body }) => namesIn(body).length > 0).length, 1, 'tools are offered only once')
})
