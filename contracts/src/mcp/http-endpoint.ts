import type { IncomingMessage, ServerResponse } from 'node:http'
import { service } from '@svc/plugin-sdk'
import type { McpPrincipal } from './caller.ts'

/**
 * Streamable HTTP for a surface that checks its callers itself: the gateway. Provided by the plugin `mcp`, which also
 * serves its own path with it.
 */
export const mcpHttpEndpoint = service<McpHttpEndpoint>('mcp.http@1')

export interface McpHttpEndpoint {
  /**
   * Reads the body and writes the answer. Never rejects; returns when the answer is complete or its client has
   * disconnected. `maxBodyBytes` lowers the limit of the plugin's settings.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    principal: McpPrincipal,
    maxBodyBytes?: number
  ): Promise<void>
  /** Ends the streams on which clients wait for notices, on every surface; clients open them again. */
  endStreams(): void
}
