import { join } from 'node:path'
import { CachePool } from '../../plugins/inference-onnx/src/batching/cache-pool.ts'
import type { Span } from '../../plugins/inference-onnx/src/batching/frame.ts'
import { DecoderSession } from '../../plugins/inference-onnx/src/decoder-session.ts'
import type { Devices } from '../../plugins/inference-onnx/src/device/devices.ts'
import { precisionOf } from '../../plugins/inference-onnx/src/device/precision.ts'
import { parseModelConfig } from '../../plugins/inference-onnx/src/model-config.ts'
import { buildDecoder } from '../../plugins/inference-onnx/src/onnx/decoder.ts'
import type { Precision } from '../../plugins/inference-onnx/src/onnx/graph.ts'
import { ownRequire } from '../../plugins/inference-onnx/src/ort/library.ts'
import { openRuntime } from '../../plugins/inference-onnx/src/ort/open.ts'
import { readRunDirectory } from '../../plugins/inference-onnx/src/run-directory.ts'
import { argmax } from '../../plugins/inference-onnx/src/sampling/logits.ts'
import { prepareWeights } from '../../plugins/inference-onnx/src/weights/prepare.ts'

export interface DecoderOptions {
  readonly devices: Devices
  readonly device: string
  readonly runDirectory: string
  readonly cacheDirectory: string
  readonly threads: number
  readonly slots: number
  readonly contextLength: number
  /** Maximum number of prompt tokens per run. */
  readonly chunk: number
}

/** Decoder without a scheduler, to measure only the cost of runs. */
export interface BareDecoder {
  readonly device: string
  readonly precision: Precision
  /** Reads a prompt and copies its last logits to the host. Returns the milliseconds. */
  prefill(length: number): Promise<number>
  /**
   * Runs `steps` times; each run adds a token to `batch` sequences of `context` tokens. All decoders get the same
   * tokens.
   */
  decode(batch: number, context: number, steps: number): Promise<Decoded>
  close(): Promise<void>
}

export interface Decoded {
  /** Milliseconds of each run. */
  readonly times: readonly number[]
  /** Argmax of each sequence after each run. */
  readonly argmax: readonly number[]
}

export async function openDecoder(options: DecoderOptions): Promise<BareDecoder> {
  const { runDirectory, threads, slots, contextLength, chunk } = options
  const directory = await readRunDirectory(runDirectory, { adapter: false })
  const config = parseModelConfig(join(runDirectory, 'config.json'), directory.configuration, directory.generation)
  const host = openRuntime('native', ownRequire(), () => {})
  const device = await options.devices.open(options.device)
  const runtime = device.runtime ?? host
  const precision = precisionOf(device.id, 'BF16', 'auto')
  const prepared = await prepareWeights({
    directory,
    config,
    digest: `gpu-bench-${runDirectory}`,
    quantization: 'none',
    keepHalf: precision !== 'float32',
    runtime: host,
    threads,
    cacheDirectory: options.cacheDirectory,
    onProgress: () => {},
    onUncached: () => {}
  })
  const session = await runtime.createSession({
    model: buildDecoder(config, prepared.weights, contextLength, {
      precision,
      fusedProducts: device.id !== 'webgpu',
      argmax: device.id !== 'cpu'
    }),
    weights: prepared.external,
    threads
  })
  const cache = new CachePool({ runtime, config, slots, contextLength, precision })
  const onDevice = device.id !== 'cpu'
  const decoder = new DecoderSession({ runtime, session, config, cache, chunk, logitRows: slots, argmax: onDevice })
  let token = 0
  const next = () => 10 + ((token++ * 7919) % (config.vocabularySize - 10))

  const read = async (row: number, length: number): Promise<void> => {
    for (let position = 0; position < length; position += chunk) {
      const tokens = Array.from({ length: Math.min(chunk, length - position) }, next)
      await decoder.run({ row, spans: [{ tokens, position }], wanted: 'last' })
    }
  }
  /** Returns the argmax of each sequence, computed on the device or the host as for greedy requests. */
  const choose = async (spans: readonly Span[]): Promise<readonly number[]> => {
    if (decoder.computesArgmax) return decoder.runForArgmax({ row: 0, spans })
    const logits = await decoder.run({ row: 0, spans, wanted: 'last' })
    const size = config.vocabularySize
    return spans.map((_, row) => argmax(logits.subarray(row * size, (row + 1) * size)))
  }
  const timed = async (run: () => Promise<unknown>): Promise<number> => {
    const start = performance.now()
    await run()
    return performance.now() - start
  }
  return {
    device: device.id,
    precision,
    async prefill(length) {
      await decoder.reserve(length, [])
      return timed(() => read(0, length))
    },
    async decode(batch, context, steps) {
      await decoder.reserve(context + steps, [])
      token = 0
      for (let row = 0; row < batch; row++) await read(row, context)
      const times: number[] = []
      const chosen: number[] = []
      for (let step = 0; step < steps; step++) {
        const spans = Array.from({ length: batch }, () => ({ tokens: [next()], position: context + step }))
        times.push(
          await timed(async () => {
            chosen.push(...(await choose(spans)))
          })
        )
      }
      return { times, argmax: chosen }
    },
    async close() {
      await decoder.close()
      await device.runtime?.close()
      await host.close()
    }
  }
}
