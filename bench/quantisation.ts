/**
 * Speed and memory of quantised weights on the CPU, against llama.cpp (the binaries of node-llama-cpp) and transformers.js
 * on the same weights: a model with the shape of Qwen2.5-0.5B and random weights, all of them different.
 *
 * Each engine runs in a process of its own, and they take turns; before each measurement a quiet moment is waited for.
 * Reading a prompt is timed as the generation of one token, decoding as what further tokens add to a short prompt; the
 * least time of all rounds counts, since other work on the machine can only add. The peers are installed on the first run
 * into .vox/bench, without their install scripts, and the models are written there too (4 GB).
 *
 * `--processor-time` counts the processor's time in place of the clock's, for machines that others use: ratios then need
 * one thread, since threads that wait for each other may spin. `--no-long` leaves the long prompt out.
 *
 *   node --import tsx --conditions=svc-source bench/quantisation.ts [--json] [--rounds N] [--threads N] [--only NAME]...
 */
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { physicalParallelism } from '../plugins/inference-onnx/src/threads.ts'
import { engines, type OpenOptions } from './inference/engines.ts'
import { exportForPeer } from './inference/export.ts'
import { type GgufType, writeGguf } from './inference/gguf.ts'
import { quietMoment } from './inference/quiet.ts'
import { halfBillionShape, writeRandomModel } from './inference/random-model.ts'

const PEERS = ['@huggingface/transformers@4.3.1', 'node-llama-cpp@3.22.1']
const PATIENCE_MS = 3000
const SHORT_PROMPT = 32
const DECODED = 32
/** The long prompt takes seconds, so it has its turn in some rounds alone. */
const LONG_EVERY = 3
const root = resolve(import.meta.dirname, '..')
const scratch = join(root, '.vox', 'bench')
const models = join(scratch, 'models')
const runDirectory = join(models, 'random-494M')

interface Measurement {
  readonly prompt: number
  readonly count: number
}

interface Contestant {
  readonly name: string
  measure(measurement: Measurement): Promise<number>
  /** Largest resident set so far, bytes. */
  peakMemory(): Promise<number>
  stop(): void
}

/** Least milliseconds. */
interface Best {
  /** For the first token after a short prompt, and for further ones with it. */
  short: number
  whole: number
  medium: number
  long: number
  memory: number
}

/** Name, engine and what it opens. */
const contestants: Readonly<Record<string, () => Promise<{ readonly engine: string; readonly options: OpenOptions }>>> =
  {
    'svc q8': async () => own('q8'),
    'svc q4': async () => own('q4'),
    'llama.cpp Q8_0': async () => llama('Q8_0'),
    'llama.cpp Q4_0': async () => llama('Q4_0'),
    'transformers.js q8': async () => transformers('q8'),
    'transformers.js q4': async () => transformers('q4')
  }

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '12' },
    threads: { type: 'string' },
    only: { type: 'string', multiple: true },
    'processor-time': { type: 'boolean', default: false },
    'no-long': { type: 'boolean', default: false }
  }
})
const threads = Number(values.threads ?? (await physicalParallelism()))

function own(quantization: 'q8' | 'q4') {
  return { engine: 'svc', options: { model: runDirectory, threads, scratch, quantization } }
}

async function llama(type: GgufType) {
  const file = join(models, `random-494M.${type}.gguf`)
  if (!existsSync(file)) await writeGguf(runDirectory, file, type)
  return { engine: 'llama.cpp', options: { model: file, threads, scratch } }
}

async function transformers(quantization: 'q8' | 'q4') {
  const model = join(models, `export-${quantization}`)
  if (!existsSync(join(model, 'generation_config.json'))) await exportForPeer(runDirectory, model, quantization)
  return { engine: 'transformers.js', options: { model, threads, scratch } }
}

async function installPeers(): Promise<void> {
  if (PEERS.every(peer => existsSync(join(scratch, 'node_modules', peer.slice(0, peer.lastIndexOf('@')))))) return
  await mkdir(scratch, { recursive: true })
  await writeFile(join(scratch, 'package.json'), '{"private":true}')
  const environment = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' }
  await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...PEERS], {
    cwd: scratch,
    env: environment
  })
}

