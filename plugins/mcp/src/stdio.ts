import type { Readable, Writable } from 'node:stream'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { CommandIo, Logger, Principal } from '@svc/plugin-sdk'
import type { HubOwner, McpHub } from './hub.ts'
import { LineTransport } from './line-transport.ts'
import type { ToolChoice } from './toolsets.ts'

/** Serves one client over stdio until it closes its end or `io.signal` is aborted. */
export async function serveTerminal(
  hub: McpHub,
  io: Pick<CommandIo, 'stdin' | 'stdout' | 'signal'>,
  principal: Principal,
  log: Logger,
  { maxSubscriptions, choice }: { readonly maxSubscriptions: number; readonly choice: ToolChoice }
): Promise<void> {
  const transport = new LineTransport(io.stdin as Readable, io.stdout as Writable)
  const handle = serveStdio(context => currentOwner(hub).lasting(context, principal, choice), {
    transport,
    maxSubscriptions,
    onerror: error => log.debug('MCP exchange failed', { error })
  })
  const onAbort = (): void => void handle.close()
  io.signal.addEventListener('abort', onAbort, { once: true })
  if (io.signal.aborted) onAbort()
  await transport.closed
  io.signal.removeEventListener('abort', onAbort)
}

/** Returns the serving unit. Called when the client initializes: another unit may serve by then. */
function currentOwner({ owner }: McpHub): HubOwner {
  if (owner === null) throw new Error('no unit serves before the first generation')
  return owner
}
