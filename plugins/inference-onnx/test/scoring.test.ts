import t from 'tap'
import { collect, greedy, loadModel, readExpected } from './support/models.ts'

const prompt = async () => (await readExpected('llama-tiny-bf16')).prompts[0]!.tokens

/** Returns the logarithms of the softmax of a row. */
function logSoftmax(row: Float32Array): number[] {
  const peak = Math.max(...row)
  const sum = row.reduce((total, logit) => total + Math.exp(logit - peak), 0)
  return Array.from(row, logit => logit - peak - Math.log(sum))
}

t.test('scores tokens in chunks as by the logits of all positions', async t => {
  const model = await loadModel(t, { maxContext: 256 })
  const tokens = Array.from({ length: 200 }, (_, at) => (at * 37) % model.info.vocabularySize)
  const rows = (await model.logits(tokens)).map(logSoftmax)
  const scores = await model.score({ tokens, top: 3 })
  t.equal(scores.length, 199)
  for (const [at, { token, text, logprob, rank, top }] of scores.entries()) {
    const row = rows[at] as number[]
    if (token !== tokens[at + 1] || Math.abs(logprob - row[token]!) > 1e-3) t.fail(`token ${at + 1} has a wrong score`)
    const best = [...row.keys()].sort((a, b) => row[b]! - row[a]!).slice(0, 3)
    if (Math.abs(top[0]!.logprob - row[best[0]!]!) > 1e-3) t.fail(`token ${at + 1} has a wrong alternative`)
    const byRank = 1 + row.filter(each => each > row[token]!).length
    if (Math.abs(rank - byRank) > 1) t.fail(`token ${at + 1} has the rank ${rank}, not ${byRank}`)
    if (text !== model.detokenize([token])) t.fail(`token ${at + 1} has the text ${text}`)
  }
  t.same(
    (await model.score({ tokens })).map(({ logprob, top }) => [logprob, top.length]),
    scores.map(({ logprob }) => [logprob, 0])
  )
})

t.test('scoring and generating run side by side, and do not change each other', async t => {
  const model = await loadModel(t, { slots: 3 })
  const tokens = await prompt()
  const request = greedy(tokens, 8)
  const [alone, scores] = [await collect(model.generate(request)), await model.score({ tokens })]
  const [a, b, c] = await Promise.all([
    collect(model.generate(request)),
    model.score({ tokens }),
    collect(model.generate(request))
  ])
  t.same([a.tokens, c.tokens], [alone.tokens, alone.tokens])
  t.ok(b.every(({ logprob }, at) => Math.abs(logprob - scores[at]!.logprob) < 1e-4))
})

t.test('a prompt of one token has no scores, and the whole context can be scored', async t => {
  const model = await loadModel(t, { maxContext: 32 })
  t.same(await model.score({ tokens: [] }), [])
  t.same(await model.score({ tokens: [5] }), [])
  t.equal((await model.score({ tokens: Array(32).fill(5) })).length, 31)
  await t.rejects(model.score({ tokens: Array(33).fill(5) }), { code: 'INF_CONTEXT_EXCEEDED' })
  await t.rejects(model.score({ tokens: [5, 1e9] }), { code: 'INF_OPTION_INVALID' })
  await t.rejects(model.score({ tokens: [5, 6], top: -1 }), { code: 'INF_OPTION_INVALID' })
  await t.rejects(model.score({ tokens: [5, 6], adapter: 'none' }), { code: 'INF_ADAPTER_UNKNOWN' })
})

t.test('scoring ends when it is cancelled and when the model is closed', async t => {
  const model = await loadModel(t)
  const tokens = Array.from({ length: 60 }, () => 7)
  const reason = new Error('enough')
  await t.rejects(model.score({ tokens, signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  const cancelled = model.score({ tokens, signal: controller.signal })
  controller.abort(reason)
  await t.rejects(cancelled, reason)
  t.same(model.capacity().active, 0)
  const open = model.score({ tokens })
  await Promise.all([t.rejects(open, { code: 'INF_MODEL_CLOSED' }), model.close()])
  await t.rejects(model.score({ tokens }), { code: 'INF_MODEL_CLOSED' })
})
