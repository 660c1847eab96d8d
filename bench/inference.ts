/**
 * Tokens per second on CPU: this engine against transformers.js, the same weights in F32 and the same operators. As exports
 * for it do, the peer's graph computes logits of every position; this engine's those of the last alone.
 *
 * Each engine runs in a process of its own, and they take turns. Reading the prompt is timed as the generation of one
 * token, decoding as what further tokens add to that; the least time of all rounds counts, since other work on the
 * machine can only add. Before each measurement all threads come to rest: the peer's go on for tens of milliseconds after
 * an answer, and would take the cores from the engine whose turn is next.
 * transformers.js is installed on the first run into .vox/bench, without its install scripts (it is no dependency).
 *
 *   node --import tsx --conditions=svc-source bench/inference.ts [--json] [--rounds N] [--threads N] [--only vox-tiny]
 */
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { physicalParallelism } from '../plugins/inference-onnx/src/threads.ts'
import { engines, type Measured, type OpenOptions } from './inference/engines.ts'
import { exportForPeer } from './inference/export.ts'
import { writeRandomModel } from './inference/random-model.ts'

/** Milliseconds before a measurement; the peer's threads were seen to spin for up to 50 after an answer. */
const REST = 150
const PEER = '@huggingface/transformers@4.3.1'
const root = resolve(import.meta.dirname, '..')
const bundled = join(root, 'plugins', 'model-server', 'models', 'vox-tiny')

const cases = [
  { model: 'vox-tiny', prompt: 256, decoded: 128 },
  { model: 'random 88M', prompt: 256, decoded: 24 }
] as const

interface Request {
  readonly prompt: readonly number[]
  readonly count: number
}

interface Engine {
  readonly name: string
  measure(request: Request): Promise<Measured>
  stop(): void
}

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

/** Least milliseconds of all rounds. */
interface Best {
  /** For the first token, which is reading the prompt. */
  prompt: number
  /** For prompt and all tokens. */
  whole: number
  tokens: string
}

const reading = (best: Best) => best.prompt
const decoding = (best: Best) => best.whole - best.prompt

async function installPeer(): Promise<string> {
  const scratch = join(root, '.vox', 'bench')
  if (existsSync(join(scratch, 'node_modules', '@huggingface', 'transformers'))) return scratch
  await mkdir(scratch, { recursive: true })
  await writeFile(join(scratch, 'package.json'), '{"private":true}')
  const environment = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' }
  await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', PEER], {
    cwd: scratch,
    env: environment
  })
  return scratch
}

async function start(name: string, options: OpenOptions): Promise<Engine> {
  const child = fork(fileURLToPath(import.meta.url), [], {
    env: { ...process.env, BENCH_ENGINE: JSON.stringify({ name, options }) }
  })
  const reply = async (): Promise<unknown> => {
    const ended = new AbortController()
    const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`${name} ended with code ${code}`)
    })
    const [message] = await Promise.race([once(child, 'message'), exit]).finally(() => {
      exit.catch(() => {})
      ended.abort()
    })
    return message
  }
  await reply()
  return {
    name,
    async measure(request) {
      await pause(REST)
      child.send(request)
      return (await reply()) as Measured
    },
    stop: () => void child.kill()
  }
}

/** What a child process does: opens one engine, then measures on demand. */
async function serve({ name, options }: { name: string; options: OpenOptions }): Promise<void> {
  const engine = await engines[name]?.(options)
  process.on('message', async ({ prompt, count }: Request) => {
    process.send?.(await engine?.generate(prompt, count))
  })
  process.send?.('ready')
}

async function compare(
  model: (typeof cases)[number],
  rounds: number,
  threads: number,
  scratch: string,
  folder: string
): Promise<Result> {
  const runDirectory = model.model === 'vox-tiny' ? bundled : join(folder, 'random')
  if (!existsSync(runDirectory)) await writeRandomModel(runDirectory, bundled)
  const exported = join(folder, 'export', model.model.replaceAll(' ', '-'))
  await exportForPeer(runDirectory, exported)
  const running = [
    await start('svc', { model: runDirectory, threads, scratch }),
    await start('transformers.js', { model: exported, threads, scratch })
  ]
  const prompt = Array.from({ length: model.prompt }, (_, i) => 10 + ((i * 7919) % 1900))
  const best = new Map<string, Best>(
    running.map(({ name }) => [name, { prompt: Infinity, whole: Infinity, tokens: '' }])
  )
  for (let round = 0; round < rounds; round++) {
    for (const engine of running) {
      const one = await engine.measure({ prompt, count: 1 })
      const many = await engine.measure({ prompt, count: 1 + model.decoded })
      const record = best.get(engine.name)
      if (record === undefined) continue
      record.prompt = Math.min(record.prompt, one.milliseconds)
      record.whole = Math.min(record.whole, many.milliseconds)
      record.tokens = many.tokens.join()
    }
  }
  for (const engine of running) engine.stop()
  const [own, peer] = [best.get('svc'), best.get('transformers.js')]
  if (own === undefined || peer === undefined) throw new Error('an engine did not answer')
  const perSecond = (tokens: number, time: (best: Best) => number) =>
    Object.fromEntries([...best].map(([name, record]) => [name, (tokens / time(record)) * 1000]))
  return {
    model: model.model,
    promptTokens: model.prompt,
    promptPerSecond: perSecond(model.prompt, reading),
    decodePerSecond: perSecond(model.decoded, decoding),
    promptRatio: reading(peer) / reading(own),
    decodeRatio: decoding(peer) / decoding(own),
    sameTokens: own.tokens === peer.tokens
  }
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
  const scratch = await installPeer()
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  try {
    const results: Result[] = []
    for (const each of cases) {
      if (values.only !== undefined && values.only !== each.model) continue
      results.push(await compare(each, Number(values.rounds), threads, scratch, folder))
    }
    if (values.json) console.log(JSON.stringify({ peer: PEER, threads, results }, null, 2))
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

const engine = process.env.BENCH_ENGINE
await (engine === undefined ? main() : serve(JSON.parse(engine)))
