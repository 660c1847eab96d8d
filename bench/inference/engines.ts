import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Quantization } from '@svc/contracts'
import { OnnxEngine } from '../../plugins/inference-onnx/src/engine.ts'

/** One measurement: greedy, without end tokens. */
export interface Measured {
  readonly tokens: readonly number[]
  readonly milliseconds: number
}

export interface Peer {
  generate(prompt: readonly number[], count: number): Promise<Measured>
}

export interface OpenOptions {
  /** Run directory, or its export, or a GGUF file. */
  readonly model: string
  readonly threads: number
  /** For this engine alone; the others' files say it. Default `none`. */
  readonly quantization?: Quantization
  /** Folder with node_modules for what is not installed here, and with room for caches. */
  readonly scratch: string
}

async function openOwn({ model, threads, scratch, quantization = 'none' }: OpenOptions): Promise<Peer> {
  const engine = new OnnxEngine({ cacheDirectory: join(scratch, 'cache'), threads, speculation: 0 })
  const loaded = await engine.load({ runDirectory: model, quantization })
  return {
    async generate(prompt, count) {
      const tokens: number[] = []
      const start = performance.now()
      const sampling = { temperature: 0 }
      const request = { tokens: prompt, maxTokens: count, ignoreEos: true, reusePrefix: false, sampling }
      for await (const event of loaded.generate(request)) if (event.type === 'text') tokens.push(...event.tokens)
      return { tokens, milliseconds: performance.now() - start }
    }
  }
}

/** What is used of @huggingface/transformers. */
interface Transformers {
  readonly env: { allowRemoteModels: boolean; localModelPath: string }
  readonly AutoModelForCausalLM: {
    from_pretrained(
      name: string,
      options: object
    ): Promise<{ generate(options: object): Promise<{ tolist(): bigint[][] }> }>
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
      const start = performance.now()
      const output = await loaded.generate({
        inputs: tensor(token => token),
        attention_mask: tensor(() => 1),
        max_new_tokens: count,
        do_sample: false
      })
      const milliseconds = performance.now() - start
      const [row = []] = output.tolist()
      return { tokens: row.slice(prompt.length).map(Number), milliseconds }
    }
  }
}

/** What is used of node-llama-cpp. */
interface LlamaModule {
  getLlama(options: object): Promise<{
    loadModel(options: object): Promise<{
      createContext(options: object): Promise<{
        getSequence(): {
          clearHistory(): Promise<void>
          evaluate(tokens: readonly number[], options: object): AsyncIterable<number>
        }
      }>
    }>
  }>
}

async function openLlama({ model, threads, scratch }: OpenOptions): Promise<Peer> {
  const entry = createRequire(join(scratch, 'package.json')).resolve('node-llama-cpp')
  const { getLlama } = (await import(pathToFileURL(entry).href)) as LlamaModule
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: threads })
  const loaded = await llama.loadModel({ modelPath: model })
  const context = await loaded.createContext({ contextSize: 4096, batchSize: 512, threads })
  const sequence = context.getSequence()
  return {
    async generate(prompt, count) {
      await sequence.clearHistory()
      const tokens: number[] = []
      const start = performance.now()
      for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
        if (tokens.push(token) === count) break
      }
      return { tokens, milliseconds: performance.now() - start }
    }
  }
}

export const engines: Readonly<Record<string, (options: OpenOptions) => Promise<Peer>>> = {
  svc: openOwn,
  'transformers.js': openTransformers,
  'llama.cpp': openLlama
}
