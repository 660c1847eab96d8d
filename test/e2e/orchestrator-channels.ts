import type { Client } from '@modelcontextprotocol/client'
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { callDaemon, type DaemonState } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { Test } from 'tap'
import WebSocket from 'ws'
import { daemonStateOf } from '../daemon-state.ts'
import { mcpProject, overHttp, overStdio } from './mcp-clients.ts'
import { type Files, type Served, SVC_BIN, serve } from './served-project.ts'

/** Result of a tool over any channel. */
export interface Answer {
  readonly success: boolean
  readonly data?: any
  readonly error?: string
  readonly code?: string
}

/** Connection through which a test calls the tools. */
export interface Channel {
  readonly name: string
  call(tool: string, args?: object): Promise<Answer>
  close(): Promise<void>
}

const TOKEN = 'a-token-of-whoever-writes'
const bearer = { authorization: `Bearer ${TOKEN}` }

/** Methods of the daemon by tool name. */
const METHODS: Readonly<Record<string, string>> = {
  svc_submit_task: 'orchestrator.submitTask',
  svc_explain_task: 'orchestrator.explainTask',
  svc_complete_task: 'orchestrator.completeTask',
  svc_task_status: 'orchestrator.taskStatus',
  svc_task_details: 'orchestrator.showTask',
  svc_doubt_task: 'orchestrator.doubtTask',
  svc_resolve_doubt: 'orchestrator.resolveDoubt',
  svc_fail_task: 'orchestrator.failTask',
  svc_cancel_task: 'orchestrator.cancelTask',
  svc_plan: 'ai.plan.new',
  svc_plan_status: 'ai.plan.status',
  svc_replan: 'ai.plan.replan'
}

/**
 * Creates a project with the default configuration of the orchestrator, and a file to work on. There is no fleet: only
 * the test claims tasks.
 */
export function orchestratorProject(t: Test, files: Files = {}): string {
  return mcpProject(t, {
    'src/login.ts': 'export const login = (): string => "welcome"\n',
    'svc.local.toml': '[plugins.agent-fleet]\nfleet = false\n',
    ...files
  })
}

/** Disables the fleet, so that only clients claim tasks. */
const UNATTENDED = ['--set', 'plugins.agent-fleet.fleet=false']

export interface Workplace extends Served {
  readonly gateway: string
  readonly daemon: DaemonState
}

/** Runs `svc serve` with every surface. */
export async function serveWorkplace(t: Test, folder: string, argv: readonly string[] = []): Promise<Workplace> {
  const served = await serve(t, folder, ['--no-watch', ...UNATTENDED, ...argv], SVC_BIN, {
    SVC_MCP_HTTP_ENABLED: 'yes',
    SVC_MCP_HTTP_PORT: '0',
    SVC_MCP_HTTP_BEARER_TOKEN: TOKEN,
    SVC_MCP_HTTP_ALLOWED_TOOLS: Object.keys(METHODS).join(','),
    SVC_MCP_HTTP_RATE_LIMIT_PER_MINUTE: '100000'
  })
  const line = await served.line(/mcp-gateway listens on/)
  const gateway = /mcp-gateway listens on (http:\/\/[^\s"]+)/.exec(line)?.[1] ?? ''
  const daemon = await daemonStateOf(folder)
  return { ...served, gateway, daemon }
}

/** All kinds of channels to the tools of a server. */
export const CHANNELS: Readonly<Record<string, (server: Workplace) => Promise<Channel>>> = {
  'Streamable HTTP (2026)': async ({ url }) => mcpChannel(await overHttp(url, '2026')),
  'Streamable HTTP (2025)': async ({ url }) => mcpChannel(await overHttp(url, '2025')),
  'MCP through the gateway': async ({ gateway }) => {
    const client = new McpClient({ name: 'e2e', version: '1.0.0' })
    const options = { requestInit: { headers: bearer } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway}/mcp`), options))
    return mcpChannel(client)
  },
  'HTTP through the gateway': async ({ gateway }) => restChannel(gateway),
  'a websocket of the gateway': ({ gateway }) => socketChannel(gateway),
  'methods of the daemon': async ({ daemon }) => rpcChannel(daemon)
}

/** Starts a separate `svc mcp` and connects to it over stdio. */
export async function stdioChannel(folder: string): Promise<Channel & { readonly pid: number }> {
  const client = await overStdio(folder, '2025', {}, ['--set', 'plugins.daemon.socket=127.0.0.1:0', ...UNATTENDED])
  const { pid } = client.transport as { pid?: number }
  return { ...mcpChannel(client), name: 'standard streams', pid: pid ?? 0 }
}

function mcpChannel(client: Client): Channel {
  return {
    name: 'MCP',
    call: async (tool, args = {}) =>
      flat((await client.callTool({ name: tool, arguments: { ...args } })).structuredContent as Enveloped),
    close: () => client.close()
  }
}

function restChannel(gateway: string): Channel {
  return {
    name: 'HTTP',
    async call(name, args = {}) {
      const response = await fetch(`${gateway}/v1/tools/call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer },
        body: JSON.stringify({ name, args })
      })
      return flat(((await response.json()) as { result: Enveloped }).result)
    },
    close: async () => {}
  }
}

async function socketChannel(gateway: string): Promise<Channel> {
  const socket = new WebSocket(`${gateway.replace('http', 'ws')}/v1/ws`, { headers: bearer })
  const waiting = new Map<string, (answer: Answer) => void>()
  let asked = 0
  socket.on('message', data => {
    const { id, data: body } = JSON.parse(String(data))
    waiting.get(String(id))?.(flat(body))
    waiting.delete(String(id))
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    name: 'websocket',
    call(name, args = {}) {
      const id = String((asked += 1))
      const answer = new Promise<Answer>(resolve => waiting.set(id, resolve))
      socket.send(JSON.stringify({ type: 'call_tool', id, name, args }))
      return answer
    },
    close: async () => socket.terminate()
  }
}

function rpcChannel(daemon: DaemonState): Channel {
  return {
    name: 'RPC',
    async call(tool, args = {}) {
      try {
        return { success: true, data: toolData(tool, await callDaemon(daemon, METHODS[tool] ?? tool, args)) }
      } catch (error) {
        if (!isSvcError(error)) throw error
        return { success: false, error: error.message, code: error.code }
      }
    },
    close: async () => {}
  }
}

/** Fields by tool: these tools return one field of the output, while methods return the whole output. */
const ANSWERS: Readonly<Record<string, string>> = {
  svc_complete_task: 'message',
  svc_fail_task: 'message',
  svc_cancel_task: 'message',
  svc_task_status: 'status'
}

function toolData(tool: string, output: unknown): unknown {
  const field = ANSWERS[tool]
  return field === undefined ? output : (output as Readonly<Record<string, unknown>>)[field]
}

interface Enveloped {
  readonly success: boolean
  readonly data?: unknown
  readonly error?: string
  readonly meta?: { readonly code?: string }
}

function flat({ success, data, error, meta }: Enveloped): Answer {
  return success
    ? { success, data }
    : { success, ...(error === undefined ? {} : { error }), ...(meta?.code === undefined ? {} : { code: meta.code }) }
}
