/**
 * Server CPU per HTTP request: this server against a bare node:http server and plain Fastify with the same 100 routes.
 *
 * Each server runs in a separate process and reports its CPU time, without that of the load generator. Rounds alternate
 * between the servers, over several processes of each, because V8 optimises each process differently. The median of all
 * rounds is reported with its range.
 *
 *   node --import tsx --conditions=svc-source bench/http.ts [--json] [--lives N] [--rounds N] [--requests N]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type HttpServer, httpServer, logLines } from '@svc/contracts'
import { createLogger, openTestKernel } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type JsonSchema, type Plugin, t } from '@svc/plugin-sdk'
import autocannon from 'autocannon'
import { build } from 'esbuild'
import { fastify } from 'fastify'
import http from '../plugins/http/src/plugin.ts'
import observability from '../plugins/observability/src/plugin.ts'
import { type Figure, figureOf, ratioOf, withRange } from './figures.ts'
import { SAMPLE_INTERVAL_MS } from './smoke-mode.ts'
import { sourceAliases } from './source-aliases.ts'

const PLUGINS = 10
const OPERATIONS = 10

const input = t.object({ id: t.string({ maxLength: 64 }), limit: t.integer({ minimum: 1, maximum: 100, default: 10 }) })
const body = t.object({ title: t.string(), tags: t.array(t.string()), count: t.integer() })
const output = t.object({ id: t.string(), limit: t.integer(), names: t.array(t.string()), done: t.boolean() })

const ANSWER = { names: ['first', 'second', 'third'], done: true }
const read = ({ id, limit }: { id: string; limit: number }) => ({ id, limit, ...ANSWER })
const write = ({ title, count }: { title: string; count: number }) => ({ id: title, limit: count, ...ANSWER })

const CASES = {
  'GET without input': { method: 'GET', path: '/v1/p5/ping5' },
  'GET with path and query': { method: 'GET', path: '/v1/p5/read5/abc?limit=20' },
  'POST JSON': { method: 'POST', path: '/v1/p5/write5', body: '{"title":"abc","tags":["a","b"],"count":20}' }
} as const

/** Yields 100 routes, a third of each kind. */
function* routes() {
  const kinds = ['ping', 'read', 'write'] as const
  for (let plugin = 0; plugin < PLUGINS; plugin++) {
    for (let at = 0; at < OPERATIONS; at++) {
      // Kinds rotate over the operations of a plugin.
      yield { plugin, at, kind: kinds[at % 3] as (typeof kinds)[number] }
    }
  }
}

function pathOf(kind: string, plugin: number, at: number): string {
  // The three measured routes, one of each kind, all have the number 5.
  const shown = plugin === 5 && at >= 3 && at <= 5 ? 5 : at
  return `/v1/p${plugin}/${kind}${shown}${kind === 'read' ? '/:id' : ''}`
}

type Stop = () => unknown
type Start = () => Promise<{ readonly port: number; readonly stop: Stop }>

const SERVERS: Record<string, Start> = {
  'bare node:http': startBare,
  'plain Fastify': () => startFastify(null),
  'Fastify, its log': startLoggingFastify,
  svc: () => startKernel('alone'),
  'svc, ring': () => startKernel('ring'),
  'svc, access_log=all': () => startKernel('log'),
  'svc, all recorded': () => startKernel('sampled')
}

async function startBare() {
  const server = createServer((request, response) => {
    const url = request.url as string
    const send = (value: unknown): void => {
      const text = JSON.stringify(value)
      response.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(text)
      })
      response.end(text)
    }
    if (request.method === 'GET' && url === '/v1/p5/ping5') return send({ ok: true })
    if (request.method === 'GET' && url.startsWith('/v1/p5/read5/')) {
      const [path = '', query] = url.slice('/v1/p5/read5/'.length).split('?', 2)
      return send(read({ id: decodeURIComponent(path), limit: Number(new URLSearchParams(query).get('limit')) }))
    }
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => send(write(JSON.parse(Buffer.concat(chunks).toString()))))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as { port: number }).port, stop: () => server.close() }
}

