/**
 * The router for model requests over four servers.
 *
 * 1. Added latency: the same request to a server that answers immediately, directly and through the router, in
 *    alternation. Reports the difference of the 99th percentiles.
 * 2. Conversations: 64 users with 8 turns each, whose prompts grow. Each server has a prefix cache, reads one prompt at a
 *    time and answers 8 requests concurrently; reading and answering are waits, so that the results do not depend on the
 *    speed of the machine. Rounds alternate between the router and round robin, which the load generator does itself.
 *    Reports the time to the first token, and the blocks that the caches held, as a fraction of those that any server
 *    had seen before.
 *
 * Servers, router and load generator run in separate processes. Medians of all rounds are reported with their range.
 *
 *   node --import tsx --conditions=svc-source bench/inference-router.ts [--json] [--rounds N] [--requests N]
 *     [--users N] [--turns N]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type HttpServer, httpServer } from '@svc/contracts'
import { openTestKernel } from '@svc/kernel/testing'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import http from '../plugins/http/src/plugin.ts'
import router from '../plugins/inference-router/src/plugin.ts'
import { type Figure, figureOf, MIN_ROUNDS, ratioOf, withRange } from './figures.ts'
import { compile } from './mcp/servers.ts'

const SERVERS = 4
const SLOTS = 8
const BLOCK = 1024
/** Blocks of the cache of a server. */
const CACHE_BLOCKS = 20_000
const PREFILL_MS_PER_BLOCK = 2
const DECODE_MS = 60
const MODEL = 'bench'
/** Model whose answers need no time. */
const INSTANT = 'instant'
const SYSTEM_BYTES = 2_500
const FIRST_BYTES = 2_000
const TURN_BYTES = 3_500
const THINK_MS = 300

interface Message {
  readonly role: string
  readonly content: string
}

export interface RouterResult {
  /** 99th percentile through the router minus that of direct requests, in milliseconds. */
  readonly addedP99: Figure
  readonly addedP50: Figure
  /** Blocks found in the caches, as a fraction of those that any server had seen. */
  readonly hits: Figure
  readonly roundRobinHits: Figure
  /** 99th percentile of the time to the first token, in milliseconds. */
  readonly firstTokenP99: Figure
  readonly roundRobinFirstTokenP99: Figure
  /** Router to round robin, by round. */
  readonly firstTokenRatio: Figure
}

/** Starts the simulated servers in this process, and sends their ports to the parent. */
async function serveModels(): Promise<void> {
  const ports = await Promise.all(Array.from({ length: SERVERS }, () => openModelServer()))
  process.send?.(ports)
}

