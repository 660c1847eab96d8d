/**
 * Tool calls over MCP, on standard streams and Streamable HTTP. The peer is a bare server of the official SDK with only
 * this tool, whose handler returns the same result.
 *
 * Each server runs in a separate process and reports its CPU time, without that of the client. Rounds alternate between
 * the servers, over several processes of each. Medians are reported with their range.
 *
 *   node --import tsx --conditions=svc-source bench/mcp-calls.ts [--json] [--lives N] [--rounds N] [--requests N]
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { openTestKernel } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, t } from '@svc/plugin-sdk'
import http from '../plugins/http/src/plugin.ts'
import mcp from '../plugins/mcp/src/plugin.ts'
import { measureServers, overHttp, overStreams, type Start, serveForBench, summarise } from './mcp/servers.ts'

const TOOL = 'bench_move'
const input = t.object({ task_id: t.integer(), reason: t.optional(t.string()) })
const output = t.object({ task_id: t.integer(), status: t.string() })
const answer = ({ task_id }: { task_id: number }) => ({ task_id, status: 'queued' })

function bareServer(): McpServer {
  const server = new McpServer({ name: 'bare', version: '1.0.0' })
  const config = {
    description: 'Return immediately',
    inputSchema: fromJsonSchema<{ task_id: number }>(input as never),
    outputSchema: fromJsonSchema(output as never)
  }
  server.registerTool(TOOL, config, async args => {
    const result = answer(args)
    return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result }
  })
  return server
}

async function startBareHttp() {
  const handler = toNodeHandler(createMcpHandler(bareServer))
  const server = createServer((request, response) => void handler(request as never, response as never))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as { port: number }).port, stop: () => server.close() }
}

async function startBareStdio() {
  const handle = serveStdio(bareServer)
  return { port: 0, stop: () => handle.close() }
}

const operation = defineOperation({
  id: 'bench.move',
  summary: 'Return immediately',
  input,
  output,
  expose: { mcp: { name: TOOL } }
})
const tools = definePlugin({
  name: 'bench-tools',
  operations: [operation],
  activate: ctx => ctx.implement(operation, answer)
})

async function startHttp() {
  const kernel = await openTestKernel({ plugins: [http, mcp, tools] as Plugin[], settings: { http: { port: 0 } } })
  const line = kernel.lines.find(each => each.message.includes('listens on'))
  return { port: Number(line?.message.split(':').at(-1)), stop: () => kernel.close() }
}

async function startStdio() {
  const kernel = await openTestKernel({ plugins: [mcp, tools] as Plugin[] })
  const command = kernel.kernel.current.commands.get('mcp')
  const { stdin, stdout, stderr } = process
  void command?.run({}, { stdin, stdout, stderr, json: false, signal: new AbortController().signal })
  return { port: 0, stop: () => kernel.close() }
}

const SERVERS: Readonly<Record<string, Start>> = {
  'bare SDK over HTTP': startBareHttp,
  'svc over HTTP': startHttp,
  'bare SDK over stdio': startBareStdio,
  'svc over stdio': startStdio
}

const request = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: {
    name: TOOL,
    arguments: { task_id: 7, reason: 'bench' },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {}
    }
  }
})

const LOADS = {
  HTTP: overHttp({
    path: '/mcp',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': TOOL
    },
    body: JSON.stringify(request(1))
  }),
  stdio: overStreams(id => JSON.stringify(request(id)))
}

const { values } = parseArgs({
  options: {
    serve: { type: 'string' },
    json: { type: 'boolean', default: false },
    lives: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '4' },
    requests: { type: 'string', default: '10000' }
  }
})
if (values.serve !== undefined) await serveForBench(SERVERS[values.serve] as Start)
else {
  const summaries: Record<string, ReturnType<typeof summarise>> = {}
  for (const [transport, load] of Object.entries(LOADS)) {
    const [own, peer] = [`svc over ${transport}`, `bare SDK over ${transport}`]
    const figures = { lives: Number(values.lives), rounds: Number(values.rounds), requests: Number(values.requests) }
    const results = await measureServers({ file: import.meta.filename, servers: [peer, own], load, ...figures })
    summaries[transport] = summarise(results, own, peer)
  }
  if (values.json) console.log(JSON.stringify({ benchmark: 'mcp-calls', node: process.version, ...summaries }))
  else for (const { text } of Object.values(summaries)) console.log(text)
}
