import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startChild } from '../inference/child.ts'

/** Embedding model that runs in a separate process. */
export interface EmbeddingContestant {
  /** Computes the texts in consecutive calls of `batch` texts. */
  measure(question: EmbeddingQuestion): Promise<EmbeddingAnswer>
  stop(): Promise<void>
}

export interface EmbeddingQuestion {
  readonly texts: readonly string[]
  readonly batch: number
}

export interface EmbeddingAnswer {
  /** Milliseconds of all calls. */
  readonly ms: number
  /** CPU time of the process in the calls, in milliseconds. */
  readonly cpuMs: number
  readonly vectors: readonly (readonly number[])[]
}

export interface EmbeddingOptions {
  readonly engine: 'svc' | 'transformers.js' | 'fastembed' | 'model2vec'
  /** Folder of the model. */
  readonly model: string
  readonly threads: number
  /** Of svc; default: as in the files. */
  readonly quantization?: 'none' | 'q8'
  /** Folder of caches, and of node_modules with the peers. */
  readonly scratch: string
}

/** Starts a contestant. Returns the reason if a Python package is not installed. */
export async function startEmbedder(options: EmbeddingOptions): Promise<EmbeddingContestant | string> {
  const { engine } = options
  if (engine === 'fastembed' || engine === 'model2vec') return startPython(options)
  const child = await startChild<EmbeddingAnswer>('../embeddings/program', engine, options)
  return { measure: question => child.ask(question), stop: child.stop }
}

/** Interpreter with the Python peers; null if the environment variable SVC_BENCH_PYTHON is not set. */
export const python = process.env.SVC_BENCH_PYTHON || null

async function startPython({ engine, model, threads }: EmbeddingOptions): Promise<EmbeddingContestant | string> {
  if (python === null) return 'SVC_BENCH_PYTHON names no Python interpreter'
  const file = fileURLToPath(new URL('./peer.py', import.meta.url))
  const child = spawn(python, [file, engine, model, String(threads)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const read = async <Answer>(): Promise<Answer> => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`${engine}: the process of ${python} ended`)
    return JSON.parse(value) as Answer
  }
  const { missing } = await read<{ missing?: string }>()
  if (missing !== undefined) return `${python}: ${missing}`
  return {
    measure(question) {
      child.stdin.write(`${JSON.stringify(question)}\n`)
      return read<EmbeddingAnswer>()
    },
    async stop() {
      child.stdin.end()
      await once(child, 'exit')
    }
  }
}
