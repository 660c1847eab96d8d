import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { tokenDecoder } from '../src/token-bytes.ts'
import { Tokenizer } from '../src/tokenizer.ts'
import { fixtures, readExpected } from './support/models.ts'

async function open(folder: string): Promise<Tokenizer> {
  const read = async (name: string) => JSON.parse(await readFile(join(fixtures, folder, name), 'utf8'))
  return new Tokenizer(
    join(folder, 'tokenizer.json'),
    await read('tokenizer.json'),
    await read('tokenizer_config.json')
  )
}

for (const name of ['qwen2-tiny', 'llama-tiny-bf16', 'vox-tiny']) {
  t.test(`${name}: tokens and text equal those of the reference implementation`, async t => {
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
  t.test(
    `a tokenizer in the manner of ${name} tokenises and detokenises as the reference implementation does`,
    async t => {
      const file = join(fixtures, 'tokenizers', `${name}.json`)
      const tokenizer = new Tokenizer(file, JSON.parse(await readFile(file, 'utf8')), null)
      for (const { text, ordinary, special, decoded } of texts) {
        t.same(tokenizer.encode(text, false), ordinary, JSON.stringify(text))
        t.same(tokenizer.encode(text, true), special, `${JSON.stringify(text)}, special`)
        t.equal(tokenizer.decode(ordinary), decoded)
      }
    }
  )
}

t.test('every text comes back from its tokens', async t => {
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

t.test('names of special tokens in ordinary text are only text', async t => {
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

t.test(
  'a SentencePiece decoder maps space markers and byte tokens, and drops the space that it put in front',
  async t => {
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
  }
)
