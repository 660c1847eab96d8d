/**
 * Cost of a constraint per token: the time to compute and to apply a mask over a vocabulary of 151,936 tokens, like
 * Qwen's. The vocabulary is synthetic: parts of words, Chinese characters, runs of spaces, and punctuation that crosses
 * the boundaries of strings.
 *
 * Texts are generated repeatedly from random tokens. The first texts compute masks; later ones find most masks in a
 * cache.
 *
 *   node --import tsx --conditions=svc-source bench/constraints.ts [--json]
 */
import { parseArgs } from 'node:util'
import type { OutputConstraint } from '@svc/contracts'
import {
  type ConstraintVocabulary,
  OutputConstraints
} from '../plugins/inference-onnx/src/constraint/output-constraints.ts'
import { forbidOthers } from '../plugins/inference-onnx/src/sampling/logits.ts'
import { seededRandom } from '../plugins/inference-onnx/src/sampling/random.ts'
import { quietMoment } from './inference/quiet.ts'

const SIZE = 151_936
const SPECIAL = 300
const TEXTS = 8
const TOKENS = 300
const PATIENCE_MS = 5000
const random = seededRandom(3)
const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!

function synthesise(): ConstraintVocabulary {
  const syllables = 'th er on an re in st en at or es is it al ar ion ing com pro con ab ex un ly ed s e x z q'.split(
    ' '
  )
  const marks = [...'",:{}[]\\/\n.-()0123']
  const times = (max: number, part: () => string) =>
    Array.from({ length: 1 + Math.floor(random() * max) }, part).join('')
  const kinds: readonly (readonly [share: number, make: () => string])[] = [
    [0.2, () => times(4, () => String.fromCodePoint(0x4e00 + Math.floor(random() * 0x5000)))],
    [0.07, () => times(4, () => pick(marks))],
    [0.03, () => pick(marks) + pick(syllables)],
    [0.35, () => ` ${times(5, () => pick(syllables))}`],
    [0.35, () => times(5, () => pick(syllables))]
  ]
  const texts = new Map<string, Uint8Array>()
  const add = (bytes: Buffer) => texts.set(bytes.toString('latin1'), bytes)
  for (let byte = 0; byte < 256; byte++) add(Buffer.of(byte))
  for (let spaces = 2; spaces <= 128; spaces++) add(Buffer.from(' '.repeat(spaces)))
  while (texts.size < SIZE - SPECIAL) {
    let draw = random()
    const [, make] = kinds.find(([share]) => (draw -= share) < 0) ?? kinds[0]!
    add(Buffer.from(make()))
  }
  const bytes = [...texts.values()]
  return {
    size: SIZE,
    bytes: token => bytes[token] ?? Buffer.from(`<|${token}|>`),
    isSpecial: token => token >= bytes.length,
    endTokens: new Set([SIZE - 1])
  }
}

const cases: Readonly<Record<string, OutputConstraint>> = {
  'any JSON object': { type: 'json-object' },
  'a schema': {
    type: 'json-schema',
    schema: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        age: { type: 'integer', minimum: 0, maximum: 150 },
        email: { type: 'string', format: 'email' },
        tags: { type: 'array', items: { type: 'string', maxLength: 40 }, maxItems: 20 },
        child: { $ref: '#' },
        note: { type: 'string', maxLength: 500 }
      },
      required: ['name', 'age', 'tags']
    }
  },
  'a grammar (GBNF)': {
    type: 'gbnf',
    grammar: `
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array  ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\\"" ([^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\\"" ws
number ::= "-"? ([0-9] | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,3})? ws
ws     ::= | " " | "\\n" [ \\t]{0,20}`
  },
  'a right-recursive grammar': {
    type: 'gbnf',
    grammar: 'root ::= item rest\nrest ::= "," item rest | ""\nitem ::= [a-z]+ | "(" root ")"'
  },
  'one of 1,000 choices': {
    type: 'regex',
    pattern: Array.from({ length: 1_000 }, (_, at) => `choice${((at + 1) * 7919) % 100_003}`).join('|')
  },
  'a regular expression': { type: 'regex', pattern: '\\w+(?: \\w+){3,30}\\.' }
}

/** Generates text, and returns the milliseconds for the mask of each token. */
async function write(constraints: OutputConstraints, vocabulary: ConstraintVocabulary, constraint: OutputConstraint) {
  const matcher = await constraints.matcher(constraint, { ignoreEnd: false })
  const times: number[] = []
  while (times.length < TOKENS) {
    const start = performance.now()
    const finished = matcher.isFinished()
    const mask = matcher.allowed()
    times.push(performance.now() - start)
    if (finished) break
    const isAllowed = (token: number) => (mask[token >> 5]! & (1 << (token & 31))) !== 0
    let token = Math.floor(random() * SIZE)
    for (let tries = 0; tries < SIZE && !isAllowed(token); tries++) token = (token + 1) % SIZE
    if (vocabulary.endTokens.has(token)) break
    matcher.accept(token)
  }
  return times
}

const share = (times: readonly number[], part: number) =>
  [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0
const mean = (times: readonly number[]) => times.reduce((a, b) => a + b, 0) / times.length

const vocabulary = synthesise()
const constraints = new OutputConstraints(vocabulary)
const begin = performance.now()
await constraints.matcher({ type: 'regex', pattern: 'a' }, { ignoreEnd: false })
const prepare = performance.now() - begin

const results: { constraint: string; first: number; mean: number; p50: number; p99: number; max: number }[] = []
for (const [name, constraint] of Object.entries(cases)) {
  await quietMoment(PATIENCE_MS)
  const first = await write(constraints, vocabulary, constraint)
  const later: number[] = []
  for (let text = 1; text < TEXTS; text++) later.push(...(await write(constraints, vocabulary, constraint)))
  results.push({
    constraint: name,
    first: mean(first),
    mean: mean(later),
    p50: share(later, 0.5),
    p99: share(later, 0.99),
    max: share(later, 1)
  })
}

const mask = new Uint32Array(Math.ceil(SIZE / 32)).map(() => Math.floor(random() * 2 ** 32))
const applied = Array.from({ length: 200 }, () => {
  const logits = new Float32Array(SIZE)
  const start = performance.now()
  forbidOthers(logits, mask)
  return performance.now() - start
})

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
if (values.json) {
  console.log(JSON.stringify({ vocabulary: SIZE, prepare_ms: prepare, apply_ms: share(applied, 0.5), results }))
} else {
  const figure = (milliseconds: number) => milliseconds.toFixed(3).padStart(9)
  console.log(
    `preparing the vocabulary, once: ${prepare.toFixed(0)} ms; applying a mask: ${share(applied, 0.5).toFixed(3)} ms`
  )
  console.log(`${'mask, ms/token'.padEnd(24)}  1st text     later    median      99 %       max`)
  for (const each of results) {
    const figures = [each.first, each.mean, each.p50, each.p99, each.max].map(figure).join(' ')
    console.log(`${each.constraint.padEnd(24)}${figures}`)
  }
}
