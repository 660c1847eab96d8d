/**
 * Tool calls over the gateway: `POST /v1/tools/call` with a token and a rate limit. The peer is a bare Fastify server
 * that checks the same token and rate, with a handler that returns the same result.
 *
 * Each server runs in a separate process and reports its CPU time, without that of the load generator. Rounds alternate
 * between the servers, over several processes of each. Medians are reported with their range.
 *
 *   node --import tsx --conditions=svc-source bench/gateway.ts [--json] [--lives N] [--rounds N] [--requests N]
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { parseArgs } from 'node:util'
import { openTestKernel } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, t } from '@svc/plugin-sdk'
import { fastify } from 'fastify'
import http from '../plugins/http/src/plugin.ts'
import mcp from '../plugins/mcp/src/plugin.ts'
import gateway from '../plugins/mcp-gateway/src/plugin.ts'
import { measureServers, overHttp, serveForBench, summarise } from './mcp/servers.ts'

const TOKEN = 'a-token-of-some-length-0123456789'
const PER_MINUTE = 1_000_000
const TOOL = 'svc_rebalance'

const operation = defineOperation({
  id: 'bench.move',
  summary: 'Return immediately',
  input: t.object({ task_id: t.integer(), reason: t.optional(t.string()) }),
  output: t.object({ task_id: t.integer(), status: t.string() }),
  expose: { mcp: { name: TOOL, result: 'tool-result' } }
})
const answer = ({ task_id }: { task_id: number }) => ({ task_id, status: 'queued' })

const tools = definePlugin({
  name: 'bench-tools',
  operations: [operation],
  activate: ctx => ctx.implement(operation, answer)
})

async function startGateway() {
  const kernel = await openTestKernel({
    plugins: [http, mcp, gateway, tools] as Plugin[],
    settings: {
      http: { main: false },
      'mcp-gateway': { http_enabled: true, port: 0, bearer_token: TOKEN, rate_limit_per_minute: PER_MINUTE }
    }
  })
  const line = kernel.lines.find(each => each.message.includes('mcp-gateway listens on'))
  return { port: Number(line?.message.split(':').at(-1)), stop: () => kernel.close() }
}

async function startFastify() {
  const app = fastify()
  const expected = createHash('sha256').update(TOKEN).digest()
  const buckets = new Map<string, { tokens: number; at: number }>()
  app.addHook('onRequest', (request, reply, done) => {
    const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
    if (!timingSafeEqual(createHash('sha256').update(token).digest(), expected)) {
      reply.code(401).send({ error: 'missing or invalid bearer token' })
      return
    }
    const now = performance.now()
    const bucket = buckets.get(request.ip) ?? { tokens: PER_MINUTE, at: now }
    buckets.set(request.ip, bucket)
    bucket.tokens = Math.min(PER_MINUTE, bucket.tokens + ((now - bucket.at) * PER_MINUTE) / 60_000)
    bucket.at = now
    if (bucket.tokens < 1) {
      reply.code(429).header('retry-after', '1').send({ error: 'rate limit exceeded' })
      return
    }
    bucket.tokens -= 1
    done()
  })
  const body = t.object({ name: t.string(), args: operation.input })
  app.post<{ Body: { args: { task_id: number } } }>('/v1/tools/call', { schema: { body } }, async request => ({
    success: true,
    is_error: false,
    result: { success: true, data: answer(request.body.args) }
  }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { port: (app.server.address() as { port: number }).port, stop: () => app.close() }
}

const SERVERS = { 'bare Fastify': startFastify, gateway: startGateway }

const { values } = parseArgs({
  options: {
    serve: { type: 'string' },
    json: { type: 'boolean', default: false },
    lives: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '4' },
    requests: { type: 'string', default: '20000' }
  }
})
if (values.serve !== undefined) await serveForBench(SERVERS[values.serve as keyof typeof SERVERS])
else {
  const results = await measureServers({
    file: import.meta.filename,
    servers: Object.keys(SERVERS),
    load: overHttp({
      path: '/v1/tools/call',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ name: TOOL, args: { task_id: 7, reason: 'bench' } })
    }),
    lives: Number(values.lives),
    rounds: Number(values.rounds),
    requests: Number(values.requests)
  })
  const summary = summarise(results, 'gateway', 'bare Fastify')
  if (values.json) console.log(JSON.stringify({ benchmark: 'gateway', node: process.version, ...summary }))
  else console.log(summary.text)
}