/** A server in vLLM's format, with a prefix cache and a device that reads one prompt at a time. */
async function openModelServer(): Promise<number> {
  const cache = new Map<string, true>()
  let running = 0
  let device = Promise.resolve()
  const queue: (() => void)[] = []
  const enter = async (): Promise<void> => {
    if (running >= SLOTS) await new Promise<void>(resolve => queue.push(resolve))
    else running += 1
  }
  const leave = (): void => {
    const next = queue.shift()
    if (next === undefined) running -= 1
    else next()
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { model, messages } = (await json(request)) as { model: string; messages: readonly Message[] }
    const events = { 'content-type': 'text/event-stream' }
    if (model === INSTANT) {
      response.writeHead(200, events).end('data: {"choices":[]}\n\ndata: [DONE]\n\n')
      return
    }
    await enter()
    const blocks = blocksOf(messages)
    let hits = 0
    device = device.then(() => {
      hits = leading(blocks, block => cache.has(block))
      for (const block of blocks.toReversed()) {
        cache.delete(block)
        cache.set(block, true)
      }
      for (const block of cache.keys()) {
        if (cache.size <= CACHE_BLOCKS) break
        cache.delete(block)
      }
      return wait((blocks.length - hits + 1) * PREFILL_MS_PER_BLOCK)
    })
    await device
    response.writeHead(200, { ...events, 'x-cached-blocks': String(hits) })
    response.write('data: {"choices":[]}\n\n')
    await wait(DECODE_MS)
    leave()
    response.end('data: [DONE]\n\n')
  }
  const facts: Readonly<Record<string, () => string>> = {
    '/v1/models': () => JSON.stringify({ object: 'list', data: [MODEL, INSTANT].map(id => ({ id, parent: null })) }),
    '/metrics': () =>
      `vllm:num_requests_running{model_name="${MODEL}"} ${running}\n` +
      `vllm:num_requests_waiting{model_name="${MODEL}"} ${queue.length}\n`
  }
  const server = createServer((request, response) => {
    const fact = facts[request.url ?? '']
    if (fact !== undefined) response.end(fact())
    else answer(request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Starts the router in this process, and sends its port to the parent. */
async function serveRouter(ports: readonly number[]): Promise<void> {
  let found: HttpServer | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: httpServer },
    activate: (_ctx, { server }) => {
      found = server
    }
  })
  const servers = ports.map((port, at) => ({
    name: `s${at}`,
    url: `http://127.0.0.1:${port}`,
    api: 'vllm',
    slots: SLOTS
  }))
  await openTestKernel({
    plugins: [router, http, probe] as Plugin[],
    settings: { http: { main: false }, 'inference-router': { port: 0, servers } }
  })
  process.send?.(found?.addresses[0]?.port)
}

/** Returns a hash of each full block together with everything before it. */
function blocksOf(messages: readonly Message[]): string[] {
  const bytes = Buffer.from(messages.map(({ role, content }) => `${role}:${content}\n`).join(''))
  const blocks: string[] = []
  let previous = ''
  for (let at = 0; at + BLOCK <= bytes.length; at += BLOCK) {
    previous = createHash('sha1')
      .update(previous)
      .update(bytes.subarray(at, at + BLOCK))
      .digest('base64')
    blocks.push(previous)
  }
  return blocks
}

function leading(blocks: readonly string[], has: (block: string) => boolean): number {
  const missing = blocks.findIndex(block => !has(block))
  return missing < 0 ? blocks.length : missing
}

const agent = new Agent({ keepAlive: true, maxSockets: 1_000 })

/** Sends a chat. Returns milliseconds to the first byte and to the end, and the blocks that the cache held. */
function chat(port: number, model: string, messages: readonly Message[]) {
  return new Promise<{ firstMs: number; endMs: number; hits: number }>((resolve, reject) => {
    const body = JSON.stringify({ model, messages, stream: true })
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const began = performance.now()
    let firstMs = 0
    const request = httpRequest(
      { port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions', agent, headers },
      response => {
        if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
        response.once('data', () => {
          firstMs = performance.now() - began
        })
        response.on('data', () => undefined)
        response.on('end', () =>
          resolve({ firstMs, endMs: performance.now() - began, hits: Number(response.headers['x-cached-blocks'] ?? 0) })
        )
        response.on('error', reject)
      }
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** Returns text of a length that depends on the key. */
function text(key: string, length: number): string {
  return `${key} `.repeat(Math.ceil(length / (key.length + 1))).slice(0, length)
}

interface Traffic {
  readonly firstMs: number[]
  hits: number
  possible: number
}

/** Runs all conversations. `portOf`: port for the next request. `salt`: rounds have no prompt in common. */
async function converse(users: number, turns: number, salt: string, portOf: () => number): Promise<Traffic> {
  const seen = new Set<string>()
  const traffic: Traffic = { firstMs: [], hits: 0, possible: 0 }
  const user = async (number: number): Promise<void> => {
    const messages: Message[] = [
      { role: 'system', content: text(`${salt} system ${number % 4}`, SYSTEM_BYTES) },
      { role: 'user', content: text(`${salt} user ${number}`, FIRST_BYTES) }
    ]
    // Spread by the golden ratio: the same for every round, and without a pattern.
    const share = (at: number) => (at * 0.618034) % 1
    await wait(share(number) * THINK_MS * 4)
    for (let turn = 0; turn < turns; turn++) {
      const blocks = blocksOf(messages)
      traffic.possible += leading(blocks, block => seen.has(block))
      for (const block of blocks) seen.add(block)
      const { firstMs, hits } = await chat(portOf(), MODEL, messages)
      traffic.firstMs.push(firstMs)
      traffic.hits += hits
      messages.push(
        { role: 'assistant', content: text(`${salt} answer ${number} ${turn}`, TURN_BYTES / 4) },
        { role: 'user', content: text(`${salt} question ${number} ${turn}`, TURN_BYTES) }
      )
      await wait(THINK_MS * (0.5 + share(number * turns + turn)))
    }
  }
  await Promise.all(Array.from({ length: users }, (_, number) => user(number)))
  return traffic
}

function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] as number
}

async function measure(rounds: number, requests: number, users: number, turns: number): Promise<RouterResult> {
  const compiled = await compile(import.meta.filename)
  const children: ChildProcess[] = []
  const start = async <A>(...options: string[]): Promise<A> => {
    const child = fork(compiled, options, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    children.push(child)
    return (await once(child, 'message'))[0] as A
  }
  try {
    const ports = await start<number[]>('--serve', 'models')
    const routed = await start<number>('--serve', 'router', '--ports', ports.join(','))
    const small = [{ role: 'user', content: text('latency', 4 * BLOCK) }]
    while (
      !(await chat(routed, INSTANT, small).then(
        () => true,
        () => false
      ))
    )
      await wait(50)
    const samples = {
      addedP50: [] as number[],
      addedP99: [] as number[],
      hits: [] as number[],
      roundRobinHits: [] as number[],
      firstToken: [] as number[],
      roundRobinFirstToken: [] as number[]
    }
    // The first round is a warm-up and is not recorded.
    for (let round = 0; round <= rounds; round++) {
      const direct: number[] = []
      const through: number[] = []
      for (let at = 0; at < requests; at++) {
        direct.push((await chat(ports[at % SERVERS] as number, INSTANT, small)).endMs)
        through.push((await chat(routed, INSTANT, small)).endMs)
      }
      let next = 0
      const inTurn = () => ports[next++ % SERVERS] as number
      const byRouter = await converse(users, turns, `${round}r`, () => routed)
      const byTurn = await converse(users, turns, `${round}t`, inTurn)
      if (round === 0) continue
      samples.addedP50.push(percentile(through, 0.5) - percentile(direct, 0.5))
      samples.addedP99.push(percentile(through, 0.99) - percentile(direct, 0.99))
      samples.hits.push(byRouter.hits / byRouter.possible)
      samples.roundRobinHits.push(byTurn.hits / byTurn.possible)
      samples.firstToken.push(percentile(byRouter.firstMs, 0.99))
      samples.roundRobinFirstToken.push(percentile(byTurn.firstMs, 0.99))
    }
    return {
      addedP99: figureOf(samples.addedP99),
      addedP50: figureOf(samples.addedP50),
      hits: figureOf(samples.hits),
      roundRobinHits: figureOf(samples.roundRobinHits),
      firstTokenP99: figureOf(samples.firstToken),
      roundRobinFirstTokenP99: figureOf(samples.roundRobinFirstToken),
      firstTokenRatio: ratioOf(samples.firstToken, samples.roundRobinFirstToken)
    }
  } finally {
    for (const child of children) child.kill()
    agent.destroy()
    rmSync(compiled)
  }
}

const { values } = parseArgs({
  options: {
    serve: { type: 'string' },
    ports: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: String(MIN_ROUNDS) },
    requests: { type: 'string', default: '1000' },
    users: { type: 'string', default: '64' },
    turns: { type: 'string', default: '8' }
  }
})

if (values.serve === 'models') await serveModels()
else if (values.serve === 'router') await serveRouter(values.ports.split(',').map(Number))
else {
  const { rounds, requests, users, turns } = values
  const result = await measure(Number(rounds), Number(requests), Number(users), Number(turns))
  if (values.json) console.log(JSON.stringify({ benchmark: 'inference-router', node: process.version, ...result }))
  else {
    console.log(
      [
        `added latency: p50 ${withRange(result.addedP50, ' ms')}, p99 ${withRange(result.addedP99, ' ms')} (goal: at most 1 ms)`,
        `prefix hits: ${withRange(result.hits)} of the possible ones (goal: at least 0.9); round robin ${withRange(result.roundRobinHits)}`,
        `first token, p99: ${withRange(result.firstTokenP99, ' ms')}; round robin ${withRange(result.roundRobinFirstTokenP99, ' ms')}; ratio ${withRange(result.firstTokenRatio, 'x')} (goal: at most 0.7x)`
      ].join('\n')
    )
  }
}
