import type { Logger } from '@svc/plugin-sdk'
import t from 'tap'
import { shownName, type UnknownModel, UnknownModels } from '#root'
import { serve } from './serve.ts'

const MINUTE = 60_000

function open() {
  const lines: string[] = []
  const clock = { now: 0 }
  const log = { warn: message => void lines.push(message) } as Logger
  const models = new UnknownModels(log, () => clock.now)
  const ask = (asked: string): readonly string[] => {
    models.note({ data: { asked, served: ['toy', 'toy:one'] } } satisfies UnknownModel, 't-1')
    return lines.splice(0)
  }
  return { ask, clock }
}

t.test('logs each name once in ten minutes, with the served models and the variable to set', async t => {
  const { ask, clock } = open()
  t.match(ask('llama3'), [/requested the model 'llama3'.*has 'toy', 'toy:one': set INFER_MODEL/])
  t.same(ask('llama3'), [])
  clock.now = 5 * MINUTE
  t.match(ask('other'), [/'other'/])
  clock.now = 10 * MINUTE
  t.match(ask('llama3'), [/'llama3'/])
  t.same(ask('other'), [], 'the ten minutes since its last log entry have not passed')
})

t.test('limits the number of names that are remembered and logged', async t => {
  const { ask, clock } = open()
  const logged = Array.from({ length: 5000 }, (_, each) => ask(`name ${each}`).length)
  t.equal(
    logged.reduce((sum, lines) => sum + lines, 0),
    100
  )
  clock.now = 10 * MINUTE
  t.equal(ask('afterwards').length, 1)
})

t.test("truncates a client's name and escapes its control characters", async t => {
  t.equal(shownName('llama3:8b'), "'llama3:8b'")
  t.equal(shownName('a\r\nb\u001b[31m\u009b\u202e\u2028'), String.raw`'a\u{d}\u{a}b\u{1b}[31m\u{9b}\u{202e}\u{2028}'`)
  t.equal(shownName('x'.repeat(64)), `'${'x'.repeat(64)}'`)
  t.equal(shownName('x'.repeat(1e6)), `'${'x'.repeat(64)}…'`)
  t.equal(shownName('𝔸'.repeat(65)), `'${'𝔸'.repeat(64)}…'`, 'no character is split')
})

t.test('routes of both APIs reject an unknown model, name the served ones, and log it once', async t => {
  const { post, warnings, codes, requestIds, url } = await serve(t)
  const asked = 'llama3\u001b[2J'
  const message = String.raw`model 'llama3\u{1b}[2J' not found; this server has 'toy'`
  const messages = [{ role: 'user', content: 'hi' }]
  for (const path of ['/api/chat', '/api/generate', '/api/show']) {
    const response = await post(path, { model: asked, messages, prompt: 'hi' })
    t.same([response.status, await response.json()], [404, { error: message }], path)
  }
  const error = { message, type: 'invalid_request_error', param: 'model', code: 'model_not_found' }
  for (const path of ['/v1/chat/completions', '/v1/completions']) {
    const { prompt, ...chat } = { prompt: 'hi', model: asked, messages }
    const response = await post(path, path.includes('chat') ? chat : { model: asked, prompt })
    t.same([response.status, await response.json()], [404, { error }], path)
  }
  t.equal((await fetch(`${url}/v1/models/${encodeURIComponent(asked)}`)).status, 404)
  t.match(warnings, [String.raw`requested the model 'llama3\u{1b}[2J', but this server has 'toy': set INFER_MODEL`])
  t.equal(warnings.length, 1)
  t.same(requestIds, ['t-1'])
  t.same(codes, new Array(6).fill('MSV_MODEL_UNKNOWN'), 'each access record has the code')
})
