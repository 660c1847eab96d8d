import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Unavailable } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'
import { SVC } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { repeat } from './load.ts'

/** Time for the answer to the first request, which `svc mcp` sends once it has started. */
const PROBE_MS = 180_000

/** Connects over Streamable HTTP with both protocols, lists the tools, calls one, and disconnects. */
export function mcpHttp(context: LoadContext): Load {
  const name = 'MCP over HTTP'
  return {
    name,
    run: () =>
      repeat(context, 8_000, (node, count) =>
        context.ledger.attempt(name, node.name, () =>
          useClient(clientOf(count), new StreamableHTTPClientTransport(new URL(`${node.http}/mcp`)))
        )
      )
  }
}

/** Starts `svc mcp` as an editor does, and ends it. Its orchestrator shares the tasks of the node. */
export function mcpStdio(context: LoadContext, everyMs: number): Load {
  const name = 'MCP over stdio'
  return {
    name,
    run: () =>
      repeat(context, everyMs, (node, count) =>
        context.ledger.attempt(name, node.name, () => useClient(clientOf(count), stdioOf(node)))
      )
  }
}

function stdioOf(node: SvcNode): StdioClientTransport {
  const env = node.env as Record<string, string>
  return new StdioClientTransport({
    command: process.execPath,
    args: [SVC, 'mcp'],
    cwd: node.folder,
    env,
    stderr: 'ignore'
  })
}

function clientOf(count: number): Client {
  const mode = count % 2 === 0 ? ({ pin: '2026-07-28' } as const) : 'legacy'
  return new Client(
    { name: 'soak', version: '1.0.0' },
    { versionNegotiation: { mode, probe: { timeoutMs: PROBE_MS } } }
  )
}

async function useClient(client: Client, transport: Parameters<Client['connect']>[0]): Promise<void> {
  try {
    await client.connect(transport)
    const { tools } = await client.listTools()
    if (tools.length === 0) throw new Error('no tools are listed')
    const result = await client.callTool({ name: 'svc_orchestrator_status', arguments: {} })
    if (result.isError === true)
      throw new Unavailable(`svc_orchestrator_status: ${JSON.stringify(result.content).slice(0, 300)}`)
  } catch (error) {
    if (error instanceof Unavailable) throw error
    throw new Unavailable(error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error))
  } finally {
    await client.close().catch(() => {})
  }
}
