import type { SkillsGateway } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'

export const skillsEndpoints = defineOperation({
  id: 'skills.endpoints',
  summary: 'Show where the skills gateway is, and where its addresses come from',
  input: t.object({}),
  output: t.object({
    http_gateway_url: t.string(),
    ws_gateway_url: t.string(),
    catalog_list_url: t.string(),
    catalog_search_url: t.string(),
    discovery_source: t.string({ description: 'Where the addresses come from that no setting names.' }),
    cache_expires_at_ms: t.integer({ description: 'Milliseconds since 1970 at which it is looked for again.' }),
    token_configured: t.boolean()
  }),
  effect: 'read',
  expose: { rpc: true, cli: { command: 'openclaw config' } }
})

export function endpointsHandler(gateway: SkillsGateway, hasToken: boolean): Handler<typeof skillsEndpoints> {
  return async (_, { signal }) => ({ ...(await gateway.endpoints(signal)), token_configured: hasToken })
}
