import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Ollama } from 'ollama'
import OpenAI from 'openai'
import t from 'tap'
import { BUNDLED_MODEL, MODEL_SERVER, SVC, startModelServer } from './model-server-process.ts'
import { runSvc } from './run-svc.ts'

const SERVE = [MODEL_SERVER, 'serve', '--model', BUNDLED_MODEL]
const QUESTION = 'a table of customers with a name and an email'
const messages = [{ role: 'user' as const, content: QUESTION }]

t.test('the bundled model chats with unmodified clients', async t => {
  const { url } = await startModelServer(t, [...SERVE, '--port', '0'])
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
  const ollama = new Ollama({ host: url })
  const model = 'vox-tiny'

  t.test('gives both clients the same greedy answer, streamed or not', async t => {
    const whole = await openai.chat.completions.create({ model, messages, temperature: 0 })
    const said = whole.choices[0]?.message.content ?? ''
    t.match(said, /\w/)

    let streamed = ''
    let usage: OpenAI.CompletionUsage | null | undefined
    const chunks = await openai.chat.completions.create({
      model,
      messages,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true }
    })
    for await (const chunk of chunks) {
      streamed += chunk.choices[0]?.delta.content ?? ''
      usage ??= chunk.usage
    }
    t.equal(streamed, said)
    t.equal(usage?.total_tokens, whole.usage?.total_tokens)
    t.ok((usage?.prompt_tokens_details?.cached_tokens ?? 0) > 0, 'the prompt was cached')

    const options = { temperature: 0 }
    const chat = await ollama.chat({ model, messages, options })
    t.equal(chat.message.content, said)
    t.equal(chat.prompt_eval_count, whole.usage?.prompt_tokens)
    t.equal(chat.eval_count, whole.usage?.completion_tokens)
    t.ok(chat.eval_duration > 0 && chat.total_duration >= chat.eval_duration)
    let rows = ''
    for await (const row of await ollama.generate({ model, prompt: QUESTION, options, stream: true }))
      rows += row.response
    t.equal(rows, said)
  })

  t.test('gives the same answer for the same seed', async t => {
    const ask = async (seed: number) => {
      const options = { temperature: 1.5, seed, num_predict: 40 }
      return (await ollama.generate({ model, prompt: QUESTION, options })).response
    }
    const first = await ask(1)
    t.equal(await ask(1), first)
    t.not(await ask(2), first)
  })

  t.test('stops before a stop string and at the token limit', async t => {
    const create = (fields: object) => openai.chat.completions.create({ model, messages, temperature: 0, ...fields })
    const full = (await create({ max_tokens: 20 })).choices[0]?.message.content ?? ''
    const stop = full.slice(8, 11)
    const cut = await create({ max_tokens: 20, stop })
    t.match(cut.choices[0], { message: { content: full.slice(0, full.indexOf(stop)) }, finish_reason: 'stop' })
    const short = await create({ max_tokens: 3 })
    t.match(short, { choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 3 } })
  })

  t.test('reports log probabilities', async t => {
    const answer = await openai.chat.completions.create({
      model,
      messages,
      temperature: 0,
      max_tokens: 8,
      logprobs: true,
      top_logprobs: 3
    })
    const entries = answer.choices[0]?.logprobs?.content ?? []
    t.equal(entries.map(entry => entry.token).join(''), answer.choices[0]?.message.content)
    for (const entry of entries) {
      t.equal(entry.top_logprobs.length, 3)
      t.equal(entry.top_logprobs[0]?.token, entry.token, 'the most probable token is chosen')
      t.equal(entry.top_logprobs[0]?.logprob, entry.logprob)
    }
  })

  t.test('is listed with its details', async t => {
    const { models } = await ollama.list()
    t.match(models, [{ name: 'vox-tiny', digest: /^[0-9a-f]{64}$/, details: { family: 'llama' } }])
    t.match((await openai.models.list()).data, [{ id: 'vox-tiny' }])
    t.match(await ollama.show({ model }), { template: /im_start/, capabilities: ['completion'] })
    const version = await (await fetch(`${url}/api/version`)).text()
    t.match(JSON.parse(version), { version: /^\d/, device: 'cpu' })
    t.notMatch(version, /cuda/)
  })

  t.test('rejects a prompt that does not fit, with both lengths', async t => {
    const refusal = await openai.chat.completions
      .create({ model, messages: [{ role: 'user', content: `${QUESTION} `.repeat(500) }] })
      .catch(error => error)
    t.match(refusal, {
      status: 400,
      code: 'context_length_exceeded',
      message: /prompt is too long: it has \d+ tokens; the context holds \d+/
    })
  })

  t.test('continues after clients disconnect', async t => {
    for (let round = 0; round < 5; round++) {
      const chunks = await openai.chat.completions.create({ model, messages, stream: true })
      for await (const chunk of chunks) if (chunk.choices[0]?.delta.content) break
    }
    t.match(await ollama.generate({ model, prompt: 'hello', options: { num_predict: 1 } }), { done: true })
  })
})

t.test('the server serves the model under its configured name, and stops on a signal', async t => {
  const flags = ['--port', '0', '--model-name', 'my model', '--max-tokens', '2', '--temperature', '0']
  const { url, child, ended } = await startModelServer(t, [...SERVE, ...flags])
  const answer = await new Ollama({ host: url }).generate({ model: 'my model', prompt: 'hello' })
  t.match(answer, { model: 'my model', eval_count: 2, done_reason: 'length' })
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})

t.test(
  'the program runs the engine, the HTTP server with one listener, the model server, and nothing else',
  async t => {
    const { lines, addressOf } = await startModelServer(t, [...SERVE, '--port', '0'])
    t.ok(lines.some(line => line.includes('"added":["http","inference-onnx","model-server"]')))
    t.equal(addressOf('main'), undefined)
  }
)

t.test('svc model serve runs the same server and passes signals on', async t => {
  const argv = [SVC, 'model', 'serve', '--model', BUNDLED_MODEL, '--model-name', 'mine', '--port', '0']
  const { url, child, ended } = await startModelServer(t, argv)
  t.match((await new Ollama({ host: url }).list()).models, [{ name: 'mine' }])
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  await t.rejects(fetch(url), 'the server ends with the command')
})

t.test('the error of a port in use names the setting', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const { status, stderr, stdout } = spawnSync(process.execPath, [...SERVE, '--port', String(port)], {
    cwd: t.testdir({}),
    encoding: 'utf8',
    timeout: 60_000
  })
  t.equal(status, 1)
  t.match(
    stdout + stderr,
    new RegExp(`port ${port} on 127.0.0.1 is in use; the setting plugins.model-server.port chose it`)
  )
})

t.test('commands find the running server of a project whose port is 0', async t => {
  const folder = t.testdir({ 'svc.toml': '[plugins.model-server]\nport = 0\n' })
  const { url, child, ended } = await startModelServer(t, [...SERVE, '--port', '0'], {}, folder)
  const check = async () => JSON.parse((await runSvc(folder, ['model', 'pull-check', '--json'])).stdout)
  t.match(await check(), { healthy: true, model: 'vox-tiny', endpoint: { url } })
  t.match((await runSvc(folder, ['model', 'ps'])).stdout, /vox-tiny/)
  const file = join(folder, '.vox', 'model-server.json')
  t.match(JSON.parse(readFileSync(file, 'utf8')), { url, pid: child.pid })
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.notOk(existsSync(file))
})
