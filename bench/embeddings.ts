/**
 * Embeddings of this engine on the CPU against @huggingface/transformers, fastembed and model2vec, on the same random
 * weights: the shape of all-MiniLM-L6-v2 as safetensors and as model.onnx, and a static table.
 *
 * Each contestant runs in a separate process. Rounds alternate between the contestants and use other texts each time:
 * beginnings of sentences, paragraphs of docs/ of unlike lengths, and texts of like length, in calls of 1 and of 32
 * texts. All contestants must compute the same vectors. The median of all rounds is reported, with its range.
 *
 * SVC_BENCH_PYTHON names an interpreter with the peers fastembed and model2vec, which are left out otherwise. The first
 * run writes the models with it, and needs torch, transformers and onnx.
 *
 *   node --import tsx --conditions=svc-source bench/embeddings.ts [--json] [--rounds N] [--threads N] [--texts N]
 *     [--only NAME]...
 */
import { parseArgs } from 'node:util'
import { defined } from '@svc/plugin-sdk'
import { type EmbeddingContestant, type EmbeddingOptions, startEmbedder } from './embeddings/contestant.ts'
import { embeddingModels } from './embeddings/models.ts'
import { paragraphs, type TextSets, textSets } from './embeddings/texts.ts'
import { embeddingsTable } from './embeddings-section.ts'
import { type Figure, figureOf, ratioOf } from './figures.ts'
import { installPeers, scratch } from './inference/peers.ts'
import { quietMoment } from './inference/quiet.ts'
import { isSmoke } from './smoke-mode.ts'

const PATIENCE_MS = 1500
const BATCHES = [1, 32] as const
const KINDS = ['queries', 'paragraphs', 'equal'] as const
/** Maximum difference of a component of two unit vectors of the same text. */
const TOLERANCE = 1e-4
/** The same for weights of 8 bits. */
const QUANTISED_TOLERANCE = 5e-3
/** The same for transformers.js, which cuts the last special token of a text that is too long. */
const CUT_TOLERANCE = 5e-3

interface Entry {
  readonly engine: EmbeddingOptions['engine']
  readonly model: 'safetensors' | 'exported' | 'static'
  readonly quantization?: EmbeddingOptions['quantization']
}

const entries: Readonly<Record<string, Entry>> = {
  svc: { engine: 'svc', model: 'safetensors' },
  'svc, 8 bits': { engine: 'svc', model: 'safetensors', quantization: 'q8' },
  'svc, from model.onnx': { engine: 'svc', model: 'exported' },
  'transformers.js': { engine: 'transformers.js', model: 'exported' },
  fastembed: { engine: 'fastembed', model: 'exported' },
  'svc, static': { engine: 'svc', model: 'static' },
  model2vec: { engine: 'model2vec', model: 'static' }
}

/** Texts per second of a contestant. */
export interface EmbeddingSpeed {
  readonly name: string
  readonly kind: keyof TextSets
  readonly batch: number
  readonly speed: Figure
  /** Milliseconds of CPU time per text. Threads of transformers.js and fastembed that wait for work use it, too. */
  readonly cpuMs: Figure
  /** Speed of svc divided by this speed, by rounds; null for svc. */
  readonly ratio: Figure | null
}

export interface EmbeddingsResult {
  readonly threads: number
  readonly results: readonly EmbeddingSpeed[]
  /** Contestants that did not run, with the reason. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: isSmoke ? '1' : '5' },
    threads: { type: 'string', default: isSmoke ? '1' : '2' },
    texts: { type: 'string', default: '64' },
    only: { type: 'string', multiple: true }
  }
})
const threads = Number(values.threads)
await installPeers()
const all = await paragraphs()
const models = await embeddingModels(all)
const running: { name: string; entry: Entry; contestant: EmbeddingContestant }[] = []
const skipped: { name: string; reason: string }[] = []
for (const [name, entry] of Object.entries(entries)) {
  if (values.only?.includes(name) === false || (isSmoke && entry.engine !== 'svc')) continue
  const contestant = await startEmbedder({
    engine: entry.engine,
    model: models[entry.model],
    threads,
    scratch,
    ...defined({ quantization: entry.quantization })
  })
  if (typeof contestant === 'string') skipped.push({ name, reason: contestant })
  else running.push({ name, entry, contestant })
}

const speeds = new Map<string, number[]>()
const cpuTimes = new Map<string, number[]>()
const keyOf = (name: string, kind: string, batch: number) => `${name} ${kind} ${batch}`
// The first round, which is not counted, compiles code and compares the vectors.
for (let round = -1; round < Number(values.rounds); round++) {
  const sets = textSets(all, Number(values.texts), round + 1)
  for (const kind of KINDS) for (const batch of BATCHES) await measure(round, kind, batch, sets[kind])
}
for (const { contestant } of running) await contestant.stop()

async function measure(round: number, kind: keyof TextSets, batch: number, texts: readonly string[]): Promise<void> {
  const expected = new Map<boolean, readonly (readonly number[])[]>()
  for (const { name, entry, contestant } of running) {
    await quietMoment(PATIENCE_MS)
    const { ms, cpuMs, vectors } = await contestant.measure({ texts, batch })
    const isStatic = entry.model === 'static'
    const first = expected.get(isStatic)
    // The tiny models of a smoke run have unlike weights.
    if (first === undefined || isSmoke) expected.set(isStatic, vectors)
    else compare(name, first, vectors, toleranceOf(name, entry))
    if (round < 0) continue
    const key = keyOf(name, kind, batch)
    speeds.set(key, [...(speeds.get(key) ?? []), (texts.length * 1000) / ms])
    cpuTimes.set(key, [...(cpuTimes.get(key) ?? []), cpuMs / texts.length])
  }
}

function toleranceOf(name: string, { quantization }: Entry): number {
  if (quantization !== undefined) return QUANTISED_TOLERANCE
  return name === 'transformers.js' ? CUT_TOLERANCE : TOLERANCE
}

function compare(
  name: string,
  first: readonly (readonly number[])[],
  vectors: readonly (readonly number[])[],
  tolerance: number
): void {
  for (const [row, vector] of vectors.entries()) {
    const difference = Math.max(...vector.map((value, at) => Math.abs(value - (first[row]?.[at] ?? Number.NaN))))
    if (!(difference <= tolerance)) throw new Error(`${name}: the vector of text ${row} differs by ${difference}`)
  }
}

const results: EmbeddingSpeed[] = []
for (const kind of KINDS) {
  for (const batch of BATCHES) {
    for (const { name, entry } of running) {
      const samples = speeds.get(keyOf(name, kind, batch)) ?? []
      const own = speeds.get(keyOf(entry.model === 'static' ? 'svc, static' : 'svc', kind, batch))
      const ratio = entry.engine === 'svc' || own === undefined ? null : ratioOf(own, samples)
      const cpuMs = figureOf(cpuTimes.get(keyOf(name, kind, batch)) ?? [])
      results.push({ name, kind, batch, speed: figureOf(samples), cpuMs, ratio })
    }
  }
}
const result: EmbeddingsResult = { threads, results, skipped }
if (values.json) console.log(JSON.stringify(result, null, 2))
else console.log(embeddingsTable(result).join('\n'))
