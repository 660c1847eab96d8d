import type { SkillsGateway } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'

export const skillsEndpoints = defineOperation({
  id: 'skills.endpoints',
  summary: 'Show the addresses of the skills gateway and their origin',
  input: t.object({}),
  output: t.object({
    http_gateway_url: t.string(),
    ws_gateway_url: t.string(),
    catalog_list_url: t.string(),
    catalog_search_url: t.string(),
    discovery_source: t.string({ description: 'Origin of the addresses that are not in the settings.' }),
    cache_expires_at_ms: t.integer({ description: 'Time of the next lookup in milliseconds since 1970.' }),
    token_configured: t.boolean()
  }),
  effect: 'read',
  expose: { rpc: true, cli: { command: 'openclaw config' } }
})

export function endpointsHandler(gateway: SkillsGateway, hasToken: boolean): Handler<typeof skillsEndpoints> {
  return async (_, { signal }) => ({ ...(await gateway.endpoints(signal)), token_configured: hasToken })
}
