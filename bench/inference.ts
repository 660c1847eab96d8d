/**
 * Tokens per second on the CPU: this engine against transformers.js, with the same F32 weights and operators. The
 * peer's graph computes logits of every position, as its exports do; this engine computes only those of the last.
 *
 * Each engine runs in a separate process, and rounds alternate between them. The time to the first token counts as
 * reading the prompt, the rest as decoding. The median of all rounds is reported. Each measurement waits until all
 * threads are idle: threads of the peer spin for tens of milliseconds after an answer, which would slow the other
 * engine down.
 *
 *   node --import tsx --conditions=svc-source bench/inference.ts [--json] [--rounds N] [--threads N] [--only vox-tiny]
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { physicalParallelism } from '../plugins/inference-onnx/src/threads.ts'
import { type Figure, figureOf, ratioOf, withRange } from './figures.ts'
import { startContestant } from './inference/contestant.ts'
import { exportForPeer } from './inference/export.ts'
import { bundledModel, installPeers, peers, scratch } from './inference/peers.ts'
import { promptTokens } from './inference/prompt.ts'
import { writeRandomModel } from './inference/random-model.ts'
import { isSmoke } from './smoke-mode.ts'

/** Delay before a measurement: threads of the peer spin for up to 50 ms after an answer. */
const REST_MS = isSmoke ? 0 : 150
/** Number of token ids that exist in both models. */
const VOCABULARY = 1910

const cases = [
  { model: 'vox-tiny', prompt: 256, decoded: 128 },
  { model: 'random 88M', prompt: 256, decoded: 24 }
] as const

export interface Result {
  readonly model: string
  readonly promptTokens: number
  readonly promptPerSecond: Readonly<Record<string, Figure>>
  readonly decodePerSecond: Readonly<Record<string, Figure>>
  /** Ratio of this engine to the peer, by round; null without a peer. */
  readonly promptRatio: Figure | null
  readonly decodeRatio: Figure | null
  /** Whether both engines generated the same tokens. */
  readonly sameTokens: boolean
}

/** Tokens per second of each round. */
interface Samples {
  readonly prompt: number[]
  readonly token: number[]
  tokens: string
}

async function compare(
  model: (typeof cases)[number],
  rounds: number,
  threads: number,
  folder: string
): Promise<Result> {
  const runDirectory = model.model === 'vox-tiny' ? bundledModel : join(folder, 'random')
  if (!existsSync(runDirectory)) await writeRandomModel(runDirectory, bundledModel)
  const start = (engine: string, model: string) =>
    startContestant(engine, { engine, options: { model, threads, scratch } })
  const own = { name: 'svc', engine: await start('svc', runDirectory), samples: nothing() }
  const peer = isSmoke ? null : await openPeer(runDirectory, join(folder, 'export', model.model.replaceAll(' ', '-')))
  const contestants = peer === null ? [own] : [own, peer]
  const prompt = promptTokens(model.prompt, 0, VOCABULARY)
  for (let round = 0; round < rounds; round++) {
    for (const { engine, samples } of contestants) {
      await pause(REST_MS)
      const { firstMs, tokenMs, tokens } = await engine.measure(prompt, 1 + model.decoded)
      samples.prompt.push((model.prompt / firstMs) * 1000)
      samples.token.push(1000 / tokenMs)
      samples.tokens = tokens.join()
    }
  }
  for (const { engine } of contestants) await engine.stop()
  const perSecond = (of: 'prompt' | 'token') =>
    Object.fromEntries(contestants.map(({ name, samples }) => [name, figureOf(samples[of])]))
  const toPeer = (of: 'prompt' | 'token') => (peer === null ? null : ratioOf(own.samples[of], peer.samples[of]))
  return {
    model: model.model,
    promptTokens: model.prompt,
    promptPerSecond: perSecond('prompt'),
    decodePerSecond: perSecond('token'),
    promptRatio: toPeer('prompt'),
    decodeRatio: toPeer('token'),
    sameTokens: peer === null || own.samples.tokens === peer.samples.tokens
  }

  async function openPeer(from: string, exported: string) {
    await exportForPeer(from, exported)
    return { name: 'transformers.js', engine: await start('transformers.js', exported), samples: nothing() }
  }
}

function nothing(): Samples {
  return { prompt: [], token: [], tokens: '' }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '8' },
      threads: { type: 'string' },
      only: { type: 'string' }
    }
  })
  const threads = Number(values.threads ?? (await physicalParallelism()))
  await installPeers()
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  try {
    const results: Result[] = []
    for (const each of cases) {
      if (values.only !== undefined && values.only !== each.model) continue
      results.push(await compare(each, Number(values.rounds), threads, folder))
    }
    if (values.json) console.log(JSON.stringify({ peer: peers.transformers, threads, results }, null, 2))
    else for (const result of results) print(result)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function print(result: Result): void {
  console.log(
    `${result.model}, prompt of ${result.promptTokens} tokens, ${result.sameTokens ? 'same' : 'DIFFERENT'} tokens`
  )
  for (const [what, rates, ratio] of [
    ['prompt', result.promptPerSecond, result.promptRatio],
    ['decode', result.decodePerSecond, result.decodeRatio]
  ] as const) {
    const each = Object.entries(rates).map(([name, rate]) => `${name} ${withRange(rate)}`)
    console.log(
      `  ${what.padEnd(8)}${each.join(' tokens/s, ')} tokens/s${ratio === null ? '' : `: ${withRange(ratio, 'x')}`}`
    )
  }
}

await main()
