/**
 * Speed of decoders on a GPU, with known shapes and random weights: decoding at several batch sizes, and reading a
 * prompt. Bare runs and the whole engine are measured, and compared with the memory bandwidth and with transformers.
 *
 *   node --import tsx --conditions=svc-source bench/gpu/main.ts --shape tiny --device cpu
 *
 * README.md in this folder describes how to measure on a machine without a network.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { Devices } from '../../plugins/inference-onnx/src/device/devices.ts'
import { OnnxEngine } from '../../plugins/inference-onnx/src/engine.ts'
import { findLibrary, ownRequire } from '../../plugins/inference-onnx/src/ort/library.ts'
import { physicalParallelism } from '../../plugins/inference-onnx/src/threads.ts'
import { writeRandomModel } from '../inference/random-model.ts'
import { type BareDecoder, type Decoded, openDecoder } from './decoder.ts'
import { numbersPerPosition, shapes, weightsRead } from './shapes.ts'

const { values: options } = parseArgs({
  options: {
    shape: { type: 'string', multiple: true, default: ['0.5b', '7b'] },
    device: { type: 'string', default: 'cuda' },
    batches: { type: 'string', default: '1,8,64' },
    prefill: { type: 'string', default: '2048' },
    context: { type: 'string', default: '128' },
    steps: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '5' },
    /** Memory bandwidth in GB/s; default: the vendor's value, if known. */
    bandwidth: { type: 'string' },
    folder: { type: 'string', default: '.vox/bench/gpu' },
    /** Folder into which `svc gpu install` has installed the CUDA provider. */
    'gpu-library-directory': { type: 'string', default: '.vox/gpu' },
    /** Folder with a tokenizer. */
    tokenizer: { type: 'string', default: 'plugins/model-server/models/vox-tiny' },
    python: { type: 'string', default: 'python3' },
    'no-peer': { type: 'boolean', default: false },
    /** Whether PyTorch compiles its steps, which takes minutes. */
    'compile-peer': { type: 'boolean', default: false },
    'no-engine': { type: 'boolean', default: false },
    json: { type: 'string' }
  }
})

/** Memory bandwidth by GPU model in GB/s, as stated by its vendor. */
const BANDWIDTHS: readonly (readonly [model: RegExp, bandwidth: number])[] = [
  [/H200/, 4800],
  [/H100.*(HBM3|SXM)/, 3350],
  [/H100/, 2000],
  [/A100.*80/, 2039],
  [/A100/, 1555],
  [/L4\b/, 300]
]

const bytesPerNumber = { float32: 4, float16: 2, bfloat16: 2 } as const
const batches = options.batches.split(',').map(Number)
const [prefill, context, steps, rounds] = [options.prefill, options.context, options.steps, options.rounds].map(
  Number
) as [number, number, number, number]
const folder = resolve(options.folder)
const libraryDirectory = resolve(options['gpu-library-directory'])
const cacheDirectory = join(folder, 'cache')
const threads = await physicalParallelism()

