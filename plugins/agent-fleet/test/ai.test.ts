import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import '../../database/test/built-worker.ts'
import { DONE, modelScript } from './model-script.ts'
import { eventually, openFleet } from './open-fleet.ts'

const PHASES = ['inspect', 'localize', 'hypothesize', 'act', 'verify', 'decide']

for (const api of ['ollama', 'openai'] as const) {
  t.test(`a model works on a task in six phases, in the ${api} format`, async t => {
    const model = await modelScript(t, { api })
    const { submit, until, events, tasks } = await openFleet(t, { url: model.url })
    const task = await submit({ description: 'Write a greeting for Ada' })
    const view = await until(task, 'Completed', 'Failed')
    t.equal(view.status.kind, 'Completed')
    t.same(
      model.requests.map(({ phase }) => phase),
      PHASES
    )
    const phases = events.flatMap(({ kind }) => (kind.type === 'task_phase_changed' ? [kind.phase] : []))
    t.same(phases, PHASES)
    const streamed = events.flatMap(({ kind }) => (kind.type === 'token_streamed' ? [kind.text] : [])).join('')
    t.match(streamed, /inspect is done.*verify is done.*"outcome":"complete"/)
    for (const { prompt } of model.requests) t.match(prompt, /Write a greeting for Ada/)
    t.match(model.requests.at(-1)?.prompt, /act is done/, 'findings of earlier phases are passed on')
    t.ok(model.requests.every(({ path }) => path === (api === 'ollama' ? '/api/generate' : '/v1/chat/completions')))
    t.match(tasks.budgets.of(view.agent_id), { tokens_used: 90, cost_usd: 0 })
    const types = events.map(({ kind }) => kind.type)
    t.equal(types.filter(type => type === 'llm_call_completed').length, 6)
    t.equal(types.filter(type => type === 'endpoint_reliability_observation').length, 6)
    t.equal(types.filter(type => type === 'cost_incurred').length, 6)
    t.match(view.transcript, [{ message: DONE.summary }])
    t.equal(view.observations?.length, 5)
  })
}

t.test('after an invalid decision, the model is called once more, and a second invalid one fails the task', async t => {
  const once = await modelScript(t, {
    respond: ({ phase, count }) => (phase === 'decide' && count === 1 ? { text: 'It is done, I think.' } : undefined)
  })
  const patient = await openFleet(t, { url: once.url })
  await patient.until(await patient.submit(), 'Completed')
  t.match(once.requests.at(-1)?.prompt, /not the requested JSON object: the reply contains no JSON object/)
  const never = await modelScript(t, {
    respond: ({ phase }) => (phase === 'decide' ? { text: '{"outcome":"fine"}' } : undefined)
  })
  const strict = await openFleet(t, { url: never.url })
  const { status } = await strict.until(await strict.submit(), 'Failed')
  t.match(status, { reason: /decision is invalid, even after a second request: .*summary/ })
  t.equal(never.requests.filter(({ phase }) => phase === 'decide').length, 2)
})

t.test('the outcome of a decision determines the status: doubt Doubted, fail Failed', async t => {
  const decide = (verdict: object) =>
    modelScript(t, {
      respond: ({ phase }) => (phase === 'decide' ? { text: JSON.stringify({ ...DONE, ...verdict }) } : undefined)
    })
  const unsure = await openFleet(t, { url: (await decide({ outcome: 'doubt', reason: 'which Ada?' })).url })
  t.match((await unsure.until(await unsure.submit(), 'Doubted')).status, { reason: 'which Ada?' })
  const unable = await openFleet(t, { url: (await decide({ outcome: 'fail', reason: 'no pen' })).url })
  t.match((await unable.until(await unable.submit(), 'Failed')).status, { reason: 'the model gave up: no pen' })
})

