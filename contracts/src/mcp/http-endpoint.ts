import type { IncomingMessage, ServerResponse } from 'node:http'
import { service } from '@svc/plugin-sdk'
import type { HttpCaller } from '../http/caller.ts'
import type { McpPrincipal } from './caller.ts'

/**
 * Streamable HTTP endpoint for a surface that authenticates its callers itself, such as the gateway. The plugin `mcp`
 * provides it and also serves its own path with it.
 */
export const mcpHttpEndpoint = service<McpHttpEndpoint>('mcp.http@1')

export interface McpHttpEndpoint {
  /**
   * Reads the body and writes the response. Never rejects; resolves when the response is complete or its client has
   * disconnected. `maxBodyBytes` lowers the limit of the plugin's settings. `caller`: gives log lines and errors its
   * request id, and receives the code of an error for the access record.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    principal: McpPrincipal,
    maxBodyBytes?: number,
    caller?: Pick<HttpCaller, 'requestId' | 'recordError'>
  ): Promise<void>
  /** Ends the notification streams of clients on every surface; clients open them again. */
  endStreams(): void
}