/** Starts Fastify with its own log of requests, two lines each, in a file. */
async function startLoggingFastify() {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-http-'))
  const { port, stop } = await startFastify(join(folder, 'output'))
  return {
    port,
    stop: async () => {
      await stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** `file`: that of the log; null for none. */
async function startFastify(file: string | null) {
  const app = fastify({ routerOptions: { maxParamLength: 8192 }, ...(file === null ? {} : { logger: { file } }) })
  for (const { plugin, at, kind } of routes()) {
    const url = pathOf(kind, plugin, at)
    const response = { 200: kind === 'ping' ? t.object({ ok: t.boolean() }) : output }
    if (kind === 'ping') app.get(url, { schema: { response } }, async () => ({ ok: true }))
    else if (kind === 'read') {
      const { id, limit } = input.properties as Record<string, object>
      const schema = {
        params: { type: 'object', properties: { id } },
        querystring: { type: 'object', properties: { limit } },
        response
      }
      app.get(url, { schema }, async request =>
        read({ ...(request.params as object), ...(request.query as object) } as never)
      )
    } else app.post(url, { schema: { body, response } }, async request => write(request.body as never))
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { port: (app.server.address() as { port: number }).port, stop: () => app.close() }
}

/**
 * Starts this server: `alone`, with the ring of requests and spans, with every request in the log as well, or with every
 * call recorded with its details. The log of a real server is used, which writes to a file as `svc serve` to a pipe.
 */
async function startKernel(kind: 'alone' | 'ring' | 'log' | 'sampled') {
  const plugins = Array.from({ length: PLUGINS }, (_, number) => operationsPlugin(number))
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-http-'))
  const output = openSync(join(folder, 'output'), 'a')
  const log = await createLogger({ level: 'info', format: 'json', descriptor: output })
  const recorded = kind === 'alone' ? [] : [observability as Plugin]
  const kernel = await openTestKernel({
    plugins: [http as Plugin, ...recorded, ...plugins],
    settings: {
      http: { port: 0, access_log: kind === 'log' ? 'all' : 'errors' },
      observability: { sample: kind === 'sampled' ? 1 : 0 }
    },
    log,
    services: new Map([[logLines.id, log.lines]])
  })
  const [address] = (kernel.kernel.current.services.resolve(httpServer.id) as HttpServer).addresses
  const stop = async () => {
    await kernel.close()
    closeSync(output)
    rmSync(folder, { recursive: true, force: true })
  }
  return { port: (address as { readonly port: number }).port, stop }
}

function operationsPlugin(number: number): Plugin {
  const operations = [...routes()]
    .filter(({ plugin }) => plugin === number)
    .map(({ plugin, at, kind }) =>
      defineOperation({
        id: `bench${plugin}.${kind}${at}`,
        summary: 'One of a hundred',
        input: (kind === 'ping' ? t.object({}) : kind === 'read' ? input : body) as JsonSchema,
        output: (kind === 'ping' ? t.object({ ok: t.boolean() }) : output) as JsonSchema,
        expose: { http: { method: kind === 'write' ? 'POST' : 'GET', path: pathOf(kind, plugin, at) } }
      })
    )
  return definePlugin({
    name: `bench${number}`,
    operations,
    activate(ctx) {
      for (const operation of operations) {
        const kind = operation.id.split('.')[1] as string
        const handler = kind.startsWith('ping') ? () => ({ ok: true }) : kind.startsWith('read') ? read : write
        ctx.implement(operation, (async (given: never) => handler(given)) as never)
      }
    }
  })
}

/** Program of a server process: sends its port, then its CPU time whenever the parent requests it. */
async function serve(name: string): Promise<void> {
  const { port, stop } = await (SERVERS[name] as Start)()
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

interface Result {
  readonly case: string
  readonly microseconds: Readonly<Record<string, Figure>>
  readonly toFastify: Figure
  readonly toBare: Figure
  /** With the ring of requests and spans, against plain Fastify. */
  readonly ringToFastify: Figure
  /** With every request in the log, against plain Fastify. */
  readonly logToFastify: Figure
  /** With every request in the log, against Fastify with its own log. */
  readonly logToLog: Figure
}

/** Compiles the servers, because a development loader slows every function down. */
async function compile(): Promise<string> {
  const outfile = join(import.meta.dirname, '../node_modules/.cache/svc-bench-http.mjs')
  await build({
    entryPoints: [import.meta.filename],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    alias: sourceAliases(),
    define: { 'import.meta.url': JSON.stringify(import.meta.resolve('../plugins/http/src/plugin.ts')) },
    logLevel: 'error'
  })
  return outfile
}

/** Starts each server in a separate process, measures in alternating rounds, and records the samples. */
async function measureLife(compiled: string, rounds: number, requests: number, samples: Samples): Promise<void> {
  const servers = await Promise.all(
    Object.keys(SERVERS).map(async name => {
      const child = fork(compiled, ['--serve', name], { execArgv: [] })
      const cpu = async (): Promise<number> => {
        const answer = once(child, 'message')
        child.send('cpu')
        return Number((await answer)[0])
      }
      const [port] = (await once(child, 'message')) as [number]
      return { name, port, child, cpu }
    })
  )
  // The first round is a warm-up and is not recorded.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, request] of Object.entries(CASES)) {
      for (const server of servers) {
        const before = await server.cpu()
        const sent = await load(server, name, request, requests)
        const used = ((await server.cpu()) - before) / sent
        if (round === 0) continue
        const recorded = (samples[name] ??= {})
        recorded[server.name] = [...(recorded[server.name] ?? []), used]
      }
    }
  }
  for (const { child } of servers) child.send('stop')
}

/** Microseconds of each round, by case and server. */
type Samples = Record<string, Record<string, readonly number[]>>

async function load(
  server: { readonly name: string; readonly port: number },
  name: string,
  { path, ...request }: (typeof CASES)[keyof typeof CASES],
  amount: number
): Promise<number> {
  const headers = 'body' in request ? { 'content-type': 'application/json' } : {}
  const url = `http://127.0.0.1:${server.port}${path}`
  const result = await autocannon({ url, ...request, headers, amount, connections: 32, sampleInt: SAMPLE_INTERVAL_MS })
  if (result.non2xx === 0 && result.errors === 0) return result.requests.total
  throw new Error(`${server.name}: requests of "${name}" failed: ${JSON.stringify(result.statusCodeStats)}`)
}

function recorded(
  ratio: (peer: string, own: string) => Figure
): Pick<Result, 'ringToFastify' | 'logToFastify' | 'logToLog'> {
  const to = (own: string): Figure => ratio('plain Fastify', own)
  return {
    ringToFastify: to('svc, ring'),
    logToFastify: to('svc, access_log=all'),
    logToLog: ratio('Fastify, its log', 'svc, access_log=all')
  }
}

async function measure(lives: number, rounds: number, requests: number): Promise<Result[]> {
  const compiled = await compile()
  const samples: Samples = {}
  // V8 optimises each process differently.
  for (let life = 0; life < lives; life++) await measureLife(compiled, rounds, requests, samples)
  rmSync(compiled)
  return Object.entries(samples).map(([name, servers]) => {
    const ratio = (peer: string, own = 'svc'): Figure => ratioOf(servers[own] ?? [], servers[peer] ?? [])
    const microseconds = Object.fromEntries(Object.entries(servers).map(([server, all]) => [server, figureOf(all)]))
    return {
      case: name,
      microseconds,
      toFastify: ratio('plain Fastify'),
      toBare: ratio('bare node:http'),
      ...recorded(ratio)
    }
  })
}

const { values } = parseArgs({
  options: {
    serve: { type: 'string' },
    json: { type: 'boolean', default: false },
    lives: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '4' },
    requests: { type: 'string', default: '20000' }
  }
})
if (values.serve !== undefined) await serve(values.serve)
else {
  const results = await measure(Number(values.lives), Number(values.rounds), Number(values.requests))
  if (values.json) console.log(JSON.stringify({ benchmark: 'http', node: process.version, results }))
  else {
    for (const { case: name, microseconds, toFastify, toBare, ringToFastify, logToFastify, logToLog } of results) {
      const list = Object.entries(microseconds).map(([server, value]) => `${server} ${withRange(value, ' us')}`)
      console.log(
        `${name}: ${list.join(', ')}; ${withRange(toFastify, 'x')} plain Fastify, ${withRange(toBare, 'x')} bare node:http; ${withRange(ringToFastify, 'x')} with the ring, ${withRange(logToFastify, 'x')} with the log, ${withRange(logToLog, 'x')} Fastify with its log`
      )
    }
  }
}