t.test("a model cannot claim a user's approval", async t => {
  const model = await modelScript(t, {
    respond: ({ phase }) =>
      phase === 'decide' ? { text: JSON.stringify({ ...DONE, checks_passed: ['human_review_approved'] }) } : undefined
  })
  const { submit, until } = await openFleet(t, { url: model.url })
  const files = [{ path: 'a.txt', access: 'write' as const }]
  const { status, approval_tier } = await until(await submit({ files }), 'Doubted', 'Completed')
  t.equal(approval_tier, 'Review')
  t.match(status, { kind: 'Doubted', reason: /Review.* Submitted: The greeting was written/ })
  t.equal(model.requests.length, 6, 'the work is not repeated to get the approval')
})

t.test('cancelling a task ends the stream of the model', async t => {
  const model = await modelScript(t, {
    respond: () => response => {
      const row = JSON.stringify({ model: 'toy', response: 'on and on ', done: false })
      const timer = setInterval(() => response.write(`${row}\n`), 2)
      response.on('close', () => clearInterval(timer))
    }
  })
  const { submit, until, eventTypes, tasks } = await openFleet(t, { url: model.url })
  const task = await submit()
  await eventually(() => (eventTypes().includes('token_streamed') ? true : null))
  await tasks.cancel(task)
  await eventually(() => (model.aborted > 0 ? true : null))
  t.equal(tasks.task(task)?.status.kind, 'Cancelled')
  await eventually(
    () => (tasks.budgets.of(1).tokens_used > 0 ? true : null),
    () => 'a charge for the streamed part'
  )
  t.notOk(eventTypes().includes('task_failed'))
  const next = await submit()
  await until(next, 'InProgress')
})

t.test('an exhausted budget fails the task with that reason', async t => {
  const model = await modelScript(t, {
    respond: ({ phase }) => (phase === 'decide' ? undefined : { text: 'x', completion_tokens: 1_000_000 })
  })
  const prices = [{ model: 'toy', input_usd: 1, output_usd: 2 }]
  const { submit, until, tasks } = await openFleet(t, { url: model.url, fleet: { prices } })
  const first = await submit({ hints: { budget: { max_cost_usd: 1 } } })
  const { status, agent_id } = await until(first, 'Failed')
  t.match(status, { reason: /^Budget exceeded: task T-0001 has spent 2\.0000 of 1 USD/ })
  t.equal(model.requests.length, 1)
  t.ok(tasks.budgets.of(agent_id).cost_usd > 2)
})

t.test('retries a busy server and an interrupted stream, and times out on a silent server', async t => {
  const model = await modelScript(t, {
    respond: ({ phase, count }) => {
      if (phase === 'inspect' && count === 1)
        return response => response.writeHead(429, { 'retry-after': '0' }).end('{"error":"slowly"}')
      if (phase === 'localize' && count === 1)
        return response => {
          response.write(`${JSON.stringify({ model: 'toy', response: 'half an', done: false })}\n`)
          setImmediate(() => response.destroy())
        }
      return undefined
    }
  })
  const { submit, until, events } = await openFleet(t, { url: model.url })
  await until(await submit(), 'Completed')
  const seen = events.flatMap(({ kind }) => (kind.type === 'endpoint_reliability_observation' ? [kind] : []))
  t.equal(seen.filter(({ rate_limit_hit }) => rate_limit_hit).length, 1)
  t.equal(seen.filter(({ infra_failure }) => infra_failure).length, 1)

  const silent = await modelScript(t, { respond: () => () => {} })
  const late = await openFleet(t, { url: silent.url })
  const { status } = await late.until(await late.submit({ hints: { budget: { max_latency_ms: 50 } } }), 'Failed')
  t.match(status, { reason: 'T-0001: the processor ai took longer than 50 ms' })
  // On a busy machine, the time may end before the request is sent.
  await eventually(() => (silent.aborted === silent.requests.length ? true : null))
})

