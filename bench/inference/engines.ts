import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type { Quantization } from '@svc/contracts'
import { OnnxEngine } from '../../plugins/inference-onnx/src/engine.ts'
import { llamaContext } from './llama.ts'
import { type Measured, Stopwatch } from './stopwatch.ts'

/** Engine that generates greedily and ignores end tokens. */
export interface Peer {
  /** `reusePrefix`: keeps what earlier prompts have in common; only for this engine, default false. */
  generate(prompt: readonly number[], count: number, reusePrefix?: boolean): Promise<Measured>
}

export interface OpenOptions {
  /** Path of a run directory, an export, or a GGUF file. */
  readonly model: string
  readonly threads: number
  /** Only for this engine (the other formats contain it); default `none`. */
  readonly quantization?: Quantization
  /** Only for this engine; default: the engine decides. */
  readonly slots?: number
  /** Only for llama.cpp; default true. */
  readonly mapFile?: boolean
  /** Folder of caches, and of node_modules with the peers. */
  readonly scratch: string
}

async function openOwn({ model, threads, scratch, quantization = 'none', slots }: OpenOptions): Promise<Peer> {
  const engine = new OnnxEngine({ cacheDirectory: join(scratch, 'cache'), threads, speculation: 0 })
  const loaded = await engine.load({ runDirectory: model, quantization, ...(slots && { slots }) })
  return {
    async generate(prompt, count, reusePrefix = false) {
      const stopwatch = new Stopwatch()
      const sampling = { temperature: 0 }
      const request = { tokens: prompt, maxTokens: count, ignoreEos: true, reusePrefix, sampling }
      for await (const event of loaded.generate(request)) if (event.type === 'text') stopwatch.add(...event.tokens)
      return stopwatch.read()
    }
  }
}

/** Part of @huggingface/transformers that is used. */
interface Transformers {
  readonly env: { allowRemoteModels: boolean; localModelPath: string }
  readonly AutoModelForCausalLM: {
    from_pretrained(name: string, options: object): Promise<{ generate(options: object): Promise<unknown> }>
  }
  readonly Tensor: new (type: string, data: BigInt64Array, shape: number[]) => unknown
}

async function openTransformers({ model, threads, scratch }: OpenOptions): Promise<Peer> {
  const require = createRequire(join(scratch, 'package.json'))
  const { env, AutoModelForCausalLM, Tensor } = require('@huggingface/transformers') as Transformers
  env.allowRemoteModels = false
  env.localModelPath = dirname(model)
  const loaded = await AutoModelForCausalLM.from_pretrained(basename(model), {
    dtype: 'fp32',
    device: 'cpu',
    use_external_data_format: true,
    session_options: { intraOpNumThreads: threads }
  })
  return {
    async generate(prompt, count) {
      const tensor = (value: (token: number) => number) =>
        new Tensor(
          'int64',
          BigInt64Array.from(prompt, token => BigInt(value(token))),
          [1, prompt.length]
        )
      const stopwatch = new Stopwatch()
      let isPrompt = true
      const put = ([tokens = []]: readonly (readonly bigint[])[]) => {
        if (!isPrompt) stopwatch.add(...tokens.map(Number))
        isPrompt = false
      }
      await loaded.generate({
        inputs: tensor(token => token),
        attention_mask: tensor(() => 1),
        max_new_tokens: count,
        do_sample: false,
        streamer: { put, end: () => {} }
      })
      return stopwatch.read()
    }
  }
}

async function openLlama({ model, threads, scratch, mapFile = true }: OpenOptions): Promise<Peer> {
  const context = await llamaContext({ model, threads, scratch, mapFile, sequences: 1, contextSize: 4096 })
  const sequence = context.getSequence()
  return {
    async generate(prompt, count) {
      await sequence.clearHistory()
      const stopwatch = new Stopwatch()
      for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
        stopwatch.add(token)
        if (stopwatch.count === count) break
      }
      return stopwatch.read()
    }
  }
}

export const engines: Readonly<Record<string, (options: OpenOptions) => Promise<Peer>>> = {
  svc: openOwn,
  'transformers.js': openTransformers,
  'llama.cpp': openLlama
}
