/**
 * Quality loss of quantisation, for the bundled model on held-out requests and answers
 * (`tools/bundled-model/held-out.jsonl` and `held-out-wide.jsonl`). Predicts each token of the expected answers from
 * the expected text before it, once in F32 and once quantised.
 *
 *   node --import tsx --conditions=svc-source bench/quantisation-quality.ts [--rows N] [--model DIR --text FILE]
 *
 * Prints a Markdown table. KL: Kullback-Leibler divergence of the quantised prediction from the F32 prediction, in
 * nats; mean and 99th percentile over the tokens. Same: share of tokens with the same argmax. Exact: share of greedy
 * answers that equal the expected answer. `--model` and `--text` measure any other run directory on plain text, in
 * windows of 512 tokens, without the last column.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { LoadedModel, Quantization } from '@svc/contracts'
import { OnnxEngine } from '../plugins/inference-onnx/src/engine.ts'
import { physicalParallelism } from '../plugins/inference-onnx/src/threads.ts'
import { bundledModel, root } from './inference/peers.ts'

const heldOut = ['held-out.jsonl', 'held-out-wide.jsonl']
const WINDOW = 512

/** Tokens of a text. Predictions are scored from index `scored`. */
interface Row {
  readonly tokens: readonly number[]
  readonly scored: number
}

interface TextSet {
  readonly name: string
  rows(model: LoadedModel): Row[]
}

interface Score {
  readonly tokens: number
  readonly perplexity: number
  readonly divergence: number
  readonly worstDivergence: number
  readonly sameChoice: number
  readonly exact: number | null
}

const END = '<|im_end|>'

async function chatSet(file: string, count: number): Promise<TextSet> {
  const lines = (await readFile(join(root, 'tools', 'bundled-model', file), 'utf8')).trim().split('\n').slice(0, count)
  const pairs = lines.map(line => JSON.parse(line) as { readonly request: string; readonly answer: string })
  return {
    name: file,
    rows: model =>
      pairs.map(({ request, answer }) => {
        const rendered = model.renderChat([{ role: 'user', content: request }])
        const prompt = model.tokenize(rendered, { special: true })
        return { tokens: [...prompt, ...model.tokenize(answer + END, { special: true })], scored: prompt.length }
      })
  }
}

async function plainSet(file: string, count: number): Promise<TextSet> {
  const text = await readFile(file, 'utf8')
  return {
    name: file,
    rows(model) {
      const tokens = model.tokenize(text)
      const windows = Math.min(count, Math.ceil(tokens.length / WINDOW))
      return Array.from({ length: windows }, (_, i) => ({
        tokens: tokens.slice(i * WINDOW, (i + 1) * WINDOW),
        scored: 1
      }))
    }
  }
}

/** Replaces logits by log probabilities, in place. */
function logSoftmax(logits: Float32Array): Float32Array {
  let largest = Number.NEGATIVE_INFINITY
  for (const value of logits) if (value > largest) largest = value
  let sum = 0
  for (const value of logits) sum += Math.exp(value - largest)
  const logSum = Math.log(sum) + largest
  for (let i = 0; i < logits.length; i++) logits[i] = (logits[i] as number) - logSum
  return logits
}

function argmax(values: Float32Array): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i
  return best
}

function divergence(exact: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let i = 0; i < exact.length; i++) {
    const log = exact[i] as number
    sum += Math.exp(log) * (log - (other[i] as number))
  }
  return sum
}

async function predictions(model: LoadedModel, { tokens, scored }: Row): Promise<Float32Array[]> {
  const logits = await model.logits(tokens.slice(0, -1))
  return logits.slice(scored - 1).map(logSoftmax)
}

async function answersExactly(model: LoadedModel, { tokens, scored }: Row): Promise<boolean> {
  const request = { tokens: tokens.slice(0, scored), maxTokens: 220, sampling: { temperature: 0 } }
  let answer = ''
  for await (const event of model.generate(request)) if (event.type === 'text') answer += event.text
  return answer === model.detokenize(tokens.slice(scored, -1))
}

async function score(model: LoadedModel, reference: LoadedModel, rows: readonly Row[], chat: boolean): Promise<Score> {
  const divergences: number[] = []
  let [loss, same, exact] = [0, 0, 0]
  for (const row of rows) {
    const other = await predictions(model, row)
    const wanted = await predictions(reference, row)
    for (const [position, expected] of wanted.entries()) {
      const got = other[position] as Float32Array
      divergences.push(divergence(expected, got))
      loss -= got[row.tokens[row.scored + position] as number] as number
      if (argmax(expected) === argmax(got)) same++
    }
    if (chat && (await answersExactly(model, row))) exact++
  }
  const count = divergences.length
  divergences.sort((a, b) => a - b)
  return {
    tokens: count,
    perplexity: Math.exp(loss / count),
    divergence: divergences.reduce((a, b) => a + b, 0) / count,
    worstDivergence: divergences[Math.floor(count * 0.99)] as number,
    sameChoice: same / count,
    exact: chat ? exact / rows.length : null
  }
}

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '100000' }, model: { type: 'string' }, text: { type: 'string' } }
})
if ((values.model === undefined) !== (values.text === undefined))
  throw new Error('--model and --text must be used together')
const runDirectory = resolve(values.model ?? bundledModel)
const count = Number(values.rows)
const sets =
  values.text === undefined
    ? await Promise.all(heldOut.map(file => chatSet(file, count)))
    : [await plainSet(values.text, count)]
const cacheDirectory = await mkdtemp(join(tmpdir(), 'svc-quality-'))
const engine = new OnnxEngine({ cacheDirectory, threads: await physicalParallelism() })
const load = (quantization: Quantization) => engine.load({ runDirectory, quantization, maxContext: 1024 })
try {
  const reference = await load('none')
  console.log('| text | weights | tokens | perplexity | KL, mean | KL, 99 % | same | exact |')
  console.log('|---|---|---|---|---|---|---|---|')
  for (const quantization of ['none', 'q8', 'q4'] as const) {
    const model = await load(quantization)
    for (const set of sets) {
      const result = await score(model, reference, set.rows(reference), values.text === undefined)
      const percent = (share: number | null) => (share === null ? '–' : `${(100 * share).toFixed(1)} %`)
      const name = quantization === 'none' ? 'F32' : quantization
      const numbers = [result.perplexity.toFixed(4), result.divergence.toFixed(5), result.worstDivergence.toFixed(4)]
      const shares = [percent(result.sameChoice), percent(result.exact)]
      console.log(`| ${[set.name, name, result.tokens, ...numbers, ...shares].join(' | ')} |`)
    }
    await model.close()
  }
  await reference.close()
} finally {
  await engine.close()
  await rm(cacheDirectory, { recursive: true, force: true })
}