t.test('with strict ChatML, each request has one raw prompt with ChatML turns', async t => {
  const model = await modelScript(t)
  const { submit, until } = await openFleet(t, { url: model.url, orchestrator: { chatml_strict: true } })
  await until(await submit({ description: 'Write about ChatML: its turns begin with im_start' }), 'Completed')
  for (const { path, body } of model.requests) {
    t.equal(path, '/api/generate')
    t.match(body, { raw: true, prompt: /^<\|im_start\|>system\n[\s\S]*<\|im_start\|>assistant\n$/ })
  }
})

t.test('the orchestrator settings determine the server, and the price or the hint of a task the model', async t => {
  const [usual, other] = [await modelScript(t), await modelScript(t, { models: ['toy', 'small', 'big'] })]
  const prices = [
    { model: 'big', input_usd: 2, output_usd: 2 },
    { model: 'small', input_usd: 1, output_usd: 1 },
    { model: 'absent', input_usd: 0, output_usd: 0 }
  ]
  const { submit, until } = await openFleet(t, {
    url: usual.url,
    orchestrator: { inference_base_url: other.url, cost_preference: 'economy' },
    fleet: { prices }
  })
  await until(await submit(), 'Completed')
  await until(await submit({ hints: { model_override: 'big', model_preference: 'small' } }), 'Completed')
  t.same([...new Set(other.requests.map(({ body }) => body.model))], ['small', 'big'])
  t.equal(usual.requests.length, 0)
})

t.test('a task waits for a server that starts later', async t => {
  const model = await modelScript(t, { listening: false })
  const { submit, until, kernel } = await openFleet(t, { url: model.url })
  const task = await submit()
  await eventually(() => (kernel.log.some(({ message }) => /waits for a model server/.test(message)) ? true : null))
  await model.listen()
  await until(task, 'Completed')
  const never = await openFleet(t, { url: 'http://127.0.0.1:9', fleet: { server_wait_ms: 0 } })
  t.match((await never.until(await never.submit(), 'Failed')).status, { reason: /no model server is reachable/ })
})

t.test('a task of a researcher passes the research gate', async t => {
  const model = await modelScript(t)
  const { submit, until, tasks } = await openFleet(t, { url: model.url, orchestrator: { max_debug_iterations: 0 } })
  const task = await submit({ hints: { execution_role: 'researcher' } })
  t.equal((await until(task, 'Completed', 'Failed')).status.kind, 'Completed')
  t.match(
    tasks.explain(task)?.gates.find(({ gate }) => gate === 'research'),
    { verdict: 'pass' }
  )
})

t.test('a prompt that exceeds the context is shortened until it fits', async t => {
  const model = await modelScript(t, {
    respond: ({ prompt }) =>
      prompt.length < 2_500
        ? undefined
        : response => response.writeHead(400).end('{"error":"the prompt has 9 tokens, the context holds 4"}')
  })
  const { submit, until } = await openFleet(t, { url: model.url })
  await until(await submit({ description: `Sort these words: ${'word '.repeat(1_000)}` }), 'Completed')
  t.match(model.requests.at(-1)?.prompt, /You are an agent[\s\S]*\[…\][\s\S]*Decide\. /)
})

t.test('each call of a model is one row of cost_records, charged to the agent and the session', async t => {
  let store: PrimaryDatabase | undefined
  const spy = definePlugin({
    name: 'spy',
    requires: { database: databaseStore },
    activate(_ctx, deps) {
      store = deps.database
    }
  })
  const model = await modelScript(t, { api: 'openai' })
  const { submit, until } = await openFleet(t, { url: model.url, plugins: [database, spy] as Plugin[] })
  const task = await submit({ description: 'Write a greeting for Ada', session_id: 's1' })
  const { agent_id } = await until(task, 'Completed', 'Failed')
  const { rows = [] } = (await store?.query('SELECT agent_id, session_id, provider, model FROM cost_records')) ?? {}
  t.equal(rows.length, model.requests.length)
  for (const row of rows) t.same(row, [String(agent_id), 's1', 'openai', 'toy'])
})
