import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Part of node-llama-cpp's sequence class that is used. */
export interface LlamaSequence {
  clearHistory(): Promise<void>
  evaluate(tokens: readonly number[], options: object): AsyncIterable<number>
}

export interface LlamaContext {
  readonly model: { detokenize(tokens: readonly number[]): string }
  getSequence(): LlamaSequence
}

interface LlamaModule {
  getLlama(options: object): Promise<{
    loadModel(options: object): Promise<{ createContext(options: object): Promise<LlamaContext> }>
  }>
}

export interface LlamaOptions {
  /** Path of the GGUF file. */
  readonly model: string
  readonly threads: number
  /** Folder whose node_modules contains node-llama-cpp. */
  readonly scratch: string
  /** Number of sequences in one batch, and their maximum length. */
  readonly sequences: number
  readonly contextSize: number
  /** True to map the file into memory, false to read it; default true, as in llama.cpp. */
  readonly mapFile?: boolean
}

/** Opens a model with llama.cpp on the CPU. */
export async function llamaContext(options: LlamaOptions): Promise<LlamaContext> {
  const { model, threads, scratch, sequences, contextSize, mapFile = true } = options
  const entry = createRequire(join(scratch, 'package.json')).resolve('node-llama-cpp')
  const { getLlama } = (await import(pathToFileURL(entry).href)) as LlamaModule
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: threads })
  const loaded = await llama.loadModel({ modelPath: model, useMmap: mapFile })
  return loaded.createContext({ contextSize, sequences, batchSize: 512, threads })
}
