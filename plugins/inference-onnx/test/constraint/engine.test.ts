import { join } from 'node:path'
import type { GenerateRequest, LoadedModel, OutputConstraint } from '@svc/contracts'
import t from 'tap'
import { collect, models, openEngine } from '../support/models.ts'

async function bundled(t: Parameters<typeof openEngine>[0]): Promise<LoadedModel> {
  const engine = await openEngine(t)
  const model = await engine.load({ runDirectory: join(models, 'vox-tiny'), slots: 3 })
  t.teardown(() => model.close())
  return model
}

function ask(model: LoadedModel, constraint: OutputConstraint, rest: Partial<GenerateRequest> = {}): GenerateRequest {
  const content = 'a function that adds two numbers'
  const tokens = model.tokenize(model.renderChat([{ role: 'user', content }]), { special: true })
  return { tokens, constraint, maxTokens: 200, ...rest }
}

const person: OutputConstraint = {
  type: 'json-schema',
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 12 },
      age: { type: 'integer', minimum: 0, maximum: 150 },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 }
    },
    required: ['name', 'age'],
    additionalProperties: false
  }
}

t.test('an answer satisfies the constraint, and then stops', async t => {
  const model = await bundled(t)
  for (const sampling of [{ temperature: 0 }, { temperature: 1.5, seed: 1 }, { temperature: 2, topK: 40, seed: 2 }]) {
    const { text, done } = await collect(model.generate(ask(model, person, { sampling })))
    const value = JSON.parse(text)
    t.match(value, { name: /^.{1,12}$/su, age: Number })
    t.ok(Number.isInteger(value.age) && value.age >= 0 && value.age <= 150)
    t.equal(done.finishReason, 'stop')
  }
  const regex = { type: 'regex', pattern: '[a-z]{3,8}(?:, [a-z]{2,6}){2}' } as const
  const { text, done } = await collect(model.generate(ask(model, regex, { sampling: { temperature: 1, seed: 3 } })))
  t.match(text, /^[a-z]{3,8}(?:, [a-z]{2,6}){2}$/)
  t.equal(done.finishReason, 'stop')
})

t.test('constrained and unconstrained sequences run concurrently', async t => {
  const model = await bundled(t)
  const free: GenerateRequest = { tokens: [9, 8, 7], maxTokens: 40, ignoreEos: true, sampling: { temperature: 0 } }
  const alone = await collect(model.generate(free))
  const constrained = ask(model, person, { sampling: { temperature: 1, seed: 5 } })
  const expected = await collect(model.generate(constrained))
  const together = await Promise.all([free, constrained, free].map(request => collect(model.generate(request))))
  t.same(
    together.map(({ text }) => text),
    [alone.text, expected.text, alone.text]
  )
})

t.test('an answer that reaches its token limit is truncated, with finish reason length', async t => {
  const model = await bundled(t)
  const { text, done } = await collect(model.generate(ask(model, person, { maxTokens: 3 })))
  t.ok('{"name": "'.startsWith(text) || /^\{"name": ?"/.test(text), text)
  t.match(done, { finishReason: 'length', usage: { completionTokens: 3 } })
})

t.test('an answer that is complete at its last token has finish reason stop', async t => {
  const model = await bundled(t)
  const one = { type: 'regex', pattern: 'a' } as const
  t.match(await collect(model.generate(ask(model, one, { maxTokens: 1 }))), {
    text: 'a',
    done: { finishReason: 'stop' }
  })
  const nothing = { type: 'regex', pattern: '' } as const
  const empty = await collect(model.generate(ask(model, nothing)))
  t.match(empty, { text: '', done: { finishReason: 'stop', usage: { completionTokens: 0 } } })
  const ignoring = await collect(model.generate(ask(model, one, { ignoreEos: true })))
  t.match(ignoring, { text: 'a', done: { finishReason: 'stop' } })
})

t.test('an unenforceable constraint is rejected before the first event', async t => {
  const model = await bundled(t)
  const request = ask(model, { type: 'json-schema', schema: { type: 'object', properties: { a: { if: {} } } } })
  await t.rejects(collect(model.generate(request)), {
    code: 'INF_CONSTRAINT_UNSUPPORTED',
    message: /"if"/,
    at: { path: '#/properties/a/if' }
  })
})

t.test('a bias that bans all allowed tokens fails only its sequence', async t => {
  const model = await bundled(t)
  const one = { type: 'regex', pattern: 'a' } as const
  const [a = 0] = model.tokenize('a')
  const banned = ask(model, one, { sampling: { temperature: 0, logitBias: new Map([[a, Number.NEGATIVE_INFINITY]]) } })
  await t.rejects(collect(model.generate(banned)), { code: 'INF_CONSTRAINT_IMPASSE' })
  t.match(await collect(model.generate(ask(model, one))), { text: 'a' })
})

t.test('reports log probabilities of the model without the constraint', async t => {
  const model = await bundled(t)
  const one = { type: 'regex', pattern: 'z' } as const
  for await (const event of model.generate(ask(model, one, { logprobs: 1 }))) {
    if (event.type === 'text') t.ok((event.logprobs?.[0]?.logprob ?? 0) < -1)
  }
})
