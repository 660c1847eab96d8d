import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { EncoderTokens, pieces } from '#embedding'
import { fixtures } from './support.ts'

const NO_LIMIT = 1e9

async function open(name: string, change: (definition: Record<string, any>) => void = () => undefined, rows = 300) {
  const file = join(fixtures, name, 'tokenizer.json')
  const definition = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
  change(definition)
  return new EncoderTokens(file, definition, null, rows)
}

t.test('pieces of a text are the text, and short enough', async _t => {
  const part = fc.oneof(fc.lorem({ maxCount: 30 }), fc.string({ unit: 'grapheme', maxLength: 400 }))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), parts => {
      const text = parts.join('')
      const list = [...pieces(text)]
      return list.join('') === text && list.every(({ length }) => length > 0 && length <= 8_000)
    }),
    { numRuns: 60 }
  )
})

t.test('a long text has the same tokens in pieces as in one part', async t => {
  const words = Array.from(
    { length: 900 },
    (_, at) => ['a quick', 'naïve façade', 'fox, 12', '日本語 中文', 'isn’t'][at % 5]
  )
  const text = words.join(' ')
  t.ok([...pieces(text)].length > 2, 'the text has several pieces')
  for (const name of ['bert', 'xlm-roberta', 'roberta', 'static', 'qwen3']) {
    const tokens = await open(name)
    const short: number[] = []
    // Texts below the length of a piece are tokenised in one part.
    for (let at = 0; at < words.length; at += 50) {
      const part = words.slice(at, at + 50).join(' ')
      short.push(...(await tokens.encode(at === 0 ? part : ` ${part}`, NO_LIMIT)))
    }
    t.same(await tokens.encode(text, NO_LIMIT), short, name)
  }
})

t.test('tokenising stops soon after the limit, and at an aborted signal', async t => {
  const tokens = await open('bert')
  const text = 'a quick brown fox '.repeat(50_000)
  const some = await tokens.encode(text, 10)
  t.ok(some.length > 10 && some.length < 3_000, `${some.length} tokens`)
  const reason = new Error('the caller left')
  await t.rejects(tokens.encode(text, NO_LIMIT, AbortSignal.abort(reason)), reason)
})

t.test('other work runs while many long texts are tokenised', async t => {
  const tokens = await open('bert')
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const text = 'a quick brown fox jumps over the lazy dog '.repeat(800)
  await Promise.all(Array.from({ length: 8 }, () => tokens.encode(text, NO_LIMIT)))
  isDone = true
  t.ok(turns > 2, `${turns} turns of the event loop`)
})

t.test('characters that the tokenizer lacks are dropped or unknown, as in the reference', async t => {
  const bert = await open('bert')
  t.same(await bert.encode('☃', NO_LIMIT), [bert.unknown])
  const without = await open('roberta')
  t.equal(without.unknown, null)
  t.same(await without.encode('', NO_LIMIT), [])
})

t.test('broken tokenizers are refused with the field', async t => {
  const refused = async (
    name: string,
    change: (definition: Record<string, any>) => void,
    expected: { readonly code: string; readonly message: RegExp }
  ) => t.rejects(open(name, change), expected)
  await refused('bert', each => delete each.model, { code: 'INF_RUN_DIR_MALFORMED', message: /tokenizer\.json/ })
  await refused('bert', each => Object.assign(each.post_processor.special_tokens, { '[CLS]': undefined }), {
    code: 'INF_TOKENIZER_UNSUPPORTED',
    message: /post_processor\.single: the token "\[CLS\]"/
  })
  await refused('bert', each => Object.assign(each.post_processor, { single: [] }), {
    code: 'INF_TOKENIZER_UNSUPPORTED',
    message: /does not contain the text/
  })
  for (const single of [[null], [{ Sequence: null }]]) {
    await refused('bert', each => Object.assign(each.post_processor, { single }), {
      code: 'INF_TOKENIZER_UNSUPPORTED',
      message: /post_processor\.single: the token null/
    })
  }
  for (const type_id of ['1', 0.5, -1]) {
    const pair = [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id } }]
    await refused('bert', each => Object.assign(each.post_processor, { pair }), {
      code: 'INF_TOKENIZER_UNSUPPORTED',
      message: /post_processor\.pair: type_id ("1"|0\.5|-1) is not a whole number/
    })
  }
  await refused('roberta', each => Object.assign(each.post_processor, { cls: ['<none>', 0] }), {
    code: 'INF_TOKENIZER_UNSUPPORTED',
    message: /"<none>" is not in the vocabulary/
  })
  await refused('bert', each => Object.assign(each, { post_processor: { type: 'Other' } }), {
    code: 'INF_RUN_DIR_MALFORMED',
    message: /Other/
  })
  for (const [name, change, message] of [
    ['bert', each => delete each.model.vocab, /tokenizer\.json is not valid/],
    ['roberta', each => delete each.model.merges, /tokenizer\.json is not valid/],
    ['xlm-roberta', each => void (each.model.vocab = [null]), /tokenizer\.json is not valid/],
    ['bert', each => void (each.added_tokens = [{}]), /tokenizer\.json is not valid/]
  ] as const satisfies readonly (readonly [string, (each: Record<string, any>) => unknown, RegExp])[]) {
    await refused(name, change, { code: 'INF_RUN_DIR_MALFORMED', message })
  }
  for (const id of [-3, 1.5, '7', 2 ** 31]) {
    const broken = await open('bert', each => void (each.model.vocab.fox = id))
    await t.rejects(broken.encode('a quick fox', NO_LIMIT), {
      code: 'INF_TOKENIZER_UNSUPPORTED',
      message: `token ${JSON.stringify(id)} is outside of the model's vocabulary`
    })
  }
  const far = [{ Sequence: { id: 'A' } }, { SpecialToken: { id: '[SEP]' } }, { Sequence: { id: 'B' } }]
  const outside = (each: Record<string, any>) => {
    each.post_processor.special_tokens['[FAR]'] = { ids: [9_999] }
    each.post_processor.pair = far.map(part => ('SpecialToken' in part ? { SpecialToken: { id: '[FAR]' } } : part))
  }
  await refused('bert', outside, { code: 'INF_TOKENIZER_UNSUPPORTED', message: /token 9999 is outside/ })
  const small = await open('bert', undefined, 20)
  await t.rejects(small.encode('a quick brown fox', NO_LIMIT), {
    code: 'INF_TOKENIZER_UNSUPPORTED',
    message: /vocabulary of 20 tokens/
  })
})
