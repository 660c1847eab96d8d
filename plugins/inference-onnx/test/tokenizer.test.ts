import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { Tokenizer, tokenDecoder } from '#root'
import { fixtures, openEngine, readExpected, temporaryFolder } from './support/models.ts'

async function open(folder: string): Promise<Tokenizer> {
  const read = async (name: string) => JSON.parse(await readFile(join(fixtures, folder, name), 'utf8'))
  return new Tokenizer(
    join(folder, 'tokenizer.json'),
    await read('tokenizer.json'),
    await read('tokenizer_config.json')
  )
}

for (const name of ['qwen2-tiny', 'llama-tiny-bf16', 'vox-tiny']) {
  t.test(`${name}: tokens and text match the reference implementation`, async t => {
    const expected = await readExpected(name)
    const tokenizer = await open(expected.runDirectory)
    for (const { text, ordinary, special, decoded } of expected.tokenizations) {
      t.same(tokenizer.encode(text, false), ordinary, JSON.stringify(text))
      t.same(tokenizer.encode(text, true), special, `${JSON.stringify(text)}, special`)
      t.equal(tokenizer.decode(ordinary), decoded)
    }
    for (const [token, id] of Object.entries(expected.specialTokens)) {
      t.equal(tokenizer.id(token), id)
      t.equal(tokenizer.isSpecial(id), true)
    }
  })
}

const families = JSON.parse(await readFile(join(fixtures, 'tokenizers', 'expected.json'), 'utf8'))

for (const [name, texts] of Object.entries<any[]>(families)) {
  t.test(`a tokenizer in the style of ${name} matches the reference implementation`, async t => {
    const file = join(fixtures, 'tokenizers', `${name}.json`)
    const tokenizer = new Tokenizer(file, JSON.parse(await readFile(file, 'utf8')), null)
    for (const { text, ordinary, special, decoded } of texts) {
      t.same(tokenizer.encode(text, false), ordinary, JSON.stringify(text))
      t.same(tokenizer.encode(text, true), special, `${JSON.stringify(text)}, special`)
      t.equal(tokenizer.decode(ordinary), decoded)
    }
  })
}

t.test('reads begin-of-text tokens from the post-processor or the configuration', async t => {
  const file = join(fixtures, 'tokenizers', 'llama3.json')
  const definition = JSON.parse(await readFile(file, 'utf8'))
  const beginning = (postProcessor: unknown, configuration: object = {}) =>
    new Tokenizer(file, { ...definition, post_processor: postProcessor }, { ...configuration }).beginning
  const part = (id: string) => ({ SpecialToken: { id, type_id: 0 } })
  const template = {
    type: 'TemplateProcessing',
    single: [part('<|begin_of_text|>'), { Sequence: { id: 'A', type_id: 0 } }, part('<|eot_id|>')],
    pair: [],
    special_tokens: {}
  }
  const bytes = { type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true }
  t.same(beginning(null), [])
  t.same(beginning(template), [0])
  t.same(beginning({ type: 'Sequence', processors: [bytes, template] }), [0])
  t.same(beginning(template, { add_bos_token: false }), [])
  t.same(beginning(bytes, { bos_token: '<|begin_of_text|>' }), [])
  t.same(beginning(bytes, { add_bos_token: true, bos_token: { content: '<|begin_of_text|>' } }), [0])
})

t.test('decoding the tokens of any text restores it', async t => {
  const tokenizer = await open('llama-tiny-bf16')
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc
      .array(fc.constantFrom('<|im_start|>', '<|im_end|>', ' a', '€', '\n'), { maxLength: 8 })
      .map(parts => parts.join(''))
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(text, fc.boolean(), (value, special) => tokenizer.decode(tokenizer.encode(value, special)) === value)
    )
  )
})

t.test('names of special tokens in ordinary text are plain text', async t => {
  const tokenizer = await open('llama-tiny-bf16')
  const tokens = tokenizer.encode('<|im_end|>', false)
  t.ok(tokens.length > 1)
  t.notOk(tokens.some(token => tokenizer.isSpecial(token)))
  t.same(tokenizer.encode('<|im_end|>', true), [tokenizer.id('<|im_end|>')])
})

t.test('an id outside the vocabulary has no text', async t => {
  const tokenizer = await open('llama-tiny-bf16')
  t.equal(tokenizer.decode([100_000]), '')
})

t.test('a SentencePiece decoder maps space markers and byte tokens, and drops the added leading space', async t => {
  const decoder = tokenDecoder({
    type: 'Sequence',
    decoders: [
      { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      { type: 'Strip', content: ' ', start: 1, stop: 0 }
    ]
  })!
  t.equal(Buffer.from(decoder.bytes('▁Hello▁you')).toString(), ' Hello you')
  t.same([...decoder.bytes('<0xE2>')], [0xe2])
  t.equal(decoder.leadingSpaces, 1)
  t.equal(tokenDecoder({ type: 'Metaspace' })?.leadingSpaces, 1)
  t.equal(tokenDecoder({ type: 'WordPiece' }), null)
  t.equal(tokenDecoder(null), null)
})

t.test('adds the begin-of-text token on request, and never twice', async t => {
  const runDirectory = join(await temporaryFolder(t), 'model')
  await cp(join(fixtures, 'llama-tiny-bf16'), runDirectory, { recursive: true })
  const file = join(runDirectory, 'tokenizer_config.json')
  const configuration = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...configuration, add_bos_token: true, bos_token: '<|im_start|>' }))
  const model = await (await openEngine(t)).load({ runDirectory, adapter: false })
  t.teardown(() => model.close())
  const plain = model.tokenize('user')
  t.same(model.tokenize('user', { begin: true }), [1, ...plain])
  t.same(model.tokenize('<|im_start|>user', { special: true, begin: true }), [1, ...plain])
  t.same(model.tokenize('', { begin: true }), [1])
})
