import type { Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import modelServer from '#plugin'
import { grammarPlugin } from './grammar-plugin.ts'
import { openServer } from './open-server.ts'
import { ToyEngine, type ToyOptions } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'

async function open(t: Test, settings: object = {}, plugins: readonly Plugin[] = [], toy: ToyOptions = {}) {
  const model = t.testdir({ run: { 'config.json': '{}' } }).concat('/run')
  const { kernel, url, json } = await openServer(t, [toyPlugin(new ToyEngine(toy)), ...plugins], { model, ...settings })
  const generate = async (fields: object) =>
    (await json('/api/generate', { prompt: 'hello', stream: false, ...fields })).body
  const metrics = async () => (await fetch(`${url}/metrics`)).text()
  return { ...kernel, generate, metrics }
}

t.test('a grammar of another plugin is available while that plugin is active', async t => {
  const { generate, replace } = await open(t, {}, [grammarPlugin()])
  const format = { type: 'grammar', grammar: { name: 'brackets' } }
  t.match((await generate({ format, prompt: '((x))' })).response, /^\((.*)\)$/)
  t.equal((await generate({ format, prompt: '((x))' })).response, '((x))')
  t.match((await generate({ format: { ...format, grammar: { name: 'vox' } } })).error, /available: 'brackets'/)
  await replace(grammarPlugin('bracket-language', 'parentheses'))
  t.match((await generate({ format })).error, /there is no grammar 'brackets'; available: 'parentheses'/)
})

t.test('the setting grammar constrains every answer', async t => {
  const { generate } = await open(t, { grammar: 'brackets' }, [grammarPlugin()])
  t.match((await generate({ prompt: '(x)' })).response, '(x)')
  t.match((await generate({ format: 'json' })).response, '{"toy": true}')
})

t.test('reports a conflict, naming both plugins, if two grammars have one name', async t => {
  await t.rejects(open(t, {}, [grammarPlugin('first'), grammarPlugin('second')]), {
    code: 'KRN_CONFLICT',
    message: /(?=.*first)(?=.*second)(?=.*brackets)/s
  })
})

t.test('counts completions by model and adapter, and keeps the counts across a reload', async t => {
  const { generate, metrics, replace } = await open(t, { queue: 3 }, [], { cachedTokens: 2 })
  await generate({})
  await generate({ options: { num_predict: 2 } })
  await generate({ prompt: 'x'.repeat(9000) })
  const before = await metrics()
  const labels = 'model="run",adapter="merged"'
  for (const line of [
    `svc_model_requests_total{${labels},outcome="stop"} 1`,
    `svc_model_requests_total{${labels},outcome="length"} 1`,
    `svc_model_requests_total{${labels},outcome="refused"} 1`,
    `svc_model_completion_tokens_total{${labels}} 8`,
    `svc_model_cached_prompt_tokens_total{${labels}} 4`,
    `svc_model_time_to_first_token_seconds_count{${labels}} 2`,
    `svc_model_inter_token_seconds_count{${labels}} 5`,
    `svc_model_queue_seconds_count{${labels}} 2`,
    `svc_model_request_seconds_count{${labels}} 3`,
    'svc_model_slots{model="run"} 1',
    'svc_model_running{model="run"} 0',
    'svc_model_waiting{model="run"} 0',
    'svc_model_queue_length{model="run"} 0',
    'svc_model_active_sequences{model="run"} 0',
    'svc_model_batch_size{model="run"} 1',
    'svc_model_cache_positions{model="run"} 512',
    'svc_model_decode_runs_total{model="run"} 8'
  ]) {
    t.ok(before.split('\n').includes(line), line)
  }
  await replace(modelServer)
  await generate({})
  t.match(await metrics(), `svc_model_requests_total{${labels},outcome="stop"} 2`)
})
