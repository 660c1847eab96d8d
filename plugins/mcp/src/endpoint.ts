import type { IncomingMessage, ServerResponse } from 'node:http'
import type { McpHttpEndpoint, McpPrincipal, UnitView } from '@svc/contracts'
import type { HttpEntry } from './http-entry.ts'
import type { HttpRequestCaller } from './principal.ts'

/** Streamable HTTP endpoint for surfaces of other plugins; their exchanges also count as work of this plugin. */
export class Endpoint implements McpHttpEndpoint {
  readonly #entry: HttpEntry
  /** This plugin's unit, once it serves. */
  unit: Pick<UnitView, 'enter' | 'exit'> | undefined

  constructor(entry: HttpEntry) {
    this.#entry = entry
  }

  handle(
    request: IncomingMessage,
    response: ServerResponse,
    principal: McpPrincipal,
    maxBodyBytes?: number,
    caller?: HttpRequestCaller
  ): Promise<void> {
    const { unit } = this
    unit?.enter()
    response.once('close', () => unit?.exit())
    return this.#entry.handle(request, response, principal, maxBodyBytes, caller)
  }

  endStreams(): void {
    this.#entry.endStreams()
  }
}
