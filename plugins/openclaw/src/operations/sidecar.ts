import { defineOperation, t } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'

/** Topic that is announced after a start or stop of the sidecar. */
export const SIDECAR_TOPIC = 'openclaw.sidecar'

const { SKG_SIDECAR_DISABLED, SKG_SIDECAR_FAILED, SKG_SIDECAR_MISSING } = openclawErrors.specs

export const sidecarStatus = defineOperation({
  id: 'skills.sidecarStatus',
  summary: 'Show whether the sidecar of the gateway runs',
  input: t.object({}),
  output: t.object({
    running: t.boolean(),
    binary: t.nullable(t.string({ description: 'Path of the program; null if it is not installed.' })),
    pid: t.nullable(t.integer()),
    started_unix_ms: t.nullable(t.number({ description: 'Time of the start in milliseconds since 1970.' })),
    state_file: t.string(),
    disabled: t.boolean({ description: 'Whether the sidecar is disabled by a setting.' })
  }),
  errors: { SKG_SIDECAR_FAILED },
  effect: 'read',
  watch: { on: [SIDECAR_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/skills/sidecar' },
    rpc: true,
    cli: { command: 'openclaw sidecar status' }
  }
})

export const sidecarStart = defineOperation({
  id: 'skills.sidecarStart',
  summary: 'Start the sidecar of the gateway, or reuse the one that runs',
  description: 'The sidecar continues to run after svc ends.',
  input: t.object({}),
  output: t.object({
    healthy: t.boolean({ description: 'Whether the gateway accepts connections.' }),
    started: t.boolean({ description: 'Whether this call started the process.' }),
    running_prior: t.boolean({ description: 'Whether the sidecar or another gateway ran before.' }),
    attempts: t.integer({ description: 'Number of connection probes.' }),
    binary: t.nullable(t.string()),
    pid: t.nullable(t.integer({ description: 'Null for a gateway that is not this sidecar.' }))
  }),
  errors: { SKG_SIDECAR_DISABLED, SKG_SIDECAR_FAILED, SKG_SIDECAR_MISSING },
  timeoutMs: 600_000,
  concurrency: 1,
  expose: {
    http: { method: 'POST', path: '/api/skills/sidecar/start' },
    rpc: true,
    cli: { command: 'openclaw sidecar start' }
  }
})

export const sidecarStop = defineOperation({
  id: 'skills.sidecarStop',
  summary: 'Stop the sidecar of the gateway',
  input: t.object({}),
  output: t.object({
    stopped: t.boolean({ description: 'False if no sidecar ran.' }),
    pid: t.nullable(t.integer())
  }),
  errors: { SKG_SIDECAR_FAILED },
  concurrency: 1,
  expose: {
    http: { method: 'POST', path: '/api/skills/sidecar/stop' },
    rpc: true,
    cli: { command: 'openclaw sidecar stop' }
  }
})
