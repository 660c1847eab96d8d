import { createHash } from 'node:crypto'
import { AgentCard } from '@a2a-js/sdk'
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import { type A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server'
import type { HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import type { Access } from './access.ts'
import type { A2aRequestHandler } from './request-handler.ts'
import { baseOf, versionOf } from './request-parts.ts'

const MAX_AGE_SECONDS = 60
const LEGACY_VERSION = '0.3'

/** The public card, with an ETag. Clients of version 0.3 get it in their form, if they are served. */
export function cardRoutes(handler: A2aRequestHandler, access: Access, v0_3: boolean): readonly HttpHandlerRoute[] {
  const cardFor = async (exchange: HttpExchange): Promise<unknown> => {
    access.admit(exchange)
    const { request } = exchange
    const version = versionOf(request)
    const card = handler.cardAt(baseOf(request))
    if (!v0_3 || (version !== undefined && version !== LEGACY_VERSION)) return AgentCard.toJSON(card)
    return legacyCard(card)
  }
  const handle = (exchange: HttpExchange): void => {
    cardFor(exchange).then(
      card => sendCard(exchange, JSON.stringify(card)),
      error => exchange.fail(error)
    )
  }
  return [{ method: 'GET', path: '/.well-known/agent-card.json', summary: 'Read the card of the agent (A2A)', handle }]
}

/** Returns a card in the form of version 0.3. The SDK exports this conversion only as part of a method. */
function legacyCard(card: AgentCard): Promise<unknown> {
  const source = { getAuthenticatedExtendedAgentCard: async () => card } as Partial<A2ARequestHandler>
  const legacy = new LegacyRestTransportHandler(source as A2ARequestHandler)
  return legacy.getAuthenticatedExtendedAgentCard(new ServerCallContext())
}

function sendCard(exchange: HttpExchange, card: string): void {
  const etag = `"${createHash('sha256').update(card).digest('base64url')}"`
  const headers = { etag, 'cache-control': `max-age=${MAX_AGE_SECONDS}`, vary: 'A2A-Version' }
  const isKnown = exchange.request.headers['if-none-match'] === etag
  exchange.send(isKnown ? 304 : 200, 'application/json', isKnown ? '' : card, headers)
}
