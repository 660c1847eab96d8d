import { defineOperation, t } from '@svc/plugin-sdk'

const diagnosis = t.object({
  ready: t.boolean({ description: 'Whether the gateway responds over HTTP and on its control plane.' }),
  http_ok: t.boolean({ description: 'Whether GET /v1/skills got a response, with any status, within 5 seconds.' }),
  http_status: t.nullable(t.integer()),
  ws_ok: t.boolean({ description: 'Whether the control plane accepted a connection within 5 seconds.' }),
  token_configured: t.boolean(),
  sidecar_auto_start_attempted: t.boolean(),
  sidecar_started: t.boolean({ description: 'Whether this call started the sidecar.' }),
  sidecar_running_prior: t.boolean({ description: 'Whether the sidecar ran before this call.' }),
  sidecar_start_attempts: t.integer({ description: 'Probes after the start.' }),
  sidecar_binary: t.nullable(t.string()),
  sidecar_pid: t.nullable(t.integer()),
  sidecar_state_file: t.string(),
  sidecar_spawn_error: t.nullable(t.string()),
  sidecar_version: t.nullable(t.string()),
  sidecar_expected_version: t.nullable(t.string()),
  sidecar_version_match: t.boolean({ description: 'True if no version is expected.' }),
  discovery_source: t.string(),
  http_gateway_url: t.string(),
  ws_gateway_url: t.string(),
  catalog_list_url: t.string(),
  catalog_search_url: t.string()
})

export const skillsHealth = defineOperation({
  id: 'skills.health',
  summary: 'Probe the external gateway and show its sidecar, without a start',
  input: t.object({}),
  output: diagnosis,
  effect: 'read',
  concurrency: 4,
  expose: {
    http: { method: 'GET', path: '/api/skills/health' },
    mcp: {
      name: 'svc_openclaw_health',
      toolsets: ['skills'],
      use: 'Use it when a call of the gateway fails: it shows what responds. It starts nothing.'
    },
    rpc: true
  }
})

export const skillsDoctor = defineOperation({
  id: 'skills.doctor',
  summary: 'Check the external gateway and its sidecar, and start the sidecar if requested',
  input: t.object({
    auto_start: t.boolean({
      default: false,
      description: 'Whether to start the sidecar if the gateway does not respond.'
    })
  }),
  output: diagnosis,
  timeoutMs: 600_000,
  concurrency: 1,
  expose: {
    http: { method: 'POST', path: '/api/skills/doctor' },
    rpc: true,
    cli: { command: 'openclaw doctor' }
  }
})
