import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import autocannon from 'autocannon'
import { build, type Plugin } from 'esbuild'
import { figureOf, ratioOf, withRange } from '../figures.ts'
import { SAMPLE_INTERVAL_MS } from '../smoke-mode.ts'
import { sourceAliases } from '../source-aliases.ts'

export type Start = () => Promise<{ readonly port: number; readonly stop: () => unknown }>

export interface Measured {
  readonly name: string
  /** CPU time of the server per request in microseconds, by round. */
  readonly microseconds: readonly number[]
  /**
   * Requests per second, by round. The load generator for HTTP stops at full seconds, so the CPU time distinguishes
   * similar servers better.
   */
  readonly perSecond: readonly number[]
}

/** Server that runs in a separate process. */
export interface Running {
  readonly name: string
  readonly child: ChildProcess
  /** Port; 0 for a server on standard streams. */
  readonly port: number
}

export interface Plan {
  /** File of the benchmark. With `--serve NAME`, it runs a server. */
  readonly file: string
  readonly servers: readonly string[]
  /** Sends requests, and resolves when all responses have arrived. */
  load(server: Running, requests: number): Promise<void>
  readonly lives: number
  readonly rounds: number
  readonly requests: number
}

type Samples = Map<string, { readonly microseconds: number[]; readonly perSecond: number[] }>

/** Program of a server process: sends its port, then its CPU time whenever the parent requests it. */
export async function serveForBench(start: Start): Promise<void> {
  const { port, stop } = await start()
  process.on('message', async message => {
    if (message === 'cpu') {
      const { user, system } = process.cpuUsage()
      process.send?.(user + system)
      return
    }
    await stop()
    process.exit()
  })
  process.send?.(port)
}

/** Measures the servers in alternating rounds. Uses several processes of each, as V8 optimises them differently. */
export async function measureServers(plan: Plan): Promise<Measured[]> {
  const compiled = await compile(plan.file)
  const samples: Samples = new Map()
  for (let life = 0; life < plan.lives; life++) await measureLife(compiled, plan, samples)
  rmSync(compiled)
  return [...samples].map(([name, figures]) => ({ name, ...figures }))
}

async function measureLife(compiled: string, plan: Plan, samples: Samples): Promise<void> {
  const servers = await Promise.all(
    plan.servers.map(async name => {
      const child = fork(compiled, ['--serve', name], { execArgv: [], stdio: ['pipe', 'pipe', 'inherit', 'ipc'] })
      const [port] = (await once(child, 'message')) as [number]
      const cpu = async (): Promise<number> => {
        const answer = once(child, 'message')
        child.send('cpu')
        return Number((await answer)[0])
      }
      return { name, child, port, cpu }
    })
  )
  // The first round is a warm-up and is not recorded.
  for (let round = 0; round <= plan.rounds; round++) {
    for (const server of servers) {
      const before = await server.cpu()
      const start = performance.now()
      await plan.load(server, plan.requests)
      const seconds = (performance.now() - start) / 1000
      const used = ((await server.cpu()) - before) / plan.requests
      if (round === 0) continue
      const known = samples.get(server.name) ?? { microseconds: [], perSecond: [] }
      samples.set(server.name, known)
      known.microseconds.push(used)
      known.perSecond.push(plan.requests / seconds)
    }
  }
  for (const { child } of servers) child.send('stop')
}

const CONNECTIONS = 32

export interface HttpRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Returns a load generator that repeats a POST on 32 connections. */
export function overHttp({ path, headers, body }: HttpRequest): Plan['load'] {
  return async ({ name, port }, amount) => {
    const url = `http://127.0.0.1:${port}${path}`
    const result = await autocannon({
      url,
      method: 'POST',
      headers,
      body,
      amount,
      connections: CONNECTIONS,
      sampleInt: SAMPLE_INTERVAL_MS
    })
    if (result.non2xx === 0 && result.errors === 0 && result.requests.total === amount) return
    throw new Error(`${name} failed: ${JSON.stringify(result.statusCodeStats)}`)
  }
}

/** Returns a load generator that repeats a request, with 32 in flight. `line`: returns the request line for an id. */
export function overStreams(line: (id: number) => string): Plan['load'] {
  return ({ child }, amount) =>
    new Promise((resolve, reject) => {
      const { stdin, stdout } = child as { stdin: Writable; stdout: Readable }
      let sent = 0
      let answered = 0
      const send = (count: number): void => {
        let text = ''
        for (; count > 0 && sent < amount; count--) text += `${line(++sent)}\n`
        if (text !== '') stdin.write(text)
      }
      const onData = (chunk: Buffer): void => {
        let lines = 0
        for (const byte of chunk) if (byte === NEWLINE) lines += 1
        if (answered === 0 && chunk.includes('"error"')) reject(new Error(String(chunk)))
        answered += lines
        if (answered < amount) {
          send(lines)
          return
        }
        stdout.off('data', onData)
        resolve()
      }
      stdout.on('data', onData)
      send(CONNECTIONS)
    })
}

const NEWLINE = 10

/** Keeps the URL of each module in the bundle: plugins resolve their pages relative to it. */
const ownUrls: Plugin = {
  name: 'own-urls',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents:
        `const ownUrl = ${JSON.stringify(pathToFileURL(path).href)}\n` +
        readFileSync(path, 'utf8').replaceAll('import.meta.url', 'ownUrl'),
      loader: 'ts'
    }))
}

/** Compiles a benchmark with its servers, because a development loader slows every function down. Returns the file. */
export async function compile(file: string): Promise<string> {
  const outfile = join(import.meta.dirname, `../../node_modules/.cache/svc-bench-${basename(file, '.ts')}.mjs`)
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    alias: sourceAliases(),
    plugins: [ownUrls],
    logLevel: 'error'
  })
  return outfile
}

/** Returns the ratios of `own` to `peer`, by round; above 1, `own` is faster. */
export function summarise(results: readonly Measured[], own: string, peer: string) {
  const find = (name: string): Measured => results.find(each => each.name === name) as Measured
  const throughput = ratioOf(find(own).perSecond, find(peer).perSecond)
  const cpu = ratioOf(find(peer).microseconds, find(own).microseconds)
  const list = results.map(
    ({ name, microseconds, perSecond }) =>
      `${name} ${withRange(figureOf(perSecond), '/s')}, ${withRange(figureOf(microseconds), ' us CPU')}`
  )
  return {
    results,
    throughput,
    cpu,
    text: `${list.join('; ')}; ${own} to ${peer}: ${withRange(throughput, 'x')} requests per second, ${withRange(cpu, 'x')} requests per CPU second`
  }
}
