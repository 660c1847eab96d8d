import { skillsGatewayErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'

const gatewayErrors = skillsGatewayErrors.specs
const { SKG_METHOD_REFUSED, SKG_PARAMS_INVALID } = openclawErrors.specs

const skillSummary = t.object({
  name: t.string(),
  version: t.string(),
  description: t.string()
})

const domain = t.string({ minLength: 1, maxLength: 256, description: 'Name of the domain, such as builds.' })
const answer = t.object({ payload: t.unknown({ description: 'Response of the gateway.' }) })

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
  expose: {
    http: { method: 'GET', path: '/api/skills/endpoints' },
    mcp: {
      name: 'svc_openclaw_discover',
      toolsets: ['skills'],
      use: 'Read it when calls of the gateway fail. It reads only the published addresses; svc_openclaw_health probes them.'
    },
    rpc: true,
    cli: { command: 'openclaw config' }
  }
})

export const skillsRemote = defineOperation({
  id: 'skills.remote',
  summary: 'List the skills that the external gateway offers',
  input: t.object({}),
  output: t.object({ skills: t.array(skillSummary) }),
  errors: gatewayErrors,
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/skills/remote' },
    mcp: {
      name: 'svc_openclaw_list_remote',
      toolsets: ['skills'],
      use: 'The whole list. For a part of it use svc_openclaw_search_remote; for installed skills svc_openclaw_skills.'
    },
    rpc: true,
    cli: {
      command: 'openclaw list-remote',
      view: { rows: 'skills', columns: ['name', 'version', 'description'] }
    }
  }
})

export const skillsSearchRemote = defineOperation({
  id: 'skills.searchRemote',
  summary: 'Search the skills of the external gateway by text',
  description:
    'Asks the search URL of the catalogue if one is known. Otherwise a skill is found if its name or description contains the text, in any case.',
  input: t.object({
    query: t.string({ minLength: 1, maxLength: 256, description: 'Words to search for.' })
  }),
  output: t.object({ skills: t.array(skillSummary) }),
  errors: gatewayErrors,
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/skills/remote/search' },
    mcp: {
      name: 'svc_openclaw_search_remote',
      toolsets: ['skills'],
      use: 'Use it before svc_openclaw_import, to find the name of a skill for a task.'
    },
    rpc: true,
    cli: {
      command: 'openclaw search-remote',
      args: ['query'],
      view: { rows: 'skills', columns: ['name', 'version', 'description'] }
    }
  }
})

export const skillsSubscriptions = defineOperation({
  id: 'skills.subscriptions',
  summary: 'List the domains that have subscribers at the external gateway',
  input: t.object({}),
  output: t.object({
    subscriptions: t.array(t.object({ domain: t.string(), count: t.number({ description: 'Number of subscribers.' }) }))
  }),
  errors: gatewayErrors,
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/skills/subscriptions' },
    mcp: {
      name: 'svc_openclaw_subscriptions',
      toolsets: ['skills'],
      use: 'Read it before svc_openclaw_notify, to see who receives a message.'
    },
    rpc: true,
    cli: { command: 'openclaw subscriptions', view: { rows: 'subscriptions', columns: ['domain', 'count'] } }
  }
})

export const skillsSubscribe = defineOperation({
  id: 'skills.subscribe',
  summary: 'Subscribe to a domain of the external gateway',
  input: t.object({ domain }),
  output: answer,
  errors: gatewayErrors,
  expose: {
    http: { method: 'POST', path: '/api/skills/subscriptions' },
    mcp: {
      name: 'svc_openclaw_subscribe',
      toolsets: ['skills'],
      use: 'The gateway then counts this project as a subscriber, until svc_openclaw_unsubscribe.'
    },
    rpc: true,
    cli: { command: 'openclaw subscribe', args: ['domain'] }
  }
})

export const skillsUnsubscribe = defineOperation({
  id: 'skills.unsubscribe',
  summary: 'End the subscription of a domain of the external gateway',
  input: t.object({ domain }),
  output: answer,
  errors: gatewayErrors,
  expose: {
    http: { method: 'POST', path: '/api/skills/subscriptions/end' },
    mcp: {
      name: 'svc_openclaw_unsubscribe',
      toolsets: ['skills'],
      use: 'Undoes svc_openclaw_subscribe. Other subscribers of the domain stay.'
    },
    rpc: true,
    cli: { command: 'openclaw unsubscribe', args: ['domain'] }
  }
})

export const skillsNotify = defineOperation({
  id: 'skills.notify',
  summary: 'Notify the subscribers of a domain through the external gateway',
  input: t.object({
    domain,
    description: t.string({ minLength: 1, maxLength: 65_536, description: 'Text of the message.' })
  }),
  output: answer,
  errors: gatewayErrors,
  expose: {
    http: { method: 'POST', path: '/api/skills/notifications' },
    mcp: {
      name: 'svc_openclaw_notify',
      toolsets: ['skills'],
      use: 'For programs outside of svc. To agents of this project send messages with svc_a2a_send.'
    },
    rpc: true,
    cli: { command: 'openclaw notify', args: ['domain', 'description'] }
  }
})

export const skillsGatewayCall = defineOperation({
  id: 'skills.gatewayCall',
  summary: 'Call a method of the external gateway by its name',
  description: 'The method execute.skill is reserved for the command line: elsewhere, skills run after an approval.',
  input: t.object({
    method: t.string({ minLength: 1, maxLength: 128, description: 'Method of the control plane, such as status.' }),
    params_json: t.string({ default: '{}', maxLength: 1_048_576, description: 'Parameters of the method as JSON.' })
  }),
  output: answer,
  errors: { ...gatewayErrors, SKG_METHOD_REFUSED, SKG_PARAMS_INVALID },
  timeoutMs: 0,
  expose: {
    http: { method: 'POST', path: '/api/skills/gateway-calls' },
    mcp: {
      name: 'svc_openclaw_gateway_call',
      toolsets: ['skills'],
      use: 'Only for methods without a tool. To run a skill use svc_openclaw_run.'
    },
    rpc: true,
    cli: { command: 'openclaw gateway-call' }
  }
})