async function start(name: string): Promise<Contestant> {
  const child = fork(fileURLToPath(import.meta.url), [], {
    env: {
      ...process.env,
      BENCH_ENGINE: JSON.stringify(await contestants[name]?.()),
      BENCH_CLOCK: values['processor-time'] ? 'processor' : 'wall'
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  })
  const reply = async () => {
    const ended = new AbortController()
    const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`${name} ended with code ${code}`)
    })
    const [message] = await Promise.race([once(child, 'message'), exit]).finally(() => {
      exit.catch(() => {})
      ended.abort()
    })
    return message as number
  }
  await reply()
  return {
    name,
    async measure(measurement) {
      if (!values['processor-time']) await quietMoment(PATIENCE_MS)
      child.send(measurement)
      return reply()
    },
    async peakMemory() {
      return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024
    },
    stop: () => void child.kill()
  }
}

/** What a child process does: opens one engine, then measures on demand. */
async function serve({ engine, options }: { engine: string; options: OpenOptions }): Promise<void> {
  const opened = await engines[engine]?.(options)
  let round = 0
  process.on('message', async ({ prompt, count }: Measurement) => {
    round++
    const tokens = Array.from({ length: prompt }, (_, i) => 10 + ((i * 7919 + round) % 30_000))
    const before = process.cpuUsage()
    const measured = await opened?.generate(tokens, count)
    const { user, system } = process.cpuUsage(before)
    process.send?.(process.env.BENCH_CLOCK === 'processor' ? (user + system) / 1000 : measured?.milliseconds)
  })
  process.send?.('ready')
}

async function main(): Promise<void> {
  await installPeers()
  if (!existsSync(join(runDirectory, 'config.json'))) {
    const tokenizer = join(root, 'plugins', 'model-server', 'models', 'vox-tiny')
    await writeRandomModel(runDirectory, tokenizer, halfBillionShape, 'BF16')
  }
  const names = Object.keys(contestants).filter(name => values.only === undefined || values.only.includes(name))
  // What is written at the first load must not count as memory of the load that is measured.
  for (const name of names) (await start(name)).stop()
  const running: Contestant[] = []
  for (const name of names) running.push(await start(name))
  const results = new Map<string, Best>()
  for (const { name } of running) {
    const infinite = Number.POSITIVE_INFINITY
    results.set(name, { short: infinite, whole: infinite, medium: infinite, long: infinite, memory: 0 })
  }
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const contestant of running) {
      const best = results.get(contestant.name) as Best
      const keep = (what: 'short' | 'whole' | 'medium' | 'long', milliseconds: number) => {
        best[what] = Math.min(best[what], milliseconds)
      }
      keep('short', await contestant.measure({ prompt: SHORT_PROMPT, count: 1 }))
      keep('whole', await contestant.measure({ prompt: SHORT_PROMPT, count: 1 + DECODED }))
      keep('medium', await contestant.measure({ prompt: 512, count: 1 }))
      // Memory is that of ordinary use: the long prompt comes after it.
      if (round === 0) best.memory = await contestant.peakMemory()
    }
    if (values['no-long'] || round % LONG_EVERY !== 0) continue
    for (const contestant of running) {
      const best = results.get(contestant.name) as Best
      best.long = Math.min(best.long, await contestant.measure({ prompt: 3840, count: 1 }))
    }
  }
  for (const contestant of running) contestant.stop()
  report(results)
}

function report(results: ReadonlyMap<string, Best>): void {
  const rates = [...results].map(([name, best]) => ({
    name,
    decode: (DECODED / (best.whole - best.short)) * 1000,
    prompt512: (512 / best.medium) * 1000,
    prompt3840: (3840 / best.long) * 1000,
    megabytes: best.memory / 1e6
  }))
  if (values.json) {
    console.log(JSON.stringify({ threads, results: rates }, null, 2))
    return
  }
  console.log('| engine | decode, tokens/s | prompt of 512, tokens/s | prompt of 3,840, tokens/s | peak memory, MB |')
  console.log('|---|---|---|---|---|')
  for (const { name, decode, prompt512, prompt3840, megabytes } of rates) {
    const whole = [prompt512, prompt3840, megabytes].map(value => Math.round(value))
    console.log(`| ${[name, decode.toFixed(1), ...whole].join(' | ')} |`)
  }
}

const engine = process.env.BENCH_ENGINE
await (engine === undefined ? main() : serve(JSON.parse(engine)))
