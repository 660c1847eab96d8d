import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { peakMemory, startChild } from './child.ts'
import type { Contestant } from './contestant.ts'
import type { LlamaOptions } from './llama.ts'
import type { MeasuredServer } from './model-server.ts'
import { peers } from './peers.ts'

const READY_TIMEOUT_MS = 120_000

/** Path of the C server of llama.cpp, from SVC_BENCH_LLAMA_SERVER; null to use the library of node-llama-cpp. */
export const llamaProgram = process.env.SVC_BENCH_LLAMA_SERVER || null

/** Returns the options of the program, without those for the model and the address. */
export function llamaFlags({
  threads,
  sequences,
  contextSize,
  mapFile = true
}: Omit<LlamaOptions, 'model' | 'scratch'>) {
  const count = String(threads)
  return [
    ...['-t', count, '-tb', count, '-np', String(sequences), '-cb', '-c', String(sequences * contextSize)],
    // Answers of svc are measured without reuse of earlier prompts, too.
    ...['--no-cache-prompt', '--cache-ram', '0', '--ignore-eos', '--no-webui', '--log-disable'],
    ...(mapFile ? [] : ['--no-mmap'])
  ]
}

/** Describes the build of llama.cpp that is measured. */
export async function describeLlama(): Promise<string> {
  if (llamaProgram === null) return `${peers.llama}, its library`
  const note = await readFile(join(dirname(llamaProgram), 'build.txt'), 'utf8').catch(() => '')
  return `llama-server: ${note.trim() || 'unknown build'}`
}

/**
 * Starts a server with llama.cpp: its own C server, or a minimal one, bare node:http that streams completions in the
 * OpenAI format. Both compute all sequences in one batch.
 */
export async function startLlamaServer(options: LlamaOptions): Promise<MeasuredServer> {
  if (llamaProgram !== null) return startProgram(llamaProgram, options)
  const child = await startChild<number>('llama-server-program', 'the server with llama.cpp', options)
  const port = await child.ask({})
  return { url: `http://127.0.0.1:${port}`, processId: child.processId, stop: child.stop }
}

/** Starts the C server with one sequence. Its times are those that it measures itself, without HTTP. */
export async function startLlamaContestant(name: string, options: LlamaOptions): Promise<Contestant> {
  if (llamaProgram === null) throw new Error('SVC_BENCH_LLAMA_SERVER names no program')
  const { url, processId, stop } = await startProgram(llamaProgram, options)
  return {
    name,
    async measure(prompt, count) {
      const response = await fetch(`${url}/completion`, {
        method: 'POST',
        body: JSON.stringify({
          prompt,
          n_predict: count,
          temperature: 0,
          samplers: ['top_k'],
          top_k: 1,
          return_tokens: true
        })
      })
      const answer = (await response.json()) as { readonly tokens?: number[]; readonly timings?: Timings }
      const { timings, tokens = [] } = answer
      if (timings?.predicted_n !== count || timings.prompt_n !== prompt.length)
        throw new Error(`${name}: ${response.status} ${JSON.stringify(answer).slice(0, 1000)}`)
      return { tokens, firstMs: timings.prompt_ms, tokenMs: timings.predicted_ms / (count - 1), tokenCpuMs: Number.NaN }
    },
    peakMemory: () => peakMemory(processId),
    stop
  }
}

interface Timings {
  readonly prompt_n: number
  readonly prompt_ms: number
  /** Tokens of the answer; the time starts at the first one. */
  readonly predicted_n: number
  readonly predicted_ms: number
}

async function startProgram(program: string, options: LlamaOptions): Promise<MeasuredServer> {
  const port = await freePort()
  const address = ['--host', '127.0.0.1', '--port', String(port)]
  const child = spawn(program, ['-m', options.model, ...address, ...llamaFlags(options)], { stdio: 'ignore' })
  const end = () => void child.kill()
  process.once('exit', end)
  const url = `http://127.0.0.1:${port}`
  const isReady = () =>
    fetch(`${url}/health`).then(
      response => response.ok,
      () => false
    )
  for (const until = performance.now() + READY_TIMEOUT_MS; !(await isReady()); await pause(200)) {
    const ended = child.exitCode ?? child.signalCode
    if (ended !== null) throw new Error(`${program} ended with ${ended} while it loaded ${options.model}`)
    if (performance.now() > until) throw new Error(`${program} is not ready after ${READY_TIMEOUT_MS} ms`)
  }
  return {
    url,
    processId: child.pid as number,
    async stop() {
      process.off('exit', end)
      child.kill()
      await once(child, 'exit')
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  return port
}
