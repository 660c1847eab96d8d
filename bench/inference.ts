/**
 * Tokens per second on CPU: this engine against transformers.js, the same weights in F32 and the same operators. As exports
 * for it do, the peer's graph computes logits of every position; this engine's those of the last alone.
 *
 * Each engine runs in a process of its own, and they take turns. The time to the first token is reading the prompt, what
 * further tokens take is decoding; the least time of all rounds counts, since other work on the machine can only add. Before
 * each measurement all threads come to rest: the peer's go on for tens of milliseconds after an answer, and would take the
 * cores from the engine whose turn is next.
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
import { startContestant } from './inference/contestant.ts'
import { exportForPeer } from './inference/export.ts'
import { bundledModel, installPeers, peers, scratch } from './inference/peers.ts'
import { promptTokens } from './inference/prompt.ts'
import { writeRandomModel } from './inference/random-model.ts'

/** Milliseconds before a measurement; the peer's threads were seen to spin for up to 50 after an answer. */
const REST = 150
/** Ids below it are tokens of both models. */
const VOCABULARY = 1910

const cases = [
  { model: 'vox-tiny', prompt: 256, decoded: 128 },
  { model: 'random 88M', prompt: 256, decoded: 24 }
] as const

export interface Result {
  readonly model: string
  readonly promptTokens: number
  readonly promptPerSecond: Readonly<Record<string, number>>
  readonly decodePerSecond: Readonly<Record<string, number>>
  /** This engine over the peer. */
  readonly promptRatio: number
  readonly decodeRatio: number
  /** Whether both generated the same tokens. */
  readonly sameTokens: boolean
}

/** Least milliseconds of all rounds: of reading the prompt, and of each further token. */
interface Best {
  prompt: number
  token: number
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
  const exported = join(folder, 'export', model.model.replaceAll(' ', '-'))
  await exportForPeer(runDirectory, exported)
  const start = (engine: string, model: string) =>
    startContestant(engine, { engine, options: { model, threads, scratch } })
  const own = { engine: await start('svc', runDirectory), best: nothing() }
  const peer = { engine: await start('transformers.js', exported), best: nothing() }
  const prompt = promptTokens(model.prompt, 0, VOCABULARY)
  for (let round = 0; round < rounds; round++) {
    for (const { engine, best } of [own, peer]) {
      await pause(REST)
      const { firstMs, tokenMs, tokens } = await engine.measure(prompt, 1 + model.decoded)
      best.prompt = Math.min(best.prompt, firstMs)
      best.token = Math.min(best.token, tokenMs)
      best.tokens = tokens.join()
    }
  }
  for (const { engine } of [own, peer]) await engine.stop()
  const perSecond = (rate: (best: Best) => number) => ({ svc: rate(own.best), 'transformers.js': rate(peer.best) })
  return {
    model: model.model,
    promptTokens: model.prompt,
    promptPerSecond: perSecond(best => (model.prompt / best.prompt) * 1000),
    decodePerSecond: perSecond(best => 1000 / best.token),
    promptRatio: peer.best.prompt / own.best.prompt,
    decodeRatio: peer.best.token / own.best.token,
    sameTokens: own.best.tokens === peer.best.tokens
  }
}

function nothing(): Best {
  return { prompt: Number.POSITIVE_INFINITY, token: Number.POSITIVE_INFINITY, tokens: '' }
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
    `${result.model}, prompt of ${result.promptTokens} tokens, ${result.sameTokens ? 'same' : 'OTHER'} tokens`
  )
  for (const [what, rates, ratio] of [
    ['prompt', result.promptPerSecond, result.promptRatio],
    ['decode', result.decodePerSecond, result.decodeRatio]
  ] as const) {
    const each = Object.entries(rates).map(([name, rate]) => `${name} ${rate.toFixed(1)}`)
    console.log(`  ${what.padEnd(8)}${each.join(' tokens/s, ')} tokens/s: ${ratio.toFixed(2)}x`)
  }
}

await main()
