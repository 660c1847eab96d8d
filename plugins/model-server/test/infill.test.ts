import t, { type Test } from 'tap'
import { limited } from '#infill'
import { serve } from './serve.ts'
import { ToyModel, type ToyOptions } from './toy-engine.ts'

const [PREFIX, SUFFIX, MIDDLE, REPOSITORY, FILE] = [1, 2, 3, 4, 5]
const MARKS: Readonly<Record<string, number>> = {
  '<|fim_prefix|>': PREFIX,
  '<|fim_suffix|>': SUFFIX,
  '<|fim_middle|>': MIDDLE
}
const REPOSITORY_MARKS = { '<|repo_name|>': REPOSITORY, '<|file_sep|>': FILE }

/** Toy model whose vocabulary has tokens for a gap: control characters. */
class CodeModel extends ToyModel {
  readonly #marks: Readonly<Record<string, number>>

  constructor(marks: Readonly<Record<string, number>>, options: ToyOptions = {}) {
    super(options)
    this.#marks = marks
  }

  override tokenize(text: string, options: { readonly special?: boolean } = {}): number[] {
    const mark = options.special === true ? this.#marks[text] : undefined
    return mark === undefined ? super.tokenize(text, options) : [mark]
  }
}

async function open(t: Test, marks: Readonly<Record<string, number>> = MARKS, options: ToyOptions = {}) {
  const model = new CodeModel(marks, options)
  const serving = await serve(t, { state: { status: 'ready', model, modifiedAt: new Date() } })
  const infill = async (body: object) => {
    const response = await serving.post('/infill', { temperature: 0, n_predict: 8, ...body })
    return { status: response.status, body: (await response.json()) as Record<string, any> }
  }
  /** Returns the prompt of the last request as text, with marks in brackets. */
  const prompt = () => {
    const tokens = model.requests.at(-1)?.tokens ?? []
    return tokens.map(token => (token <= FILE ? `<${token}>` : String.fromCharCode(token))).join('')
  }
  return { ...serving, model, infill, prompt }
}

t.test('fills a gap with the tokens of the model', async t => {
  const { infill, prompt } = await open(t)
  const { status, body } = await infill({ input_prefix: 'def f(', input_suffix: '): pass', prompt: 'a', stop: ['(b'] })
  t.equal(status, 200)
  t.equal(prompt(), '<1>def f(a<2>): pass<3>')
  t.match(body, {
    content: String,
    stop: true,
    model: 'toy',
    tokens: [],
    tokens_predicted: 8,
    tokens_evaluated: 17,
    truncated: false,
    stop_type: 'limit',
    stopping_word: '',
    timings: { prompt_n: 17, predicted_n: 8 }
  })
  t.equal(body.content.length, 8)
  await infill({ input_prefix: '<|fim_suffix|>' })
  t.equal(prompt(), '<1><|fim_suffix|><2><3>', 'names of special tokens in the text are text')
})

t.test('puts parts of other files before the gap, with or without tokens for files', async t => {
  const input_extra = [{ filename: 'a.py', text: 'A' }, { text: 'B' }]
  const plain = await open(t)
  await plain.infill({ input_prefix: 'x', input_suffix: 'y', input_extra })
  t.equal(plain.prompt(), '\n\n--- snippet ---\n\nA\n\n--- snippet ---\n\nB<1>x<2>y<3>')
  const marked = await open(t, { ...MARKS, ...REPOSITORY_MARKS })
  await marked.infill({ input_prefix: 'x', input_suffix: 'y', input_extra })
  t.equal(marked.prompt(), '<4>myproject\n<5>a.py\nA<5>tmp\nB<5>filename\n<1>x<2>y<3>')
})

t.test('keeps the text that is nearest to the gap if the context has no room for all', async t => {
  const { infill, prompt } = await open(t, MARKS, { contextLength: 64 })
  const { body } = await infill({
    input_prefix: `${'-'.repeat(500)}near`,
    input_suffix: `after${'+'.repeat(500)}`,
    input_extra: [{ text: 'far' }, { text: 'z'.repeat(5_000) }]
  })
  t.equal(body.truncated, true)
  t.match(prompt(), /-near<2>after\++<3>$/)
  t.equal(body.tokens_evaluated, 64 - 8)
  const short = await infill({ input_prefix: 'ab', input_suffix: 'cd', input_extra: [{ text: 'z'.repeat(5_000) }] })
  t.match(prompt(), /^z+<1>ab<2>cd<3>$/, 'other files take the rest')
  t.equal(short.body.truncated, true)
  t.equal(short.body.tokens_evaluated, 64 - 8)
})

