/**
 * Servers at rest: time from the start of the process to the first answer, and resident memory after half a minute
 * without requests. Ours with all plugins and with `--profile model-server`, next to PocketBase, Ollama and the
 * development server of Temporal if these variables name the programs: `SVC_BENCH_POCKETBASE`, `SVC_BENCH_OLLAMA`,
 * `SVC_BENCH_TEMPORAL`. Servers run one after the other. Needs Linux and `npm run build`.
 *
 *   node --import tsx --conditions=svc-source bench/idle-servers.ts [--json] [--rounds 5]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Figure, figureOf, withRange } from './figures.ts'
import { isSmoke } from './smoke-mode.ts'

/** Result of one server. */
export interface IdleServer {
  readonly name: string
  /** From the start of the process until it answers an HTTP request. */
  readonly answer_ms: Figure
  /** Resident set, which counts shared pages of the program file. */
  readonly rss_mb: Figure
}

interface Contestant {
  readonly name: string
  /** `folder`: empty working directory; `ports`: two free ports. */
  command(folder: string, ports: readonly [number, number]): readonly [program: string, ...argv: string[]]
  readonly env?: (ports: readonly [number, number]) => NodeJS.ProcessEnv
  /** URL that answers when the server is ready. */
  url(ports: readonly [number, number]): string
}

const SVC = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))
/** Longer than servers need to collect the garbage of their start. */
const REST_MS = isSmoke ? 500 : 30_000
const MAX_START_MS = 120_000

const setting = (name: string, value: string | number): string[] => ['--set', `plugins.${name}=${value}`]

const ours = (name: string, options: readonly string[], health: 'http' | 'model-server'): Contestant => ({
  name,
  command: (_folder, [http, models]) => [
    process.execPath,
    SVC,
    'serve',
    '--json',
    ...options,
    ...setting('daemon.socket', '127.0.0.1:0'),
    ...setting('http.port', http),
    ...setting('model-server.port', models)
  ],
  url: ([http, models]) => `http://127.0.0.1:${health === 'http' ? http : models}/`
})

function contestants(): Contestant[] {
  const found = [
    ours('svc, all plugins', [], 'http'),
    ours('svc, profile model-server, bundled model loaded', ['--profile', 'model-server'], 'model-server')
  ]
  const { SVC_BENCH_POCKETBASE, SVC_BENCH_OLLAMA, SVC_BENCH_TEMPORAL } = isSmoke ? {} : process.env
  if (SVC_BENCH_POCKETBASE !== undefined)
    found.push({
      name: 'PocketBase',
      command: (folder, [port]) => [SVC_BENCH_POCKETBASE, 'serve', '--http', `127.0.0.1:${port}`, '--dir', folder],
      url: ([port]) => `http://127.0.0.1:${port}/api/health`
    })
  if (SVC_BENCH_OLLAMA !== undefined)
    found.push({
      name: 'Ollama, no model loaded',
      command: () => [SVC_BENCH_OLLAMA, 'serve'],
      env: ([port]) => ({ OLLAMA_HOST: `127.0.0.1:${port}` }),
      url: ([port]) => `http://127.0.0.1:${port}/`
    })
  if (SVC_BENCH_TEMPORAL !== undefined)
    found.push({
      name: "Temporal's development server",
      command: (_folder, [port, web]) => {
        const ports = ['--port', String(port), '--http-port', String(web)]
        return [SVC_BENCH_TEMPORAL, 'server', 'start-dev', '--headless', ...ports]
      },
      url: ([, web]) => `http://127.0.0.1:${web}/api/v1/namespaces`
    })
  return found
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

/** Resolves when the URL answers, with any status. Throws if the process ends, or does not answer in time. */
async function answered(child: ChildProcess, url: string, name: string): Promise<void> {
  const ends = performance.now() + MAX_START_MS
  while (performance.now() < ends) {
    if (child.exitCode !== null) throw new Error(`${name}: the server ended with ${child.exitCode}`)
    const response = await fetch(url, { redirect: 'manual' }).catch(() => null)
    if (response !== null) {
      await response.arrayBuffer()
      return
    }
    await pause(5)
  }
  throw new Error(`${name}: no answer from ${url} in ${MAX_START_MS} ms`)
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
}

async function measure(contestant: Contestant): Promise<readonly [answerMs: number, rssMb: number]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-idle-'))
  const ports = [await freePort(), await freePort()] as const
  const [program, ...argv] = contestant.command(folder, ports)
  const env = {
    ...process.env,
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_STATE_HOME: folder,
    ...contestant.env?.(ports)
  }
  const started = performance.now()
  const child = spawn(program, argv, { cwd: folder, env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  try {
    await answered(child, contestant.url(ports), contestant.name)
    const answerMs = performance.now() - started
    await pause(REST_MS)
    return [answerMs, residentMb(child.pid as number)]
  } finally {
    child.kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
}

const { values } = parseArgs({ options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '5' } } })
const all = contestants().map(contestant => ({ contestant, answer: [] as number[], rss: [] as number[] }))
for (let round = 0; round < Number(values.rounds); round++) {
  for (const { contestant, answer, rss } of all) {
    const [answerMs, rssMb] = await measure(contestant)
    answer.push(answerMs)
    rss.push(rssMb)
  }
}
const servers: IdleServer[] = all.map(({ contestant, answer, rss }) => ({
  name: contestant.name,
  answer_ms: figureOf(answer),
  rss_mb: figureOf(rss)
}))
if (values.json) console.log(JSON.stringify({ benchmark: 'idle-servers', node: process.version, servers }))
else
  for (const { name, answer_ms, rss_mb } of servers)
    console.log(`${name.padEnd(48)} ${withRange(answer_ms, ' ms')}, ${withRange(rss_mb, ' MB')}`)