interface Rate {
  readonly batch: number
  /**
   * Median of the runs, including the copy of the argmax to the host. On a GPU, runs are captured and replayed if
   * possible.
   */
  readonly runMs: number
  /** Median without graph capture; null on the CPU. */
  readonly uncapturedMs: number | null
  /** Share of argmax tokens that are the same with and without graph capture; null on the CPU. */
  readonly sameUncaptured: number | null
  readonly tokensPerSecond: number
  /** Share of the speed that the memory bandwidth allows; null if the bandwidth is unknown. */
  readonly ofBandwidth: number | null
  readonly engineTokensPerSecond: number | null
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

async function measureShape(name: string, bandwidth: number | null) {
  const shape = shapes[name]
  if (shape === undefined) throw new Error(`unknown shape ${name}; use one of ${Object.keys(shapes).join(', ')}`)
  const runDirectory = join(folder, name)
  if (!existsSync(join(runDirectory, 'model.safetensors'))) {
    say(`${name}: writing random weights`)
    await writeRandomModel(runDirectory, resolve(options.tokenizer), shape, 'BF16')
  }
  const peer = options['no-peer'] ? { skipped: '--no-peer' } : await measurePeer(runDirectory)
  say(`${name}: loading`)
  const contextLength = Math.min(4096, Math.max(prefill, context + steps + Math.max(...batches)))
  const slots = Math.max(...batches)
  const { device } = options
  const open = (graphs: 'on' | 'off') =>
    openDecoder({
      devices: openDevices(graphs),
      device,
      runDirectory,
      cacheDirectory,
      threads,
      slots,
      contextLength,
      chunk: prefill
    })
  const decoder = await open('on')
  const prefillMs = await minPrefillMs(decoder)
  say(`${name}: prefill ${prefill}: ${prefillMs.toFixed(1)} ms`)
  const replayed = await decodeAll(decoder)
  const opened = { device: decoder.device, precision: decoder.precision }
  await decoder.close()
  const plain = opened.device === 'cpu' ? null : await decodeWith(await open('off'))
  const bare: Rate[] = []
  for (const [index, batch] of batches.entries()) {
    const [runs, others] = [replayed[index] as Decoded, plain?.[index] ?? null]
    const runMs = median(runs.times)
    const uncapturedMs = others === null ? null : median(others.times)
    const same = others === null ? null : shareOfSame(runs.argmax, others.argmax)
    const numbers = weightsRead(shape) + batch * (context + steps / 2) * numbersPerPosition(shape)
    const minMs = bandwidth === null ? null : (numbers * bytesPerNumber[opened.precision]) / (bandwidth * 1e6)
    bare.push({
      batch,
      runMs,
      uncapturedMs,
      sameUncaptured: same,
      tokensPerSecond: (1000 * batch) / runMs,
      ofBandwidth: minMs === null ? null : minMs / runMs,
      engineTokensPerSecond: null
    })
    const without = uncapturedMs === null ? '' : `, ${uncapturedMs.toFixed(3)} ms uncaptured`
    say(
      `${name}: batch ${batch}: ${runMs.toFixed(3)} ms per run${without}, ${((1000 * batch) / runMs).toFixed(0)} tokens/s`
    )
  }
  const rates = options['no-engine'] ? [] : await measureEngine(runDirectory, slots, contextLength)
  const decoded = bare.map((row, index) => ({ ...row, engineTokensPerSecond: rates[index] ?? null }))
  const { decodeMs: peerMs } = peer as { readonly decodeMs?: Readonly<Record<string, number>> }
  const toPeer = Object.fromEntries(
    decoded.flatMap(({ batch, runMs }) => (peerMs?.[batch] === undefined ? [] : [[batch, peerMs[batch] / runMs]]))
  )
  return { shape: name, ...opened, prefillTokens: prefill, prefillMs, decoded, peer, toPeer }
}

async function minPrefillMs(decoder: BareDecoder): Promise<number> {
  let min = Number.POSITIVE_INFINITY
  for (let round = 0; round <= rounds; round++) min = Math.min(min, await decoder.prefill(prefill))
  return min
}

async function decodeAll(decoder: BareDecoder): Promise<Decoded[]> {
  const decoded: Decoded[] = []
  for (const batch of batches) {
    await decoder.decode(batch, context, Math.min(steps, 8))
    decoded.push(await decoder.decode(batch, context, steps))
  }
  return decoded
}

async function decodeWith(decoder: BareDecoder): Promise<Decoded[]> {
  const decoded = await decodeAll(decoder)
  await decoder.close()
  return decoded
}

function shareOfSame(some: readonly number[], others: readonly number[]): number {
  return some.filter((token, index) => token === others[index]).length / some.length
}

/** Measures tokens per second through the engine for each batch size, while all sequences of the batch are decoded. */
async function measureEngine(runDirectory: string, slots: number, maxContext: number): Promise<number[]> {
  const engine = new OnnxEngine({ cacheDirectory, gpu: { libraryDirectory, graphs: 'on' }, threads, speculation: 0 })
  const { device } = options
  const model = await engine.load({ runDirectory, device, slots, maxContext, quantization: 'none' })
  /** Sends a request and returns the arrival times of its tokens. */
  const request = async (seed: number, batch: number) => {
    const tokens = Array.from({ length: context }, (_, index) => 10 + (((index + seed * 131) * 7919) % 1900))
    // On a GPU, a round reads one prompt: the first sequence generates `batch` tokens before the last one begins.
    const settings = { maxTokens: 1 + steps + batch, ignoreEos: true, sampling: { temperature: 0 }, reusePrefix: false }
    const times: { readonly at: number; readonly tokens: number }[] = []
    for await (const event of model.generate({ tokens, ...settings })) {
      if (event.type === 'text') times.push({ at: performance.now(), tokens: event.tokens.length })
    }
    return times
  }
  const rates: number[] = []
  for (const batch of batches) {
    let best = 0
    for (let round = 0; round <= rounds; round++) {
      const sequences = await Promise.all(Array.from({ length: batch }, (_, seed) => request(seed, batch)))
      const start = Math.max(...sequences.map(times => times[0]?.at ?? 0))
      const end = Math.min(...sequences.map(times => times.at(-1)?.at ?? 0))
      const between = sequences.flat().filter(({ at }) => at > start && at <= end)
      const count = between.reduce((sum, { tokens }) => sum + tokens, 0)
      if (end > start) best = Math.max(best, (1000 * count) / (end - start))
    }
    rates.push(best)
    say(`engine, batch ${batch}: ${best.toFixed(0)} tokens/s`)
  }
  await model.close()
  await engine.close()
  return rates
}

async function measurePeer(runDirectory: string): Promise<Readonly<Record<string, unknown>>> {
  const script = process.env.GPU_BENCH_PEER ?? join(import.meta.dirname, 'peer.py')
  const numbers = [options.batches, prefill, context, steps, rounds].map(String)
  if (options['compile-peer']) numbers.push('compile')
  const device = options.device === 'cuda' ? 'cuda:0' : options.device
  try {
    const { stdout } = await promisify(execFile)(options.python, [script, runDirectory, device, ...numbers], {
      maxBuffer: 2 ** 24
    })
    return JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1)) as Readonly<Record<string, unknown>>
  } catch (error) {
    return { skipped: (error as Error).message.split('\n')[0] }
  }
}

function openDevices(graphs: 'on' | 'off'): Devices {
  return new Devices({
    libraryDirectory,
    require: ownRequire(),
    core: findLibrary(ownRequire()),
    native: true,
    graphs,
    onFallback: say
  })
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

await mkdir(cacheDirectory, { recursive: true })
const gpu = (await openDevices('off').survey()).driver?.gpus[0] ?? null
const known = BANDWIDTHS.find(([model]) => gpu !== null && model.test(gpu.model))?.[1] ?? null
const onGpu = options.device.startsWith('cuda')
const bandwidth = options.bandwidth === undefined ? (onGpu ? known : null) : Number(options.bandwidth)
const results: Awaited<ReturnType<typeof measureShape>>[] = []
for (const name of options.shape) results.push(await measureShape(name, bandwidth))
const report = { node: process.version, cpu: cpus()[0]?.model, threads, gpu, bandwidthGBps: bandwidth, results }
const text = JSON.stringify(report, null, 2)
if (options.json === undefined) process.stdout.write(`${text}\n`)
else await writeFile(options.json, `${text}\n`)
