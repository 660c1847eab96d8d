import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { ggufTokenizer, readGguf } from '#gguf'
import { Tokenizer } from '#root'
import { fixtures } from '../support/models.ts'

const folder = join(fixtures, 'gguf')
const references: Record<string, { text: string; tokens: number[] }[]> = JSON.parse(
  await readFile(join(folder, 'tokens.json'), 'utf8')
)

async function open(name: string, change: Record<string, unknown> = {}) {
  const { path, metadata } = await readGguf(join(folder, `${name}.gguf`))
  const changed = new Map(metadata)
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined) changed.delete(`tokenizer.${key}`)
    else changed.set(`tokenizer.${key}`, value as string)
  }
  const found = await ggufTokenizer(path, changed)
  return { ...found, tokenizer: new Tokenizer(path, found.definition, found.configuration) }
}

for (const [name, texts] of Object.entries(references)) {
  t.test(`${name}: tokens of a vocabulary without a tokenizer.json match the reference implementation`, async t => {
    const { tokenizer } = await open(`vocabulary-${name}`)
    for (const { text, tokens } of texts) {
      t.same(tokenizer.encode(text, true), tokens, JSON.stringify(text))
      // Decoders drop spaces at special tokens, and restore no marker.
      if (!/[▁<]/.test(text)) t.equal(tokenizer.decode(tokens), text)
    }
    t.ok(texts.length > 10)
  })
}

t.test('the begin-of-text token is added as metadata states, else as the kind of vocabulary does', async t => {
  const bos = async (name: string, change?: Record<string, unknown>) => (await open(name, change)).tokenizer.beginning
  t.same(await bos('vocabulary-llama2'), [1])
  t.same(await bos('vocabulary-gemma'), [2])
  t.same(await bos('vocabulary-llama3'), [0])
  t.same(await bos('vocabulary-llama3', { 'ggml.add_bos_token': false }), [])
  t.same(await bos('qwen2'), [])
})

t.test('a vocabulary of runs, whose merges would exhaust the memory, is refused', async t => {
  const tokens = Array.from({ length: 190 }, (_, a) =>
    Array.from({ length: 190 - a }, (_, b) => 'a'.repeat(a) + 'b'.repeat(b)).filter(text => text !== '')
  ).flat()
  const change = {
    'ggml.tokens': tokens,
    'ggml.scores': tokens.map(() => 0),
    'ggml.token_type': undefined
  }
  await t.rejects(open('vocabulary-llama2', change), {
    code: 'INF_RUN_DIR_MALFORMED',
    message: /ggml\.tokens: they have more than 1048576 merges/
  })
})

t.test('end-of-turn and end-of-message tokens end a text too', async t => {
  const { endTokens } = await open('qwen2', { 'ggml.eot_token_id': 1, 'ggml.eom_token_id': 0 })
  t.same(endTokens, [2, 1, 0])
})

t.test('a separate template for tools is kept', async t => {
  const { configuration } = await open('qwen2', { 'chat_template.tool_use': '{{ tools }}' })
  t.match(configuration.chat_template, [{ name: 'default' }, { name: 'tool_use', template: '{{ tools }}' }])
})

for (const [what, name, change, code, message] of [
  [
    'a kind that is not supported',
    'qwen2',
    { 'ggml.model': 'bert' },
    'INF_TOKENIZER_UNSUPPORTED',
    /ggml\.model "bert".*gpt2, llama/
  ],
  ['no kind', 'qwen2', { 'ggml.model': undefined }, 'INF_TOKENIZER_UNSUPPORTED', /ggml\.model null/],
  [
    'an unknown pre-tokenizer',
    'qwen2',
    { 'ggml.pre': 'constructor' },
    'INF_TOKENIZER_UNSUPPORTED',
    /pre "constructor".*qwen2/
  ],
  ['no pre-tokenizer', 'qwen2', { 'ggml.pre': undefined }, 'INF_TOKENIZER_UNSUPPORTED', /pre "default"/],
  ['no tokens', 'qwen2', { 'ggml.tokens': undefined }, 'INF_RUN_DIR_MALFORMED', /ggml\.tokens: it is missing/],
  ['tokens that are numbers', 'qwen2', { 'ggml.tokens': [1, 2] }, 'INF_RUN_DIR_MALFORMED', /not a list of texts/],
  [
    'a token twice',
    'qwen2',
    { 'ggml.tokens': ['a', 'b', 'a'] },
    'INF_RUN_DIR_MALFORMED',
    /tokens 0 and 2 are both "a"/
  ],
  ['no merges', 'qwen2', { 'ggml.merges': undefined }, 'INF_RUN_DIR_MALFORMED', /ggml\.merges: it is missing/],
  ['a merge of one part', 'qwen2', { 'ggml.merges': ['ab'] }, 'INF_RUN_DIR_MALFORMED', /merge 0, "ab", is not a pair/],
  ['no scores', 'vocabulary-llama2', { 'ggml.scores': undefined }, 'INF_RUN_DIR_MALFORMED', /scores: it is missing/],
  ['too few scores', 'vocabulary-llama2', { 'ggml.scores': [1] }, 'INF_RUN_DIR_MALFORMED', /1 values for 420 tokens/],
  [
    'scores that are not finite',
    'vocabulary-llama2',
    { 'ggml.scores': Array(420).fill(Number.NaN) },
    'INF_RUN_DIR_MALFORMED',
    /not a list of finite/
  ],
  [
    'an end token out of range',
    'qwen2',
    { 'ggml.eos_token_id': 300 },
    'INF_RUN_DIR_MALFORMED',
    /eos_token_id: 300 is not one of the 300/
  ],
  ['a flag that is a number', 'qwen2', { 'ggml.add_bos_token': 1 }, 'INF_RUN_DIR_MALFORMED', /neither true nor false/],
  [
    'a token of unlimited length',
    'vocabulary-llama2',
    {
      'ggml.tokens': ['x'.repeat(513), ...Array.from({ length: 419 }, (_, id) => `t${id}`)],
      'ggml.token_type': undefined
    },
    'INF_RUN_DIR_MALFORMED',
    /token 0 has 513 characters, more than 512/
  ]
] as const) {
  t.test(`refuses ${what}`, async t => {
    await t.rejects(open(name, change), { code, message })
  })
}