t.test('streams pieces, and then the counts', async t => {
  const { post } = await open(t)
  const fields = { input_prefix: 'ab', n_predict: 4, temperature: 0, n_probs: 2, return_tokens: true }
  const response = await post('/infill', { ...fields, stream: true })
  t.match(response.headers.get('content-type'), 'text/event-stream')
  const events = (await response.text())
    .trim()
    .split('\n\n')
    .map(event => JSON.parse(event.replace(/^data: /, '')) as Record<string, any>)
  const pieces = events.slice(0, -1)
  t.match(events.at(-1), { stop: true, content: '', tokens_predicted: 4, stop_type: 'limit' })
  t.ok(pieces.every(piece => piece.stop === false))
  const whole = (await (await post('/infill', fields)).json()) as Record<string, any>
  t.equal(pieces.map(piece => piece.content).join(''), whole.content)
  t.same(
    pieces.flatMap(piece => piece.tokens),
    whole.tokens
  )
  t.equal(whole.tokens.length, 4)
  const probabilities = pieces.flatMap(piece => piece.completion_probabilities)
  t.same(probabilities, whole.completion_probabilities)
  t.equal(probabilities.length, 4)
  t.match(probabilities[0], { id: Number, token: String, bytes: Array, logprob: Number, top_logprobs: [{}, {}] })
})

t.test('returns only the requested fields', async t => {
  const { infill } = await open(t)
  const { body } = await infill({ input_prefix: 'a', response_fields: ['content', 'timings/predicted_n', 'no/such'] })
  t.same(Object.keys(body), ['content', 'predicted_n'])
  t.equal(body.predicted_n, 8)
})

t.test('ends an answer after its first line at a time or at less indentation', async t => {
  async function* pieces(...texts: string[]) {
    for (const text of texts) yield { type: 'text' as const, text }
    const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, queueNs: 0, promptNs: 0, completionNs: 0 }
    yield { type: 'done' as const, finishReason: 'stop' as const, usage, thinkingTokens: 0 }
  }
  const read = async (limits: { predictMs?: number; indentation?: number }, ...texts: string[]) => {
    let text = ''
    let finishes = 0
    let reason = ''
    for await (const event of limited(
      pieces(...texts),
      { predictMs: 0, indentation: 0, ...limits },
      () => finishes++
    )) {
      if (event.type === 'text') text += event.text
      if (event.type === 'done') reason = event.finishReason
    }
    return { text, finishes, reason }
  }
  const lines = ['a\n  b\n', '  ', ' c\n d', '\ne']
  t.same(await read({}, ...lines), { text: lines.join(''), finishes: 0, reason: 'stop' })
  t.same(await read({ indentation: 2 }, ...lines), { text: 'a\n  b\n   c\n ', finishes: 1, reason: 'length' })
  t.same(await read({ indentation: 2 }, 'a\n\n  b'), { text: 'a\n\n  b', finishes: 0, reason: 'stop' })
  t.same(await read({ predictMs: 1e-9 }, 'a', 'b\n', 'c'), { text: 'ab\n', finishes: 1, reason: 'length' })
  const { infill, model } = await open(t)
  const { body } = await infill({ input_prefix: 'ab\n', n_indent: 3, n_predict: 200 })
  t.equal(body.stop_type, 'limit')
  t.ok(body.tokens_predicted < 200)
  t.same(model.ended, ['cancelled'])
})

t.test('refuses models without tokens for a gap, and bad input', async t => {
  const plain = await serve(t)
  const refused = await plain.post('/infill', { input_prefix: 'a', input_suffix: 'b' })
  t.equal(refused.status, 400)
  t.match(await refused.json(), {
    error: { message: /model 'toy' cannot fill in the middle: .*<\|fim_prefix\|>/, param: 'input_suffix' }
  })
  const { infill } = await open(t)
  const cases: [object, RegExp][] = [
    [{ input_prefix: 1 }, /'input_prefix' must be a string/],
    [{ input_extra: [{}] }, /'input_extra\[0\]\.text' must be a string/],
    [
      { input_extra: Array.from({ length: 1_001 }, () => ({ text: '' })) },
      /'input_extra' must be a list of up to 1000/
    ],
    [{ logit_bias: [['a', 1]] }, /'logit_bias' must be a list of pairs/],
    [{ logit_bias: [[4_000, 1]] }, /'logit_bias' names the token 4000/],
    [{ t_max_predict_ms: -1 }, /'t_max_predict_ms' must be an integer from 0/],
    [{ mirostat: 2 }, /'mirostat': this server does not support it/],
    [{ dry_multiplier: 0.5 }, /'dry_multiplier'/],
    [{ n_indent: 'x' }, /'n_indent'/]
  ]
  for (const [fields, message] of cases) {
    const { status, body } = await infill(fields)
    t.equal(status, 400, JSON.stringify(fields).slice(0, 60))
    t.match(body, { error: { message } })
  }
  t.equal((await infill({ logit_bias: [[65, false]], input_prefix: 'A' })).status, 200)
})
